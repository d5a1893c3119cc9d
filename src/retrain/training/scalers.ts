// The scalers of a training: each series' own, by which its rows are framed, and the one that is served with the model.

import type { Scaler } from "../../models/forecastnet/model.ts";
import { fitScaler } from "../../models/forecastnet/scaler.ts";
import type { TrainingSeries } from "./training-series.ts";

export interface Scalers {
  readonly own: readonly Scaler[];
  readonly served: Scaler;
}

/** Of the steps before `ends`, one end a series; each channel must have a value there. */
export function fitScalers(
  series: readonly TrainingSeries[],
  channels: number,
  ends: readonly number[],
): Scalers {
  const own = series.map(({ values }, i) => fitScaler(values, channels, 0, ends[i], "deviation"));
  return { own, served: own.length === 1 ? own[0] : sharedScaler(own, channels) };
}

/**
 * Members of a cohort share no level and no scale; their nets take both from the window. All that a scaler still says
 * there is how flat a window may be, and that must suit the quietest member.
 */
function sharedScaler(own: readonly Scaler[], channels: number): Scaler {
  return {
    offset: new Array<number>(channels).fill(0),
    scale: Array.from({ length: channels }, (_, c) => Math.min(...own.map(({ scale }) => scale[c]))),
  };
}
