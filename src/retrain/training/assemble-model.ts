// The candidates that are best together as one model: a mixture with the shares that validate best, widened as
// validation asks for.

import type { ForecastNetModel } from "../../models/forecastnet/model.ts";
import { chooseShares, distancesOf } from "./combine.ts";
import { chooseWidth, poolQuantiles, scorePooled } from "./pooled.ts";
import { fitScalers } from "./scalers.ts";
import type { TrainedCandidate } from "./train-candidate.ts";
import type { CandidatesRequest } from "./train-model.ts";
import { stepsOf } from "./training-series.ts";

export interface Assembly {
  readonly key: string;
  readonly version: string;
  /** Members at most; each costs memory and a part of the sample paths. */
  readonly members: number;
}

export interface ValidatedModel {
  readonly model: ForecastNetModel;
  /** How good the model's twins were where they had not seen the data; each series and channel by its naive error. */
  readonly validation: {
    readonly mase: number;
    readonly crps: number;
    readonly coverage80: number;
    readonly points: number;
  };
}

/** `request` is the one that the candidates were trained for. */
export function assembleModel(
  { specs: [{ channels, targets, horizon }], series }: Pick<CandidatesRequest, "specs" | "series">,
  candidates: readonly TrainedCandidate[],
  { key, version, members: most }: Assembly,
): ValidatedModel {
  const shares = chooseShares(distancesOf(candidates.map(({ judged }) => judged)), most);
  const chosen = candidates
    .map((candidate, i) => ({ ...candidate, share: shares[i] }))
    .filter(({ share }) => share > 0);
  const { actual } = chosen[0].judged;
  const quantiles = poolQuantiles(
    chosen.map(({ judged }) => judged),
    chosen.map(({ share }) => share),
  );
  const width = chooseWidth(quantiles, actual);
  const sheet = scorePooled(quantiles, actual, width);
  const ends = series.map((one) => stepsOf(one, channels));
  return {
    model: {
      key,
      version,
      scaler: fitScalers(series, channels, ends).served,
      members: chosen.map(({ spec, weights, share, residuals }) => ({ spec, weights, share, residuals })),
      spread: new Float32Array(targets.length * horizon).fill(width),
    },
    // What was judged is in units of naive errors already.
    validation: {
      mase: sheet.mase(1),
      crps: sheet.crps(1),
      coverage80: sheet.coverage80,
      points: sheet.steps,
    },
  };
}
