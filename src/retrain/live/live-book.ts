// The live side of all series of one partition, and which of it changed since it was last stored. Pure state: reading
// and writing the state topic is done by those who call.

import type { SeriesSettings } from "../../domain.ts";
import { type LiveRecord, takeRecords } from "./live-records.ts";
import { Scratch } from "./scratch.ts";
import { type LiveRules, SeriesLive } from "./series-live.ts";
import { createScoreRule } from "./step-scores.ts";
import type { StoredKept, StoredState } from "./stored-records.ts";
import { Tenure } from "./tenure.ts";

export interface LiveBookParts extends Omit<LiveRules, "scratch"> {
  /** Of the quantiles that forecasts state, ascending. */
  readonly levels: readonly number[];
  readonly settingsOf: (seriesId: string) => SeriesSettings;
}

export class LiveBook {
  readonly #rules: LiveRules;
  readonly #settingsOf: (seriesId: string) => SeriesSettings;
  readonly #liveById = new Map<string, SeriesLive>();
  readonly #changed = new Set<SeriesLive>();

  constructor({ levels, settingsOf, rollingSteps, calibration }: LiveBookParts) {
    this.#rules = { scratch: new Scratch(createScoreRule(levels)), rollingSteps, calibration };
    this.#settingsOf = settingsOf;
  }

  get size(): number {
    return this.#liveById.size;
  }

  /** Made when first asked for. */
  of(seriesId: string): SeriesLive {
    let live = this.#liveById.get(seriesId);
    if (live === undefined) {
      live = new SeriesLive(seriesId, this.#rules, this.#changed);
      this.#liveById.set(seriesId, live);
    }
    return live;
  }

  get(seriesId: string): SeriesLive | undefined {
    return this.#liveById.get(seriesId);
  }

  ids(): IterableIterator<string> {
    return this.#liveById.keys();
  }

  [Symbol.iterator](): IterableIterator<SeriesLive> {
    return this.#liveById.values();
  }

  /** Everything changed since the last call, once. */
  takeChanges(): LiveRecord[] {
    const records: LiveRecord[] = [];
    for (const live of this.#changed) takeRecords(live, records);
    this.#changed.clear();
    return records;
  }

  /**
   * Puts a series back as it was stored. Where the configuration asks for other levels or another horizon, or the
   * series is on another grid, only its life is kept, and the answer is false: old scores say nothing there.
   */
  restoreState(
    { record, life, sums, base, errorCap, calibration }: StoredState,
    isSameGrid: boolean,
  ): boolean {
    const { seriesId, modelVersion, naiveErrors, horizon, newestSlot, scoredSlots, learntSteps } = record;
    const live = this.of(seriesId);
    const settings = this.#settingsOf(seriesId);
    const hasTenure = record.levels.length > 0;
    if (!hasTenure || !isSameGrid || horizon !== settings.horizon || !this.#hasLevels(record.levels)) {
      live.resume(life, null);
      return !hasTenure;
    }
    const tenure = new Tenure(
      {
        ...{ version: modelVersion, channels: naiveErrors.length, horizon, lateSlots: settings.gapMax },
        rollingSteps: this.#rules.rollingSteps(settings),
        ...{ naiveErrors, base, errorCap },
        isCalibrated: this.#rules.calibration.enabled,
      },
      this.#rules.scratch,
    );
    tenure.rolling.load({ sums, newestSlot, scoredSlots });
    // Of another length when calibration was off, or worked otherwise, when it was stored: then it begins anew.
    if (tenure.calibrator?.state.length === calibration.length)
      tenure.calibrator.load(calibration, learntSteps);
    live.resume(life, tenure);
    return true;
  }

  /** Puts a kept forecast back into its place, after the states. False when it fits nothing any more: it is let go. */
  restoreKept({ record, quantiles }: StoredKept, place: number): boolean {
    const { seriesId, originSlot, modelVersion, channels, horizon, levels } = record;
    const live = this.of(seriesId);
    const { tenure } = live;
    const isFit =
      tenure !== null &&
      tenure.frame.channels === channels &&
      tenure.frame.horizon === horizon &&
      this.#hasLevels(levels) &&
      place < tenure.kept.mostRows;
    if (!isFit) {
      live.abandon(place);
      return false;
    }
    tenure.kept.load(place, originSlot, modelVersion === tenure.frame.version ? null : modelVersion);
    const outputs = channels * horizon;
    const noBase = new Array<number>(channels).fill(0); // It was taken off before they were stored.
    const stated = levels.map((_, l) => ({ values: quantiles.subarray(l * outputs, (l + 1) * outputs) }));
    tenure.kept.write(place, stated, noBase);
    return true;
  }

  #hasLevels(levels: readonly number[]): boolean {
    const ours = this.#rules.scratch.rule.levels;
    return levels.length === ours.length && levels.every((level, l) => level === ours[l]);
  }
}
