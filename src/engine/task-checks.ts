// What must hold before and after a model is run. Every refusal names the model, the field, and what was expected.

import type { MixtureSummary } from "../models/forecastnet/mixture.ts";
import type { ForecastNetModel, Member } from "../models/forecastnet/model.ts";
import type { NetPlan } from "../models/forecastnet/plan.ts";
import { ForecastnetError } from "../runtime/errors.ts";
import type { ForecastOptions } from "./engine.ts";

export function nameOf({ key, version }: ForecastNetModel): string {
  return `model ${key}@${version}`;
}

function unfit(model: ForecastNetModel, field: string, problem: string): ForecastnetError {
  return new ForecastnetError("MODEL_UNFIT", `${nameOf(model)}: ${field} ${problem}`, {
    context: { modelKey: model.key, modelVersion: model.version, field },
  });
}

export function checkOptions({ paths, levels }: ForecastOptions): void {
  if (!Number.isInteger(paths) || paths < 1) {
    throw new ForecastnetError(
      "CONFIG_INVALID",
      `paths is ${paths}; expected is a whole number of sample paths, 1 or more`,
    );
  }
  const isSound = levels.every((level, l) => level > 0 && level < 1 && (l === 0 || level > levels[l - 1]));
  if (!isSound) {
    throw new ForecastnetError(
      "CONFIG_INVALID",
      `levels are ${JSON.stringify(levels)}; expected are numbers between 0 and 1, ascending`,
    );
  }
}

/** A model that was read from bytes has passed all of this; one put together in memory has not. */
export function checkMember(model: ForecastNetModel, member: Member, plan: NetPlan): void {
  const { spec, weights, residuals } = member;
  const first = model.members[0].spec;
  if (weights.length !== plan.weightCount) {
    throw unfit(model, "weights", `are ${weights.length} numbers; expected are ${plan.weightCount}`);
  }
  if (spec.horizon !== first.horizon || spec.channels !== first.channels) {
    throw unfit(model, "members", "differ in horizon or channels; expected are equal ones");
  }
  if (spec.targets.length !== first.targets.length || spec.targets.some((c, k) => c !== first.targets[k])) {
    throw unfit(model, "members", "differ in targets; expected are equal ones");
  }
  const rows = spec.horizon * spec.targets.length;
  if (model.spread !== null && model.spread.length !== rows) {
    throw unfit(
      model,
      "spread",
      `has ${model.spread.length} numbers; expected are ${rows}, one per target and step`,
    );
  }
  if (spec.output === "gaussian") return;
  if (residuals === null || residuals.length === 0 || residuals.length % rows !== 0) {
    const found = residuals === null ? "are missing" : `are ${residuals.length} numbers`;
    throw unfit(
      model,
      "residuals",
      `${found}; expected is a table for linear outputs, a multiple of ${rows}`,
    );
  }
}

/** A net whose numbers overflow must not send NaN to subscribers. */
export function requireNumbers(model: ForecastNetModel, { mean, standardDeviation }: MixtureSummary): void {
  for (let row = 0; row < mean.length; row++) {
    if (Number.isFinite(mean[row]) && Number.isFinite(standardDeviation[row])) continue;
    const { horizon } = model.members[0].spec;
    const place = `step ${(row % horizon) + 1} of target ${Math.floor(row / horizon)}`;
    throw unfit(model, "forecast", `has no finite value at ${place}; expected are numbers within float32`);
  }
}
