// `npm run setup:tensorflow -- cpu|gpu`: downloads libtensorflow (for gpu with CUDA 12), compiles the binding of
// TensorFlow.js against it, caches the result outside node_modules, links it into the package and verifies it. A second
// run, or one after `npm ci`, only links and verifies.

import { existsSync, rmSync } from "node:fs";
import { mkdir, mkdtemp, rename } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { findNativeBinding } from "../src/engine/tensorflow/native-binding.ts";
import { buildNative, versionOf } from "./tensorflow/build-native.ts";
import { linkNative } from "./tensorflow/link-native.ts";
import { platformProblem, SetupError, thisPlatform } from "./tensorflow/machine.ts";
import { parseOptions, type SetupOptions, usage } from "./tensorflow/options.ts";
import { cacheName, type Recipe, recipes } from "./tensorflow/recipe.ts";
import { verifyNative } from "./tensorflow/verify-native.ts";

const options = parseOptions(process.argv.slice(2), process.env);
if (typeof options === "string") {
  process.stderr.write(`${options}\n\n${usage}`);
  process.exitCode = 2;
} else {
  try {
    await run(options);
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    process.stderr.write(`\nsetup:tensorflow failed: ${error.message}\n`);
    process.exitCode = 1;
  }
}

async function run({ variant, cacheBase }: SetupOptions): Promise<void> {
  if (variant !== null) await setUp(recipes[variant], cacheBase);
  const { version, device, loadMs } = await verifyNative();
  console.log(`${version} loads in ${loadMs} ms and multiplies correctly on the ${device.toUpperCase()}`);
  if (findNativeBinding().variant === "gpu" && device !== "gpu") {
    console.log(
      "No GPU was found: TensorFlow runs on the CPU here, and on a GPU where there is one with a driver.",
    );
  }
}

async function setUp(recipe: Recipe, cacheBase: string): Promise<void> {
  const problem = platformProblem(thisPlatform());
  if (problem !== null) throw new SetupError(problem);
  const { packageFolder, reason } = findNativeBinding();
  if (packageFolder === null) throw new SetupError(reason);
  const cached = join(cacheBase, cacheName(recipe.variant, await versionOf(packageFolder)));
  if (!existsSync(cached)) await fillCache(recipe, packageFolder, cached);
  const placed = await linkNative(cached, packageFolder);
  console.log(`${placed === 0 ? "already linked" : `linked ${placed} files`} from ${cached}`);
}

/** The folder appears under its name only when it is complete. */
async function fillCache(recipe: Recipe, packageFolder: string, cached: string): Promise<void> {
  await mkdir(dirname(cached), { recursive: true });
  const partial = await mkdtemp(`${cached}.partial-`);
  const removePartial = (): void => rmSync(partial, { recursive: true, force: true, maxRetries: 5 });
  const stop = (signal: NodeJS.Signals): void => {
    removePartial();
    process.stderr.write(`\nsetup:tensorflow was stopped by ${signal}; ${basename(partial)} is removed\n`);
    process.exit(1);
  };
  process.once("SIGINT", stop).once("SIGTERM", stop);
  try {
    await buildNative(recipe, packageFolder, partial);
    await moveInto(partial, cached);
  } finally {
    removePartial();
    process.off("SIGINT", stop).off("SIGTERM", stop);
  }
}

async function moveInto(partial: string, cached: string): Promise<void> {
  try {
    await rename(partial, cached);
  } catch (error) {
    // Another run was faster; its folder is the same.
    if (!existsSync(cached)) throw error;
  }
}
