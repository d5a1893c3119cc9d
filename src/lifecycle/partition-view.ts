// One partition as the lifecycle sees it: its series, their live scores, the models that serve them. The stages own these; the
// lifecycle imports no stage.

import type { History, LiveScores, SeriesFacts, SeriesSettings } from "../domain.ts";
import type { ServingModel } from "../log/codec/model-record.ts";
import type { ModelRecord } from "../log/codec/schemas.generated.ts";
import type { Life } from "../models/life.ts";
import type { Timers } from "../runtime/clock.ts";
import type { Logger } from "../runtime/logging.ts";
import type { RefusalReason, RetrainMetrics } from "../runtime/metric-groups.ts";
import type { RetrainRules } from "./rules.ts";

/** The live scores of one series, and its phase. */
export interface ScoredSeries {
  readonly seriesId: string;
  /** Setting it marks the series as changed, so that the score stage stores it with the next batch. */
  life: Life;
  /** The line of versions (`lineOf`) whose forecasts are scored; null before the first forecast. */
  readonly version: string | null;
  /** Slots scored since the version serves. */
  readonly scoredSlots: number;
  /** Null until a forecast of the version has matured. */
  readonly mase: number | null;
  /** The rolling MASE with a bound on the error of one slot; null when there is none. */
  readonly cappedMase: number | null;
  /** The unit of the errors, per channel; null before the first forecast. */
  readonly naiveErrors: readonly number[] | null;
  scores(): LiveScores | null;
}

interface ScoredSeriesSet extends Iterable<ScoredSeries> {
  get(seriesId: string): ScoredSeries | undefined;
  /** Created on the first call. */
  of(seriesId: string): ScoredSeries;
  ids(): Iterable<string>;
  /** Drops the series. Returns its keys on the state topic. */
  forget(seriesId: string): readonly string[];
}

interface ServingModels {
  /** The model stored under this key. */
  get(modelKey: string): ServingModel | undefined;
  /** The model that serves a series: its own, or else its cohort's. */
  of(seriesId: string): ServingModel | undefined;
  /** Replaces the serving model by that of the record. On a refusal, the serving model stays. */
  put(record: ModelRecord): { readonly reason: RefusalReason; readonly detail: string } | null;
  remove(modelKey: string): void;
  forgetPrevious(modelKey: string): void;
}

/** Position of a series on its grid. */
export interface SeriesTimes {
  readonly newestMs: number;
  readonly stepMs: number;
  /** Steps from the oldest stored observation to the newest. */
  readonly steps: number;
}

/** The series of the partition, owned by the window stage. */
export interface StoredSeriesSet {
  ids(): Iterable<string>;
  /** Null for a series that is not here. */
  factsOf(seriesId: string): SeriesFacts | null;
  /** For each series that can be forgotten: its id if that is due, else null. */
  silent(): Iterable<string | null>;
  /** Wall time when the series is forgotten unless it sends; null for never. */
  endsAtMs(seriesId: string): number | null;
  /** Drops the series. Returns its keys on the state topic. */
  forget(seriesId: string): readonly string[];
}

export interface LifecycleTopics {
  readonly state: string;
  readonly models: string;
  readonly training: string;
  readonly events: string;
  readonly eventPartitions: number;
  /** `max.message.bytes`. */
  readonly modelBytes: number;
  readonly trainingBytes: number;
}

export interface PartitionView {
  readonly partition: number;
  /** Partitions of the input: a cohort's model is written to all of them. */
  readonly partitions: number;
  /** Aborted when the partition is lost. */
  readonly lost: AbortSignal;
  readonly series: StoredSeriesSet;
  readonly scoreStore: ScoredSeriesSet;
  readonly models: ServingModels;
  /** Unread input records of the partition; null while unknown. */
  readonly unread: () => number | null;
  /** The configuration and what was found out about the series. */
  readonly settingsOf: (seriesId: string) => SeriesSettings;
  readonly rulesOf: (settings: SeriesSettings) => RetrainRules;
  readonly timesOf: (seriesId: string) => SeriesTimes | null;
  readonly historyOf: (seriesId: string) => History | null;
  /** Decides anew which seasons a series has; its settings may change. Call before a training. */
  readonly reconsiderSeasons: (seriesId: string) => void;
  /** Reads the record of a model from its topic. */
  readonly readRecord: (modelKey: string) => Promise<ModelRecord | null>;
  readonly topics: LifecycleTopics;
  readonly clock: Timers;
  readonly logger: Logger;
  readonly metrics: RetrainMetrics;
}

/**
 * The settings that a model is made for: those of its series or, for a cohort, of a member in this partition. What was
 * found out about members in other partitions is not known here.
 */
export function settingsFor(
  { timesOf, settingsOf }: Pick<PartitionView, "timesOf" | "settingsOf">,
  modelKey: string,
  histories: readonly History[],
): SeriesSettings {
  const here = histories.find(({ seriesId }) => timesOf(seriesId) !== null) ?? histories[0];
  return settingsOf(here?.seriesId ?? modelKey);
}
