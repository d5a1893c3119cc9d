// The installation of the CPU image, without the image: the compiled product and the packages of the lock file that
// `npm ci --omit=dev --omit=optional` installs. It lacks TensorFlow, which only `engine.kind: tensorflow` needs.

import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { projectRoot } from "../rig/project.ts";

interface LockedPackage {
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly devOptional?: boolean;
}

const { packages } = JSON.parse(readFileSync(join(projectRoot, "package-lock.json"), "utf8")) as {
  readonly packages: Readonly<Record<string, LockedPackage>>;
};
const installed = Object.entries(packages)
  .filter(([path, { dev, optional, devOptional }]) => path !== "" && !dev && !optional && !devOptional)
  .map(([path]) => path);

const app = mkdtempSync(join(tmpdir(), "forecastnet-cpu-image-"));
after(() => rmSync(app, { recursive: true }));
cpSync(join(projectRoot, "dist/src"), join(app, "dist/src"), { recursive: true });
cpSync(join(projectRoot, "package.json"), join(app, "package.json"));
for (const path of installed) {
  mkdirSync(dirname(join(app, path)), { recursive: true });
  symlinkSync(join(projectRoot, path), join(app, path));
}

/** The facts that `chooseEngine` logs, or its error. */
async function choose(kind: "auto" | "simd" | "tensorflow"): Promise<string> {
  const module = pathToFileURL(join(app, "dist/src/engine/choose-engine.js")).href;
  const program = `
    const { chooseEngine } = await import(${JSON.stringify(module)});
    const logger = { info: (facts) => console.log(JSON.stringify(facts)) };
    try {
      const settings = { kind: ${JSON.stringify(kind)}, threads: 1, memoryMb: 64 };
      await (await chooseEngine(settings, logger)).close();
    } catch (error) {
      console.log(error.code + ": " + error.message);
    }`;
  const file = join(app, `${kind}.mjs`);
  writeFileSync(file, program);
  const { stdout } = await promisify(execFile)(process.execPath, [file]);
  return stdout.trim();
}

describe("the installation of the CPU image", () => {
  test("contains the product's dependencies without TensorFlow", () => {
    assert.ok(installed.includes("node_modules/kafkajs"));
    assert.deepEqual(
      installed.filter((path) => path.includes("tensorflow")),
      [],
    );
  });

  test("starts the simd engine, by choice or by default", async () => {
    for (const kind of ["auto", "simd"] as const) {
      const { engine, device } = JSON.parse(await choose(kind)) as Record<string, string>;
      assert.deepEqual([engine, device], ["simd", "cpu"]);
    }
  });

  test("reports in one sentence that TensorFlow is missing and what to do", async () => {
    const said = await choose("tensorflow");
    assert.match(
      said,
      /^ENGINE_FAILED: .*TensorFlow\.js is not installed: .*GPU image.*engine\.kind to simd$/,
    );
    assert.doesNotMatch(said, /\n/);
  });

  test("runs the command line", () => {
    const main = join(app, "dist/src/cli/main.js");
    const { status, stdout } = spawnSync(process.execPath, [main, "config", "check"], { encoding: "utf8" });
    assert.deepEqual([status, stdout], [0, "the configuration is valid\n"]);
  });
});
