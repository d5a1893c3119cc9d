// One series as a worker knows it: its grid, once its interval is known, and the window at its newest slot.
// All else it keeps (where the unbroken run began, the seasonal errors) is derived from the grid, so that a
// series restored from its stored blocks behaves to the bit as the one that was lost.

import type { Observation, Placement, SeriesSettings, Window } from "../domain.ts";
import { type Interval, parseInterval } from "../models/interval.ts";
import { fillGaps, fillShortGaps } from "./gap-fill.ts";
import { blockOf, Grid, type PutOutcome } from "./grid.ts";
import { findInterval, POINTS_TO_FIND_INTERVAL } from "./interval-finder.ts";
import { SeasonalErrors } from "./seasonal-errors.ts";
import { UnbrokenRun } from "./unbroken-run.ts";
import { cutValues } from "./window-slab.ts";

/**
 * What became of an observation. "duplicate": its slot was taken, and the one with the later event time stays;
 * "interval-pending": kept until there are points enough to find the
 * interval; "interval-found": it was the last one needed, and the series has advanced.
 */
export type PushOutcome =
  | Exclude<PutOutcome, "replaced" | "outdated">
  | "duplicate"
  | "wrong-channels"
  | "interval-pending"
  | "interval-found";

/** An observation that waits for the interval to be found. */
export interface PendingPoint {
  readonly timeMs: number;
  readonly values: readonly number[];
}

/** What fixes a grid for good. */
export interface GridFrame {
  readonly interval: Interval;
  readonly offsetMs: number;
  readonly channels: number;
}

/** The kept past of a series, as those who train models want it. */
export interface SeriesHistory {
  readonly seriesId: string;
  readonly interval: string;
  /** Time of the first slot, which was observed. */
  readonly firstTimeMs: number;
  readonly channels: number;
  /** Slot after slot, channels side by side. Short gaps are filled as in a window; NaN where a gap is too long. */
  readonly values: Float64Array;
  /** One byte per slot: 1 where it was filled rather than observed. Null when nothing was filled. */
  readonly filled: Uint8Array | null;
}

/** A grid in force, and what is derived from it. */
interface Track {
  readonly interval: Interval;
  readonly offsetMs: number;
  readonly grid: Grid;
  readonly run: UnbrokenRun;
  readonly errors: SeasonalErrors;
}

/** Shared by all series that have none of something: a fleet has a hundred thousand of them. */
const none: readonly never[] = [];

export class Series {
  readonly seriesId: string;
  readonly settings: SeriesSettings;
  /** Counts the batches that changed the series; the stored block with the highest one is up to date. */
  revision = 0;
  lastForecastSlot: number | null = null;
  #track: Track | null = null;
  /** Sorted by time; empty once there is a grid. */
  #pending: readonly PendingPoint[] = none;
  /** A block written since `takeChangedBlocks`, and any others: nearly always just the newest. */
  #changedBlock: number | null = null;
  #otherChangedBlocks: number[] | null = null;

  constructor(seriesId: string, settings: SeriesSettings) {
    this.seriesId = seriesId;
    this.settings = settings;
  }

  get interval(): Interval | null {
    return this.#track?.interval ?? null;
  }

  get offsetMs(): number {
    return this.#track?.offsetMs ?? 0;
  }

  get grid(): Grid | null {
    return this.#track?.grid ?? null;
  }

  get pending(): readonly PendingPoint[] {
    return this.#pending;
  }

  /** True when `takeChangedBlocks` has something to give. */
  get isChanged(): boolean {
    return this.#changedBlock !== null;
  }

  /** Whatever finds its slot is added to `placements`. */
  push(observation: Observation, placements: Placement[] | null = null): PushOutcome {
    // A grid works in whole milliseconds: finer times of one slot would be ordered by chance.
    const timeMs = Math.floor(observation.timeMs);
    const { values } = observation;
    if (this.#track !== null) return this.#place(this.#track, { timeMs, values }, placements);
    if (this.settings.interval === "auto") return this.#await({ timeMs, values }, placements);
    if (values.length === 0) return "wrong-channels";
    const interval = parseInterval(this.settings.interval);
    const frame = { interval, offsetMs: this.settings.offsetMs, channels: values.length };
    return this.#place(this.#start(frame), { timeMs, values }, placements);
  }

  /** True when the newest slot is to be forecast: `every` steps after the last one, never on a lone point. */
  isDue(): boolean {
    if (this.#track === null || this.#track.run.steps() < 2) return false;
    const { newestSlot } = this.#track.grid;
    return this.lastForecastSlot === null || newestSlot - this.lastForecastSlot >= this.settings.every;
  }

  markForecast(): void {
    if (this.#track === null) return;
    this.lastForecastSlot = this.#track.grid.newestSlot;
    this.markChanged(blockOf(this.lastForecastSlot));
  }

  /**
   * The window at the newest slot. `levels` are those of the error quantiles; `modelSteps` is how far the series'
   * model looks back, 0 without one; `placedBefore` counts the placements of the batch so far.
   */
  takeWindow(levels: readonly number[], skippedOrigins = 0, modelSteps = 0, placedBefore = 0): Window {
    const track = this.#track;
    if (track === null) {
      throw new Error(`series "${this.seriesId}" has no grid yet: take windows after a push advanced it`);
    }
    const { grid, interval, offsetMs } = track;
    const { settings } = this;
    const { horizon, season } = settings;
    const origin = grid.newestSlot;
    const freshSteps = track.run.steps();
    const steps = Math.min(freshSteps, Math.max(2 * horizon, season, modelSteps));
    const values = cutValues(steps * grid.channels);
    const gaps = grid.copy(origin - steps + 1, steps, values);
    let filledShare = 0;
    if (gaps > 0) {
      filledShare = shareOfGaps(values, grid.channels, Math.min(steps, modelSteps || 2 * horizon));
      fillGaps(values, grid, origin - steps + 1, settings);
    }
    return {
      seriesId: this.seriesId,
      settings,
      interval: interval.iso,
      originMs: interval.timeOf(origin, offsetMs),
      originSlot: origin,
      placedBefore,
      stepTimesMs: timesAhead(track, horizon),
      channels: grid.channels,
      values,
      freshSteps,
      filledShare,
      skippedOrigins,
      seasonalErrors: freshSteps >= 2 * season ? track.errors.summarize(levels) : null,
    };
  }

  /** All that is kept, from the oldest observation on; null without a grid. */
  history(): SeriesHistory | null {
    if (this.#track === null) return null;
    const { grid, interval, offsetMs } = this.#track;
    const { gapPolicy, gapMax, season } = this.settings;
    const { channels } = grid;
    const first = grid.firstObservedSlot();
    const steps = grid.newestSlot - first + 1;
    const values = new Float64Array(steps * channels);
    const longest = gapPolicy === "none" ? 0 : gapMax;
    const gaps = grid.copy(first, steps, values);
    return {
      ...{ seriesId: this.seriesId, interval: interval.iso, channels, values },
      firstTimeMs: interval.timeOf(first, offsetMs),
      filled: gaps === 0 ? null : fillShortGaps(values, grid, first, { gapPolicy, season, longest }),
    };
  }

  /** The kept blocks written since the last call, oldest first. Without a grid, block 0 is the pending points. */
  takeChangedBlocks(): readonly number[] {
    if (this.#changedBlock === null) return none;
    const oldest = this.#track === null ? 0 : blockOf(this.#track.grid.oldestSlot);
    const changed = [this.#changedBlock, ...(this.#otherChangedBlocks ?? none)];
    this.#forgetChanges();
    return changed.filter((block) => block >= oldest).sort((a, b) => a - b);
  }

  markChanged(block: number): void {
    if (this.#changedBlock === null) this.#changedBlock = block;
    else if (block !== this.#changedBlock && !this.#otherChangedBlocks?.includes(block)) {
      this.#otherChangedBlocks ??= [];
      this.#otherChangedBlocks.push(block);
    }
  }

  /** Puts a series back on its grid, which `load` fills from what was stored. */
  resume(frame: GridFrame, load: (grid: Grid) => void): void {
    const track = this.#start(frame);
    load(track.grid);
    track.run.rebuild();
  }

  #start({ interval, offsetMs, channels }: GridFrame): Track {
    const { history } = this.settings;
    const grid = new Grid({ channels, history, maxJitterMs: interval.maxJitterMs });
    const run = new UnbrokenRun(grid, this.settings);
    this.#track = { interval, offsetMs, grid, run, errors: new SeasonalErrors(grid, this.settings) };
    return this.#track;
  }

  #place(track: Track, { timeMs, values }: PendingPoint, placements: Placement[] | null): PushOutcome {
    const { grid, interval, offsetMs, run, errors } = track;
    if (values.length !== grid.channels) return "wrong-channels";
    const slot = interval.indexOf(timeMs, offsetMs);
    const previousNewest = grid.newestSlot;
    const replaced = slot > previousNewest ? null : grid.valuesAt(slot);
    const outcome = grid.put(slot, timeMs - interval.timeOf(slot, offsetMs), values);
    if (outcome === "too-late") return outcome;
    this.markChanged(blockOf(slot));
    if (outcome === "advanced") {
      run.advance(previousNewest);
    } else {
      if (outcome === "late-amended") run.amend(slot);
      errors.invalidate();
    }
    if (outcome === "outdated") return "duplicate";
    placements?.push({ seriesId: this.seriesId, slot, timeMs, values, replaced });
    return outcome === "replaced" ? "duplicate" : outcome;
  }

  #await(point: PendingPoint, placements: Placement[] | null): PushOutcome {
    const channels = this.#pending[0]?.values.length ?? point.values.length;
    if (channels === 0 || point.values.length !== channels) return "wrong-channels";
    this.markChanged(0);
    const at = this.#pending.findIndex((other) => other.timeMs >= point.timeMs);
    const isKnown = at >= 0 && this.#pending[at].timeMs === point.timeMs;
    this.#pending = this.#pending.toSpliced(at < 0 ? this.#pending.length : at, isKnown ? 1 : 0, point);
    if (isKnown) return "duplicate";
    if (this.#pending.length < POINTS_TO_FIND_INTERVAL) return "interval-pending";
    this.#leavePending(channels, placements);
    return "interval-found";
  }

  #forgetChanges(): void {
    this.#changedBlock = null;
    this.#otherChangedBlocks = null;
  }

  #leavePending(channels: number, placements: Placement[] | null): void {
    const points = this.#pending;
    this.#pending = none;
    this.#forgetChanges();
    const track = this.#start({ ...findInterval(points.map((point) => point.timeMs)), channels });
    for (const point of points) this.#place(track, point, placements);
  }
}

function timesAhead({ grid, interval, offsetMs }: Track, horizon: number): number[] {
  const timesMs = new Array<number>(horizon);
  for (let h = 0; h < horizon; h++) timesMs[h] = interval.timeOf(grid.newestSlot + h + 1, offsetMs);
  return timesMs;
}

function shareOfGaps(values: Float64Array, channels: number, steps: number): number {
  let gaps = 0;
  for (let back = 1; back <= steps; back++) if (Number.isNaN(values[values.length - back * channels])) gaps++;
  return gaps / steps;
}
