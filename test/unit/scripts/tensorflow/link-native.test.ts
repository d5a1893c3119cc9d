// Linking a cached folder into the npm package.

import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { linkNative } from "../../../../scripts/tensorflow/link-native.ts";
import { bindingFile, manifestFile } from "../../../../src/engine/tensorflow/native-binding.ts";

const scratch = mkdtempSync(join(tmpdir(), "forecastnet-link-"));
after(() => rmSync(scratch, { recursive: true }));

const library = join("deps", "lib", "libtensorflow_cc.so.2");
const cudaLibrary = join("deps", "nvidia", "cublas", "lib", "libcublas.so.12");

function folderWith(textByFile: Readonly<Record<string, string>>, parent = scratch): string {
  const root = mkdtempSync(join(parent, "folder-"));
  for (const [name, content] of Object.entries(textByFile)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), content);
  }
  return root;
}

const cpu = { [library]: "cpu library", [manifestFile]: "cpu", [bindingFile]: "cpu binding" };
const gpu = { ...cpu, [library]: "gpu library", [manifestFile]: "gpu", [cudaLibrary]: "cublas" };
const emptyPackage = { "package.json": "{}" };

const textOf = (folder: string, file: string): string => readFileSync(join(folder, file), "utf8");

test("the package has hard links to the cached files and keeps its own files", async () => {
  const [cache, target] = [folderWith(cpu), folderWith(emptyPackage)];
  assert.equal(await linkNative(cache, target), 3);
  for (const file of Object.keys(cpu)) {
    assert.equal(statSync(join(target, file)).ino, statSync(join(cache, file)).ino, file);
  }
  assert.ok(existsSync(join(target, "package.json")));
});

test("a second run changes nothing", async () => {
  const [cache, target] = [folderWith(cpu), folderWith(emptyPackage)];
  await linkNative(cache, target);
  assert.equal(await linkNative(cache, target), 0);
});

test("a package emptied by a fresh install is linked again", async () => {
  const cache = folderWith(cpu);
  await linkNative(cache, folderWith(emptyPackage));
  assert.equal(await linkNative(cache, folderWith(emptyPackage)), 3);
});

test("another variant replaces the first one and all of its files", async () => {
  const [gpuCache, target] = [folderWith(gpu), folderWith(emptyPackage)];
  await linkNative(gpuCache, target);
  await linkNative(folderWith(cpu), target);
  assert.deepEqual([textOf(target, library), textOf(target, manifestFile)], ["cpu library", "cpu"]);
  assert.equal(existsSync(join(target, cudaLibrary)), false);
  assert.equal(textOf(gpuCache, library), "gpu library", "the cached file is unchanged");
});

test("two concurrent runs leave one complete package", async () => {
  const [cache, target] = [folderWith(gpu), folderWith(emptyPackage)];
  await linkNative(folderWith(cpu), target);
  await Promise.all([linkNative(cache, target), linkNative(cache, target)]);
  for (const [file, content] of Object.entries(gpu)) assert.equal(textOf(target, file), content);
});

test("an incomplete cache is refused with what to do", async () => {
  const { [bindingFile]: _, ...withoutBinding } = cpu;
  const target = folderWith(emptyPackage);
  await assert.rejects(linkNative(folderWith(withoutBinding), target), /incomplete: delete it/);
  assert.deepEqual(readdirSync(target), ["package.json"]);
});

const otherDisk = "/dev/shm";
const isOther = existsSync(otherDisk) && statSync(otherDisk).dev !== statSync(scratch).dev;

test("a cache on another disk is copied once", { skip: isOther ? false : "there is one disk" }, async () => {
  const [cache, target] = [folderWith(cpu, otherDisk), folderWith(emptyPackage)];
  try {
    assert.equal(await linkNative(cache, target), 3);
    assert.equal(textOf(target, library), "cpu library");
    assert.equal(await linkNative(cache, target), 0);
  } finally {
    rmSync(cache, { recursive: true });
  }
});
