// TensorFlow loads on every machine: native if it is set up and works, otherwise plain. It reports which.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { after, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Worker } from "node:worker_threads";
import type { MultiplyReport } from "../../../../scripts/tensorflow/multiply.ts";
import {
  bindingFile,
  findNativeBinding,
  loadTensorFlow,
  manifestFile,
  type TensorFlow,
} from "../../../../src/engine/tensorflow/native-binding.ts";
import { nativeTensorFlow } from "../../../rig/tensorflow.ts";

const scratch = mkdtempSync(join(tmpdir(), "forecastnet-binding-"));
after(() => rmSync(scratch, { recursive: true }));

/** A module in a new project whose native package has these files. */
function projectWith(textByFile: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(scratch, "project-"));
  for (const [name, content] of Object.entries(textByFile)) {
    const file = join(root, "node_modules", "@tensorflow", "tfjs-node-gpu", name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
  }
  return join(root, "index.js");
}

const packageJson = `{ "name": "@tensorflow/tfjs-node-gpu", "main": "index.js" }`;
const brokenPackage = {
  "package.json": packageJson,
  "index.js": `module.exports = require("./${bindingFile}");`,
  [bindingFile]: "this is not a shared library",
};

function product(tf: TensorFlow): number[] {
  return tf.tidy(() => [...tf.matMul(tf.tensor2d([[1, 2, 3]]), tf.tensor2d([[4], [5], [6]])).dataSync()]);
}

describe("looking for the native binding", () => {
  test("reports that the package is not installed", () => {
    const found = findNativeBinding(projectWith({}));
    assert.deepEqual([found.present, found.packageFolder, found.path], [false, null, null]);
    assert.match(found.reason, /npm ci/);
  });

  test("reports the setup command if only the package is installed", () => {
    const found = findNativeBinding(projectWith({ "package.json": packageJson }));
    assert.deepEqual([found.present, found.variant], [false, null]);
    assert.match(found.reason, /npm run setup:tensorflow -- cpu/);
    assert.ok(found.path?.endsWith(bindingFile));
  });

  test("reports what was set up without loading it", () => {
    const manifest = (content: string) => ({ ...brokenPackage, [manifestFile]: content });
    const variantOf = (files: Readonly<Record<string, string>>) => {
      const { present, variant } = findNativeBinding(projectWith(files));
      assert.ok(present);
      return variant;
    };
    assert.equal(variantOf(manifest(`{ "variant": "gpu" }`)), "gpu");
    assert.equal(variantOf(manifest(`{ "variant": "cpu" }`)), "cpu");
    assert.equal(variantOf(brokenPackage), "unknown");
  });
});

describe("loading TensorFlow", () => {
  test("uses the plain backend if the native one is not set up", async () => {
    const loaded = await loadTensorFlow({ from: projectWith({ "package.json": packageJson }) });
    assert.deepEqual([loaded.backend, loaded.device, loaded.tf.getBackend()], ["plain", "cpu", "cpu"]);
    assert.match(loaded.reason, /not set up/);
    assert.match(loaded.version, /^tfjs \d+\.\d+\.\d+$/);
    assert.deepEqual(product(loaded.tf), [32]);
  });

  test("falls back to the plain backend if the native binding does not load, and reports why", async () => {
    const from = projectWith(brokenPackage);
    const loaded = await loadTensorFlow({ from });
    assert.equal(loaded.backend, "plain");
    assert.ok(loaded.reason.includes(bindingFile), loaded.reason);
    assert.match(loaded.reason, /invalid ELF header|file too short|not a mach-o|not a valid/i);
    assert.deepEqual(product(loaded.tf), [32]);
  });

  test("accepts a manifest that is not JSON", async () => {
    const loaded = await loadTensorFlow({ from: projectWith({ ...brokenPackage, [manifestFile]: "{" }) });
    assert.equal(loaded.backend, "plain");
  });

  test("prints nothing on the plain backend", async () => {
    const module = new URL("../../../../src/engine/tensorflow/native-binding.js", import.meta.url);
    const program = `
      const { loadTensorFlow } = await import(${JSON.stringify(module.href)});
      const { tf } = await loadTensorFlow({ backend: "plain" });
      tf.matMul([[1]], [[1]]).dataSync();`;
    const output = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program]);
    assert.deepEqual([output.stdout, output.stderr], ["", ""]);
  });
});

describe("the native backend", async () => {
  const needsNative = await nativeTensorFlow();
  const multiplyProgram = fileURLToPath(
    new URL("../../../../scripts/tensorflow/multiply.js", import.meta.url),
  );

  function assertGood(report: string): void {
    const { backend, version, wrong } = JSON.parse(report) as MultiplyReport;
    assert.deepEqual([backend, wrong], ["native", 0]);
    assert.match(version, /^libtensorflow 2\./);
  }

  test("is used if it is set up", needsNative, async () => {
    const loaded = await loadTensorFlow();
    assert.deepEqual([loaded.backend, loaded.tf.getBackend()], ["native", "tensorflow"]);
    assert.deepEqual(product(loaded.tf), [32]);
  });

  test("is replaced when the plain one is requested, and can be loaded again", needsNative, async () => {
    const plain = await loadTensorFlow({ backend: "plain" });
    assert.deepEqual([plain.backend, plain.tf.getBackend()], ["plain", "cpu"]);
    assert.deepEqual(product(plain.tf), [32]);
    const native = await loadTensorFlow();
    assert.deepEqual([native.backend, native.tf.getBackend()], ["native", "tensorflow"]);
  });

  test("prints nothing on a CPU", needsNative, async (context) => {
    if (findNativeBinding().variant === "gpu") return context.skip("CUDA prints messages of its own");
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [multiplyProgram]);
    assertGood(stdout);
    assert.equal(stderr, "");
  });

  test("loads without the functions that Node 23 removed", needsNative, async () => {
    const program = `
      const util = require("node:util");
      delete util.isArray;
      delete util.isNullOrUndefined;
      import(${JSON.stringify(multiplyProgram)});`;
    const { stdout } = await promisify(execFile)(process.execPath, ["-e", program]);
    assertGood(stdout);
  });

  test("loads in two threads at once, which both exit with code 0", needsNative, async () => {
    const reports = [1, 2].map(async () => {
      const worker = new Worker(multiplyProgram, { stdout: true });
      const [report, [code]] = await Promise.all([text(worker.stdout), once(worker, "exit")]);
      assert.equal(code, 0);
      return report;
    });
    for (const report of await Promise.all(reports)) assertGood(report);
  });
});
