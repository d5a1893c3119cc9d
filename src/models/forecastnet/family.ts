// ForecastNet as a model family: nets that an engine runs and trains.

import { type FamilyResult, type FamilyTask, type Model, type ModelFamily, unnamed } from "../family.ts";
import { stepsOf } from "../folds.ts";
import type { Engine } from "./engine.ts";
import { type ForecastNetModel, inputLengthOf } from "./model.ts";
import { decodeModel, encodeModel } from "./model-bytes.ts";
import { parseSpec } from "./parse-spec.ts";
import type { ForecastNetSpec } from "./spec.ts";
import { chooseTrial, leastSteps } from "./training/candidates.ts";
import { assembleModel } from "./training/ensemble.ts";
import { trainCandidates } from "./training/train-candidates.ts";

export function createForecastNet(engine: Engine): ModelFamily<ForecastNetModel> {
  return {
    name: "forecastnet",
    shapeOf: (model) => {
      const { horizon, channels, targets } = model.members[0].spec;
      return { horizon, channels, targets, inputSteps: inputLengthOf(model) };
    },
    describe: ({ members }) =>
      JSON.stringify({ nets: members.map(({ spec, share }) => ({ share, ...spec })) }),
    forecast: (tasks, options) =>
      engine.forecast(
        tasks.map(({ model, input }) => ({ model, window: input.values })),
        options,
      ),
    train: (task, signal) => trainNets(engine, task, signal),
    encode: encodeModel,
    decode: decodeModel,
    release: (model) => engine.release(model),
  };
}

async function trainNets(
  engine: Engine,
  { key, plan, channels, series, seed, champion }: FamilyTask,
  signal: AbortSignal,
): Promise<FamilyResult<ForecastNetModel>> {
  const { horizon, season, members } = plan;
  const shape = { horizon, season, channels, targets: Array.from({ length: channels }, (_, c) => c) };
  const trial = chooseTrial({ ...plan, known: specsOf(champion) }, shape, series);
  if (trial === null) {
    const longest = Math.max(...series.map((one) => stepsOf(one, channels)));
    const needed = `${leastSteps(plan, shape)} are needed for a horizon of ${horizon} and a season of ${season}`;
    return { outcome: "failed", reason: `the longest history has ${longest} steps; ${needed}` };
  }
  for (const spec of trial.specs) parseSpec(spec, "the net asked for");
  const request = { ...trial, series, seed, members, signal };
  const result = await trainCandidates(engine, request);
  if (result.outcome !== "trained") return result;
  const { model, validation, heldOut } = assembleModel(request, result.candidates, {
    key,
    version: unnamed,
    members,
  });
  const { mase, crps, points } = validation;
  return { outcome: "trained", model, folds: { mase, crps, points }, heldOut };
}

function specsOf(champion: Model | undefined): readonly ForecastNetSpec[] {
  if (champion === undefined || champion.family !== "forecastnet") return [];
  // Safe: models of this name are made by this family only.
  return (champion as ForecastNetModel).members.map(({ spec }) => spec);
}
