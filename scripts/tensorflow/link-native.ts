// Links a cached folder into the npm package, where its loader looks. Hard links cost no space and keep the package
// complete without the cache, which an image may leave out. Across disks the files are copied.

import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { copyFile, link, mkdir, readdir, rename, rm, stat, utimes } from "node:fs/promises";
import { dirname, join } from "node:path";
import { bindingFile } from "../../src/engine/tensorflow/native-binding.ts";
import { SetupError } from "./machine.ts";

/** Ending of a file that is being put in place. */
const partialEnding = ".partial";

/**
 * Returns how many files were put in place. Files that are already there stay; files of another variant are removed. Two
 * processes may do this concurrently.
 */
export async function linkNative(cached: string, packageFolder: string): Promise<number> {
  const files = await filesBelow(cached, "");
  if (!files.includes(bindingFile)) {
    throw new SetupError(`${cached} is incomplete: delete it and run the setup again`);
  }
  // The binding comes last, so that a fresh package never has it without its libraries.
  const inOrder = [...files.filter((file) => file !== bindingFile), bindingFile];
  let placed = 0;
  for (const file of inOrder) {
    if (await placeFile(join(cached, file), join(packageFolder, file))) placed += 1;
  }
  await removeOthers(packageFolder, new Set(files));
  return placed;
}

async function removeOthers(packageFolder: string, ours: ReadonlySet<string>): Promise<void> {
  const present = await Promise.all(["lib", "deps"].map((folder) => filesBelow(packageFolder, folder)));
  const others = present.flat().filter((file) => !ours.has(file) && !file.endsWith(partialEnding));
  await Promise.all(others.map((file) => rm(join(packageFolder, file), { force: true })));
}

async function filesBelow(root: string, folder: string): Promise<string[]> {
  const entries = await readdir(join(root, folder), { withFileTypes: true });
  const nested = entries.map((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesBelow(root, path) : [path];
  });
  return (await Promise.all(nested)).flat().sort();
}

async function placeFile(source: string, target: string): Promise<boolean> {
  if (await isSameFile(source, target)) return false;
  await mkdir(dirname(target), { recursive: true });
  // A process may have mapped the old file: it keeps that one, and the new one appears complete.
  const partial = `${target}.${randomUUID()}${partialEnding}`;
  try {
    await link(source, partial);
  } catch {
    // Another disk, or a file system without hard links. The copy reports any other problem.
    const { atime, mtime } = await stat(source);
    await copyFile(source, partial);
    await utimes(partial, atime, mtime);
  }
  await rename(partial, target);
  // Renaming one link of a file onto another link of it keeps both.
  await rm(partial, { force: true });
  return true;
}

async function isSameFile(source: string, target: string): Promise<boolean> {
  if (!existsSync(target)) return false;
  const [a, b] = await Promise.all([stat(source), stat(target)]);
  if (a.dev === b.dev) return a.ino === b.ino;
  // On another disk it can only be a copy, which has the time of its source, within the resolution of utimes.
  return a.size === b.size && Math.abs(a.mtimeMs - b.mtimeMs) < 10;
}
