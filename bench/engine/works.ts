// The timed works and their data: weights, windows, noise and targets from fixed seeds, in files that all contestants
// read.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CellSpec } from "../../src/models/forecastnet/cells.ts";
import { initialWeights } from "../../src/models/forecastnet/initial-weights.ts";
import { type NetPlan, planNet } from "../../src/models/forecastnet/plan.ts";
import { pathNoise } from "../../src/models/forecastnet/sample-paths.ts";
import { specOf } from "../../src/models/forecastnet/spec.ts";
import { createRandom } from "../../src/runtime/random.ts";
import type { Work } from "./protocol.ts";

export const horizon = 24;
export const paths = 100;
const trainingRows = 256;

/** The convolutional cell of the authors' code, not the paper's. */
const authorsConvCell: CellSpec = {
  kind: "conv",
  stages: [
    { filters: 24, kernel: 5, padding: 2, pool: null },
    { filters: 24, kernel: 3, padding: 1, pool: null },
  ],
  units: 24,
  activation: "relu",
};

export const densePlan: NetPlan = planNet(specOf("FN", horizon));
export const convPlan: NetPlan = planNet(specOf("cFN", horizon, { cell: authorsConvCell }));
export const paperConvPlan: NetPlan = planNet(specOf("cFN", horizon));

/** A temporary folder, deleted when the process exits. */
export function openFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "forecastnet-bench-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export function forecastWork(folder: string, name: string, plan: NetPlan, models: number): Work {
  const save = saver(folder, name);
  return {
    kind: "forecast",
    name,
    plan,
    models,
    paths,
    files: {
      weights: save("weights", manyWeights(plan, models)),
      windows: save("windows", series(models, plan.windowSize, 1)),
      noise: save("noise", pathNoise(horizon, 1, paths, 0).values),
    },
  };
}

export function trainingWork(
  folder: string,
  name: string,
  plan: NetPlan,
  { models, batch }: { readonly models: number; readonly batch: number },
): Work {
  const save = saver(folder, name);
  const rows = models * trainingRows;
  // The window and the targets of a row are parts of one stretch of values.
  const stretch = plan.windowSize + horizon;
  const values = series(rows, stretch, 2);
  const cut = (from: number, to: number) => {
    const part = new Float32Array(rows * (to - from));
    for (let row = 0; row < rows; row++) {
      part.set(values.subarray(row * stretch + from, row * stretch + to), row * (to - from));
    }
    return part;
  };
  return {
    kind: "train",
    name,
    plan,
    models,
    batch,
    learningRate: 1e-3,
    files: {
      weights: save("weights", manyWeights(plan, models)),
      windows: save("windows", cut(0, plan.windowSize)),
      targets: save("targets", cut(plan.windowSize, stretch)),
    },
  };
}

function saver(folder: string, work: string): (part: string, values: Float32Array) => string {
  return (part, values) => {
    const path = join(folder, `${work.replaceAll(/\W+/g, "-")}.${part}`);
    writeFileSync(path, values);
    return path;
  };
}

/** Initial weights of many models, each from its own seed. */
function manyWeights(plan: NetPlan, models: number): Float32Array {
  const all = new Float32Array(models * plan.weightCount);
  for (let m = 0; m < models; m++) all.set(initialWeights(plan, m + 1), m * plan.weightCount);
  return all;
}

/** Daily waves with noise, scaled to about [0, 1], one stretch after the other. */
function series(count: number, length: number, seed: number): Float32Array {
  const random = createRandom(seed);
  const values = new Float32Array(count * length);
  for (let i = 0; i < count; i++) {
    const phase = random.uniform() * 24;
    for (let t = 0; t < length; t++) {
      const wave = 0.5 + 0.35 * Math.sin((2 * Math.PI * (t + phase)) / 24);
      values[i * length + t] = wave + 0.05 * random.normal();
    }
  }
  return values;
}
