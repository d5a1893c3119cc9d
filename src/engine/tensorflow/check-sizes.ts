// Refuses inputs whose sizes do not fit the plan. On the device they would be a reshape error at best.

import type { TrainingSet } from "../../models/forecastnet/framing.ts";
import type { NetPlan } from "../../models/forecastnet/plan.ts";
import { type ErrorCode, ForecastnetError } from "../../runtime/errors.ts";
import type { SampleTask } from "../executor.ts";

export function checkWeights({ weightCount }: NetPlan, weights: Float32Array, where: string): void {
  expectLength("MODEL_UNFIT", `weights of ${where}`, weights.length, weightCount);
}

export function checkSampleTask({ net, window, noise }: SampleTask, where: string): void {
  const { plan, weights } = net;
  checkWeights(plan, weights, where);
  expectLength("WINDOW_UNFIT", `window of ${where}`, window.length, plan.windowSize);
  const isGaussian = plan.spec.output === "gaussian";
  if (isGaussian !== (noise !== null)) {
    const expected = isGaussian ? "Gaussian outputs need noise" : "linear outputs take none";
    throw new ForecastnetError("ENGINE_FAILED", `noise of ${where}: ${expected}`);
  }
  if (noise === null) return;
  const draws = plan.cells.length * plan.targets * noise.paths;
  expectLength("ENGINE_FAILED", `noise of ${where}`, noise.values.length, draws);
}

export function checkTrainingSet(plan: NetPlan, set: TrainingSet, where: string): void {
  const { count, windows, targets } = set;
  expectLength("WINDOW_UNFIT", `windows of ${where}`, windows.length, count * plan.windowSize);
  const outputs = plan.cells.length * plan.targets;
  expectLength("WINDOW_UNFIT", `targets of ${where}`, targets.length, count * outputs);
}

export function checkRows(rows: Int32Array, count: number, where: string): void {
  const outside = rows.find((row) => row < 0 || row >= count);
  if (outside === undefined) return;
  const message = `rows of ${where}: row ${outside} does not exist; its training set has rows 0 to ${count - 1}`;
  throw new ForecastnetError("ENGINE_FAILED", message);
}

function expectLength(code: ErrorCode, what: string, length: number, expected: number): void {
  if (length === expected) return;
  throw new ForecastnetError(code, `${what}: ${length} numbers; expected ${expected} by the plan`);
}
