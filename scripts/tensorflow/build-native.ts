// Builds the cached folder: libraries from the wheels, the binding compiled against them, and a manifest, laid out as in
// the npm package. Needs the network, Python with pip, and g++.

import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { bindingFile, manifestFile } from "../../src/engine/tensorflow/native-binding.ts";
import { demandDisk, missingTools, platformProblem, runTool, SetupError, thisPlatform } from "./machine.ts";
import {
  compileArgs,
  pipArgs,
  quietSource,
  type Recipe,
  recipeRevision,
  requirementOf,
  tensorflowVersion,
  unpackProgram,
  type Wheel,
} from "./recipe.ts";

export interface NativeManifest {
  readonly variant: string;
  readonly tensorflow: string;
  readonly tfjs: string;
  readonly revision: number;
}

/** The version of the npm package whose sources are compiled. */
export async function versionOf(packageFolder: string): Promise<string> {
  const text = await readFile(join(packageFolder, "package.json"), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}

/** Fills `folder`, which must exist and be empty. */
export async function buildNative(recipe: Recipe, packageFolder: string, folder: string): Promise<void> {
  demandMachine();
  demandDisk(folder, recipe.peakMb);
  const work = join(folder, "work");
  await mkdir(work);
  for (const wheel of recipe.wheels) await fetchWheel(wheel, work, folder);
  report("compiling the binding");
  await compile(packageFolder, work, folder);
  const manifest: NativeManifest = {
    variant: recipe.variant,
    tensorflow: tensorflowVersion,
    tfjs: await versionOf(packageFolder),
    revision: recipeRevision,
  };
  await writeFile(join(folder, manifestFile), `${JSON.stringify(manifest, null, 2)}\n`);
  await rm(work, { recursive: true });
  await rm(join(folder, "include"), { recursive: true });
}

function demandMachine(): void {
  const platform = platformProblem(thisPlatform());
  const problems = platform === null ? missingTools() : [platform];
  if (problems.length > 0) throw new SetupError(problems.join("\n"));
}

/** One wheel at a time, to save disk space. */
async function fetchWheel(wheel: Wheel, work: string, folder: string): Promise<void> {
  report(`fetching ${wheel.name} ${wheel.version}`);
  const requirements = join(work, "requirements.txt");
  await writeFile(requirements, requirementOf(wheel));
  await runTool(
    "python3",
    pipArgs(requirements, work, process.stderr.isTTY === true),
    `could not download ${wheel.name} ${wheel.version}; pip's message is above. Check the network, or the proxy and ` +
      "package index that pip is configured with, and run the setup again",
  );
  const file = (await readdir(work)).find((name) => name.endsWith(".whl"));
  if (file === undefined)
    throw new SetupError(`pip has not downloaded a wheel of ${wheel.name} ${wheel.version}`);
  const path = join(work, file);
  await runTool(
    "python3",
    ["-c", unpackProgram, path, folder],
    `could not unpack ${file}; is the disk full?`,
  );
  await rm(path);
}

async function compile(packageFolder: string, work: string, folder: string): Promise<void> {
  const libraries = join(folder, "deps", "lib");
  if (!existsSync(join(libraries, "libtensorflow_cc.so.2"))) {
    throw new SetupError("the wheel of TensorFlow has no libtensorflow_cc.so.2; the recipe does not fit it");
  }
  const quietFile = join(work, "quiet.cc");
  await writeFile(quietFile, quietSource);
  const output = join(folder, bindingFile);
  await mkdir(dirname(output), { recursive: true });
  const headers = createRequire(import.meta.url).resolve("node-api-headers/package.json");
  await runTool(
    "g++",
    compileArgs({
      packageFolder,
      nodeHeaders: join(dirname(headers), "include"),
      tensorflowHeaders: join(folder, "include"),
      libraries,
      quietFile,
      output,
    }),
    "the binding did not compile; the compiler's message is above. g++ 9 or newer is needed",
  );
}

function report(what: string): void {
  process.stderr.write(`tensorflow: ${what}\n`);
}
