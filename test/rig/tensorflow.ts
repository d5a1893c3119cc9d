// Native TensorFlow for tests: linked from the cache if it was ever set up on this machine, set up in CI and for
// root, and otherwise the reason for a loud skip.

import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { buildNative, versionOf } from "../../scripts/tensorflow/build-native.ts";
import { linkNative } from "../../scripts/tensorflow/link-native.ts";
import { missingTools, platformProblem, SetupError, thisPlatform } from "../../scripts/tensorflow/machine.ts";
import { defaultCacheBase } from "../../scripts/tensorflow/options.ts";
import { cacheName, recipes } from "../../scripts/tensorflow/recipe.ts";
import { findNativeBinding } from "../../src/engine/tensorflow/native-binding.ts";
import { installPackages, mayInstall } from "./apt-packages.ts";
import { cachedFolder } from "./cache.ts";
import { isCi } from "./ci.ts";

/** Options of a test that needs native TensorFlow: `test("…", await nativeTensorFlow(), () => …)`. */
export interface NeedsNative {
  readonly skip: string | false;
}

/** Skips where native TensorFlow cannot be had; in CI, where no test may be skipped, it rejects instead. */
export async function nativeTensorFlow(): Promise<NeedsNative> {
  const missing = await missingTensorFlow();
  if (missing !== null && isCi) throw new Error(missing);
  return { skip: missing ?? false };
}

/** Null when native TensorFlow is in place, after putting it there if need be; otherwise why not and what to do. */
export async function missingTensorFlow(): Promise<string | null> {
  const { present, packageFolder, reason } = findNativeBinding();
  if (present) return null;
  const problem = packageFolder === null ? reason : platformProblem(thisPlatform());
  if (packageFolder === null || problem !== null) return problem;
  const name = cacheName("cpu", await versionOf(packageFolder));
  const cached = join(defaultCacheBase(process.env), name);
  if (!existsSync(cached)) {
    const lack = mayInstall ? missingAfterInstall() : reason;
    if (lack !== null) return lack;
    process.stderr.write("Setting up TensorFlow for the tests (207 MB to fetch, first time only).\n");
    await mkdir(dirname(cached), { recursive: true });
  }
  try {
    // Holds a lock while it builds: test files run side by side.
    await cachedFolder(name, (folder) => buildNative(recipes.cpu, packageFolder, folder));
  } catch (error) {
    if (error instanceof SetupError) return `native TensorFlow could not be set up: ${error.message}`;
    throw error;
  }
  await linkNative(cached, packageFolder);
  return null;
}

function missingAfterInstall(): string | null {
  if (missingTools().length > 0) installPackages(["python3-pip", "g++"]);
  const missing = missingTools();
  return missing.length === 0 ? null : `native TensorFlow cannot be set up: ${missing.join("; ")}`;
}
