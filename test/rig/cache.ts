// Large downloads of the test rig, kept outside node_modules so that `npm ci` does not wipe them. A folder
// appears under its name only when it is whole, and one process at a time fills it.

import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";

const lockPatienceMs = 10 * 60_000;

/** True when the folder of that name need not be filled any more. */
export function isCached(name: string): boolean {
  return existsSync(join(cacheRoot(), name));
}

/** The cached folder of that name, filled by `fill` if it is not there yet. */
export async function cachedFolder(name: string, fill: (folder: string) => Promise<void>): Promise<string> {
  const folder = join(cacheRoot(), name);
  if (existsSync(folder)) return folder;
  await mkdir(cacheRoot(), { recursive: true });
  const lock = `${folder}.lock`;
  await takeLock(lock);
  try {
    if (!existsSync(folder)) await fillWhole(folder, fill);
  } finally {
    await rm(lock, { force: true });
  }
  return folder;
}

function cacheRoot(): string {
  return join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "forecastnet");
}

async function fillWhole(folder: string, fill: (folder: string) => Promise<void>): Promise<void> {
  const partial = await mkdtemp(`${folder}.partial-`);
  try {
    await fill(partial);
    await rename(partial, folder);
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
}

async function takeLock(lock: string): Promise<void> {
  const deadline = Date.now() + lockPatienceMs;
  while (!(await createLock(lock))) {
    const holder = await readFile(lock, "utf8").catch(ignoreAbsence);
    if (holder !== "" && !isAlive(Number(holder))) await rm(lock, { force: true });
    else if (Date.now() > deadline) {
      throw new Error(`${lock} has been held by process ${holder} for too long: end it, or delete the file`);
    } else await wait(200);
  }
}

async function createLock(lock: string): Promise<boolean> {
  try {
    await writeFile(lock, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if (hasCode(error, "EEXIST")) return false;
    throw error;
  }
}

function ignoreAbsence(error: unknown): "" {
  if (hasCode(error, "ENOENT")) return "";
  throw error;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return !hasCode(error, "ESRCH");
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
