// Replays series through the worker under one configuration, and scores every forecast of the test part as it comes: what this
// system would have published. Nothing is kept of a forecast but its scores, and a few to be shown.

import type { ModelEventRecord } from "../log/codec/schemas.generated.ts";
import { Replay } from "../replay/replay.ts";
import { cpuSeconds } from "../runtime/clock.ts";
import type { AppConfig } from "../runtime/config/schema.ts";
import { seriesRules } from "../runtime/config/series-rules.ts";
import { resultsOf, type ScoredSeries, type SeriesResult, scoredSeriesOf } from "./scored-series.ts";
import { arrivals, type SeriesPoints } from "./series-points.ts";

/** A decision about a model. */
export interface Decision {
  readonly seriesId: string;
  readonly timeMs: number;
  readonly kind: string;
  readonly reason: string;
}

export interface SystemResult {
  readonly series: readonly SeriesResult[];
  readonly decisions: readonly Decision[];
  /** Of the whole replay, training included. */
  readonly cpuSeconds: number;
}

export interface SystemOptions {
  readonly config: AppConfig;
  /** Share of each series, at its end, in which forecasts are scored. */
  readonly testShare: number;
  /** The longest move of the clock: how often the retraining loop comes round. */
  readonly resolutionMs: number;
  /** Called with the number of points replayed so far. */
  readonly onProgress?: (points: number) => void;
}

/** Between two looks at what was published. */
const timesPerLook = 16;

export async function replaySystem(
  all: readonly SeriesPoints[],
  { config, testShare, resolutionMs, onProgress }: SystemOptions,
): Promise<SystemResult> {
  const startedAt = cpuSeconds();
  const scored: ReadonlyMap<string, ScoredSeries> = scoredSeriesOf(
    all,
    seriesRules(config.series),
    testShare,
  );
  const decisions: Decision[] = [];
  const startMs = all.reduce(
    (least, { timesMs }) => Math.min(least, timesMs[0] ?? least),
    Number.POSITIVE_INFINITY,
  );
  const retainRecords = 4 * timesPerLook * all.length + 1_000;
  const replay = await Replay.open({ config, startMs, retainRecords, resolutionMs });
  const look = async () => {
    for (const forecast of await replay.takeForecasts()) scored.get(forecast.seriesId)?.add(forecast);
    for (const event of await replay.takeEvents()) decisions.push(decisionOf(event));
  };
  try {
    let [times, points] = [0, 0];
    for (const together of arrivals(all)) {
      await replay.feed(together);
      points += together.length;
      if (++times % timesPerLook !== 0) continue;
      await look();
      onProgress?.(points);
    }
    await look();
    onProgress?.(points);
  } finally {
    await replay.close();
  }
  return { series: resultsOf(all, scored), decisions, cpuSeconds: cpuSeconds() - startedAt };
}

function decisionOf({ modelKey, time, kind, reason }: ModelEventRecord): Decision {
  return { seriesId: modelKey, timeMs: time, kind: kind.toLowerCase(), reason };
}
