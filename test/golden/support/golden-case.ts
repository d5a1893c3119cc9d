// Reads a golden file: a spec, the flat array of weights and the expected results, in our layouts.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Derivatives, Rows } from "../../../src/engine/reference/reference-executor.ts";
import type { CellSpec } from "../../../src/models/forecastnet/cells.ts";
import { type NetPlan, planNet } from "../../../src/models/forecastnet/plan.ts";
import { specOf } from "../../../src/models/forecastnet/spec.ts";
import { projectRoot } from "../../rig/project.ts";

/** The authors' convolutional cell, which is not the paper's. */
export function authorsConvCell(filters: number): CellSpec {
  return {
    kind: "conv",
    stages: [
      { filters, kernel: 5, padding: 2, pool: null },
      { filters, kernel: 3, padding: 1, pool: null },
    ],
    units: filters,
    activation: "relu",
  };
}

interface GoldenFile {
  readonly tau: number;
  readonly inputLength: number;
  readonly channels: number;
  readonly hidden: number;
  readonly batch: number;
  /** [batch][inputLength·channels] */
  readonly x: readonly number[];
  /** [tau][batch][channels], as are mu, sigma and freeRunning. */
  readonly targets: readonly number[];
  readonly mu: readonly number[];
  readonly sigma: readonly number[] | null;
  readonly freeRunning: readonly number[] | null;
  readonly loss: number;
  readonly parameters: Readonly<
    Record<string, { readonly value: readonly number[]; readonly gradient: readonly number[] }>
  >;
}

export interface GoldenCase {
  readonly plan: NetPlan;
  readonly weights: Float64Array;
  readonly rows: Rows;
  readonly expected: Derivatives;
  /** [step][target][row]; linear outputs only. */
  readonly freeRunning: Float64Array | null;
}

export const goldenNames = ["dense-1", "dense-2", "dense2-1", "dense2-2", "conv-1", "conv2-1"] as const;

type GoldenName = (typeof goldenNames)[number];

export function readGolden(name: GoldenName): GoldenCase {
  const path = join(projectRoot, "test/golden/numbers", `${name}.json`);
  const file = JSON.parse(readFileSync(path, "utf8")) as GoldenFile;
  const { tau, inputLength, channels, hidden } = file;
  const isDense = name.startsWith("dense");
  const plan = planNet(
    specOf(file.sigma === null ? "FN2" : "FN", tau, {
      inputLength,
      channels,
      targets: Array.from({ length: channels }, (_, c) => c),
      cell: isDense
        ? { kind: "dense", units: [hidden, hidden], activation: "relu" }
        : authorsConvCell(hidden),
    }),
  );
  const cellLayers = isDense
    ? ["hidden_layer1", "hidden_layer2"]
    : ["conv_layer1", "conv_layer2", "flatten_layer"];
  const heads = file.sigma === null ? ["output_layer"] : ["mu_layer", "sigma_layer"];
  const flat = (field: "value" | "gradient") => flatten(plan, file, [...cellLayers, ...heads], field);
  return {
    plan,
    weights: flat("value"),
    rows: { count: file.batch, windows: Float64Array.from(file.x), targets: toRows(file, file.targets) },
    expected: {
      mean: toSteps(file, file.mu),
      deviation: file.sigma && toSteps(file, file.sigma),
      loss: file.loss,
      gradient: flat("gradient"),
    },
    freeRunning: file.freeRunning && toSteps(file, file.freeRunning),
  };
}

/** Their parameters are named layer.cell.weight and layer.cell.bias; ours are ordered by cell and layer. */
function flatten(
  plan: NetPlan,
  { tau, parameters }: GoldenFile,
  layers: readonly string[],
  field: "value" | "gradient",
): Float64Array {
  const names = Array.from({ length: tau }, (_, cell) =>
    layers.flatMap((layer) => [`${layer}.${cell}.weight`, `${layer}.${cell}.bias`]),
  ).flat();
  const numbers = Float64Array.from(names.flatMap((name) => parameters[name][field]));
  const isComplete = names.length === Object.keys(parameters).length && numbers.length === plan.weightCount;
  if (!isComplete) throw new Error(`the plan has ${plan.weightCount} weights, the file ${numbers.length}`);
  return numbers;
}

/** [step][row][target] → [row][step][target] */
function toRows({ tau, batch, channels }: GoldenFile, values: readonly number[]): Float64Array {
  const moved = new Float64Array(values.length);
  for (const [at, value] of values.entries()) {
    const [step, row, target] = [
      Math.floor(at / (batch * channels)),
      Math.floor(at / channels) % batch,
      at % channels,
    ];
    moved[(row * tau + step) * channels + target] = value;
  }
  return moved;
}

/** [step][row][target] → [step][target][row] */
function toSteps({ batch, channels }: GoldenFile, values: readonly number[]): Float64Array {
  const moved = new Float64Array(values.length);
  for (const [at, value] of values.entries()) {
    const [step, row, target] = [
      Math.floor(at / (batch * channels)),
      Math.floor(at / channels) % batch,
      at % channels,
    ];
    moved[(step * channels + target) * batch + row] = value;
  }
  return moved;
}
