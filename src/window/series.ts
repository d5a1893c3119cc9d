// One series: places observations on its grid once its interval is known, and takes the window at its newest slot.
// What it holds beside the grid is derived from it (the unbroken run, the seasonal errors) or stored with it (the
// findings), so that a series restored from its stored blocks continues bit for bit.

import type { History, Observation, Placement, SeriesSettings, Window } from "../domain.ts";
import { type Interval, parseInterval, stepNumberOf } from "../models/interval.ts";
import { naiveSeasonOf } from "../models/season.ts";
import {
  decidingLength,
  type Findings,
  findSeasons,
  noFindings,
  restsAtZero,
  settingsOnGrid,
  sharedFindings,
  withShortestSeason,
} from "./findings.ts";
import { fillGaps, fillShortGaps, UnbrokenRun } from "./gaps.ts";
import { blockOf, Grid, type PutOutcome } from "./grid.ts";
import { findInterval, POINTS_TO_FIND_INTERVAL } from "./interval-finder.ts";
import { SeasonalErrors } from "./seasonal-errors.ts";

/**
 * What became of an observation. "duplicate": its slot was taken, and the later event time stays; "interval-pending":
 * it waits until there are enough points to find the interval; "interval-found": it was the last point needed, and
 * the series has advanced.
 */
export type PushOutcome =
  | Exclude<PutOutcome, "replaced" | "outdated">
  | "duplicate"
  | "wrong-channels"
  | "interval-pending"
  | "interval-found";

/** An observation that waits until the interval is found. */
interface PendingPoint {
  readonly timeMs: number;
  readonly values: readonly number[];
}

/** What defines a grid. Never changes once the series has one. */
interface GridFrame {
  readonly interval: Interval;
  readonly offsetMs: number;
  readonly channels: number;
}

/** A grid, and what is derived from it. */
interface Track {
  readonly interval: Interval;
  readonly offsetMs: number;
  readonly grid: Grid;
  readonly run: UnbrokenRun;
  readonly errors: SeasonalErrors;
}

/** Shared by all series: a fleet has a hundred thousand of them. */
const none: readonly never[] = [];

/** Whether seasons are due to be decided is looked at once in as many slots: the answer takes a search in the grid. */
const SLOTS_PER_LOOK = 16;

export class Series {
  readonly seriesId: string;
  /** As configured. */
  readonly #given: SeriesSettings;
  #settings: SeriesSettings;
  #findings = noFindings;
  /** Number of batches that changed the series; the stored block with the highest revision is up to date. */
  revision = 0;
  lastForecastSlot: number | null = null;
  /** Wall-clock time at which the state of the series was last stored. */
  seenMs = 0;
  /** The places of its ring that have a record on the state topic, deleted when the series ends. */
  readonly storedBlocks = new BlockSet();
  #track: Track | null = null;
  /** Sorted by time; empty once there is a grid. */
  #pending: readonly PendingPoint[] = none;
  /** Blocks changed since the last `takeChangedBlocks`: nearly always one, the newest. */
  #changedBlock: number | null = null;
  #otherChangedBlocks: number[] | null = null;

  constructor(seriesId: string, settings: SeriesSettings) {
    this.seriesId = seriesId;
    this.#given = settings;
    this.#settings = settings;
  }

  /** The configuration and what was found out since. */
  get settings(): SeriesSettings {
    return this.#settings;
  }

  get findings(): Findings {
    return this.#findings;
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

  /** True when `takeChangedBlocks` would return a block. */
  get isChanged(): boolean {
    return this.#changedBlock !== null;
  }

  /** Appends to `placements` every observation that gets its slot. */
  push(observation: Observation, placements: Placement[] | null = null): PushOutcome {
    // A grid works in whole milliseconds; finer times within a slot would be ordered by chance.
    const timeMs = Math.floor(observation.timeMs);
    const { values } = observation;
    if (this.#track !== null) return this.#place(this.#track, { timeMs, values }, placements);
    if (this.#settings.interval === "auto") return this.#addPending({ timeMs, values }, placements);
    if (values.length === 0) return "wrong-channels";
    const interval = parseInterval(this.#settings.interval);
    const frame = { interval, offsetMs: this.#settings.offsetMs, channels: values.length };
    return this.#place(this.#start(frame), { timeMs, values }, placements);
  }

  /** True when the newest slot needs a forecast: `every` steps after the last one, and never for a single point. */
  isDue(): boolean {
    if (this.#track === null || this.#track.run.steps() < 2) return false;
    const { newestSlot } = this.#track.grid;
    return this.lastForecastSlot === null || newestSlot - this.lastForecastSlot >= this.#settings.every;
  }

  markForecast(): void {
    if (this.#track === null) return;
    this.lastForecastSlot = this.#track.grid.newestSlot;
    this.markChanged(blockOf(this.lastForecastSlot));
  }

  /**
   * The window at the newest slot. `levels` are those of the error quantiles; `modelSteps` is the number of steps
   * that the model of the series needs, 0 without one; `placedBefore` counts the placements of the batch so far.
   */
  takeWindow(levels: readonly number[], skippedOrigins = 0, modelSteps = 0, placedBefore = 0): Window {
    const track = this.#track;
    if (track === null) {
      throw new Error(
        `series "${this.seriesId}" has no grid yet; take a window only after a push has advanced it`,
      );
    }
    const { grid, interval, offsetMs } = track;
    const origin = grid.newestSlot;
    const originMs = interval.timeOf(origin, offsetMs);
    const freshSteps = track.run.steps();
    const isLong = freshSteps >= 2 * naiveSeasonOf(this.#settings);
    const settings = isLong ? this.#settings : withShortestSeason(this.#settings);
    const { horizon } = settings;
    const season = naiveSeasonOf(settings);
    const steps = Math.min(freshSteps, Math.max(2 * horizon, season, modelSteps));
    const values = cutValues(steps * grid.channels);
    const gaps = grid.copy(origin - steps + 1, steps, values);
    let filledShare = 0;
    if (gaps > 0) {
      filledShare = shareOfGaps(values, grid.channels, Math.min(steps, modelSteps || 2 * horizon));
      fillGaps(values, grid, origin - steps + 1, { gapPolicy: settings.gapPolicy, season });
    }
    return {
      seriesId: this.seriesId,
      settings,
      interval: interval.iso,
      originMs,
      originSlot: origin,
      originStep: stepNumberOf(interval, originMs),
      placedBefore,
      stepTimesMs: timesAhead(track, horizon),
      channels: grid.channels,
      values,
      freshSteps,
      filledShare,
      skippedOrigins,
      seasonalErrors: freshSteps >= 2 * season ? track.errors.summarize(season, levels) : null,
    };
  }

  /** Everything stored, from the oldest observation on; null without a grid. */
  history(): History | null {
    if (this.#track === null) return null;
    const { grid, interval, offsetMs } = this.#track;
    const { gapPolicy, gapMax } = this.#settings;
    const season = naiveSeasonOf(this.#settings);
    const { channels } = grid;
    const first = grid.firstObservedSlot();
    const steps = grid.newestSlot - first + 1;
    const values = new Float64Array(steps * channels);
    const longest = gapPolicy === "none" ? 0 : gapMax;
    const gaps = grid.copy(first, steps, values);
    return {
      seriesId: this.seriesId,
      interval: interval.iso,
      firstTimeMs: interval.timeOf(first, offsetMs),
      channels,
      values,
      filled: gaps === 0 ? null : fillShortGaps(values, grid, first, { gapPolicy, season, longest }),
    };
  }

  /** The stored blocks changed since the last call, oldest first. Without a grid, block 0 holds the pending points. */
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

  /** Decides anew which seasons the series has, if that was decided before. True when that changes its settings. */
  reconsiderSeasons(): boolean {
    const before = this.#settings;
    const { decidedAt } = this.#findings;
    if (this.#track !== null && decidedAt > 0) this.#decideSeasons(this.#track, decidedAt);
    return this.#settings !== before;
  }

  /** Restores the grid of a series; `load` fills it from the stored blocks. */
  resume(frame: GridFrame, findings: Findings, load: (grid: Grid) => void): void {
    this.#findings = sharedFindings(findings);
    const track = this.#start(frame);
    load(track.grid);
    track.run.rebuild();
  }

  #start({ interval, offsetMs, channels }: GridFrame): Track {
    this.#settings = settingsOnGrid(this.#given, interval, this.#findings);
    const { history } = this.#settings;
    const grid = new Grid({ channels, history });
    const run = new UnbrokenRun(grid, this.#settings);
    this.#track = { interval, offsetMs, grid, run, errors: new SeasonalErrors(grid, history) };
    return this.#track;
  }

  /** Looks for findings after an observation was placed. */
  #learn(track: Track, previousNewest: number, values: readonly number[]): void {
    const { grid, interval } = track;
    const { derived } = this.#given;
    const look = (slot: number) => Math.floor(slot / SLOTS_PER_LOOK);
    if (derived?.season && look(grid.newestSlot) !== look(previousNewest)) {
      const length = decidingLength(interval, grid.newestSlot - grid.firstObservedSlot() + 1);
      if (length > this.#findings.decidedAt) this.#decideSeasons(track, length);
    }
    if (derived?.min) this.#learnBound(track, values);
  }

  #decideSeasons(track: Track, decidedAt: number): void {
    const { horizon } = this.#given;
    const found = findSeasons({ ...track, freshSteps: track.run.steps(), horizon });
    this.#note(track, { ...this.#findings, ...found, decidedAt });
  }

  /** One value below zero is proof. A value of zero is what makes a bound likely. */
  #learnBound(track: Track, values: readonly number[]): void {
    const { isNonNegative } = this.#findings;
    let hasZero = false;
    for (let c = 0; c < values.length; c++) {
      hasZero ||= values[c] === 0;
      if (values[c] >= 0) continue;
      if (isNonNegative) this.#note(track, { ...this.#findings, isNonNegative: false });
      return;
    }
    if (hasZero && !isNonNegative && restsAtZero(track.grid))
      this.#note(track, { ...this.#findings, isNonNegative: true });
  }

  /** Stored with the next block of the series, which every push and every forecast writes. */
  #note({ interval }: Track, findings: Findings): void {
    this.#findings = sharedFindings(findings);
    this.#settings = settingsOnGrid(this.#given, interval, this.#findings);
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
    if (this.#given.derived !== undefined) this.#learn(track, previousNewest, values);
    placements?.push({ seriesId: this.seriesId, slot, timeMs, values, replaced });
    return outcome === "replaced" ? "duplicate" : outcome;
  }

  #addPending(point: PendingPoint, placements: Placement[] | null): PushOutcome {
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

/** Of an interval of fixed length, which two of its times determine. */
let lastTimesMs: readonly number[] = [];

/** The series of a fleet report at the same times, one after the other: their windows share an array. */
function timesAhead({ grid, interval, offsetMs }: Track, horizon: number): readonly number[] {
  const timeOf = (h: number) => interval.timeOf(grid.newestSlot + h, offsetMs);
  const isFixed = interval.stepMs > 0;
  const isSame = lastTimesMs[0] === timeOf(1) && lastTimesMs[horizon - 1] === timeOf(horizon);
  if (isFixed && isSame && lastTimesMs.length === horizon) return lastTimesMs;
  const timesMs = Array.from({ length: horizon }, (_, h) => timeOf(h + 1));
  if (isFixed) lastTimesMs = timesMs;
  return timesMs;
}

function shareOfGaps(values: Float64Array, channels: number, steps: number): number {
  let gaps = 0;
  for (let back = 1; back <= steps; back++) if (Number.isNaN(values[values.length - back * channels])) gaps++;
  return gaps / steps;
}

/** Some hundred windows. A window keeps its slab alive, so this is also the most memory that one can hold. */
const SLAB_VALUES = 8192;

let slab = new Float64Array(SLAB_VALUES);
let used = 0;

/** Zeroed memory for the values of one window. A buffer per window would keep the garbage collector busy. */
function cutValues(length: number): Float64Array {
  if (length > slab.length - used) {
    slab = new Float64Array(Math.max(SLAB_VALUES, length));
    used = 0;
  }
  const values = new Float64Array(slab.buffer, used * Float64Array.BYTES_PER_ELEMENT, length);
  used += length;
  return values;
}

const BITS = 31;

/** Places in a ring of blocks. Nearly every ring is short enough for the bits of one number. */
export class BlockSet {
  #bits = 0;
  /** Places from BITS on. */
  #beyond: Set<number> | null = null;

  add(place: number): void {
    if (place < BITS) {
      this.#bits |= 1 << place;
      return;
    }
    this.#beyond ??= new Set();
    this.#beyond.add(place);
  }

  /** In no particular order. */
  *[Symbol.iterator](): Generator<number> {
    for (let place = 0; place < BITS; place++) if ((this.#bits & (1 << place)) !== 0) yield place;
    if (this.#beyond !== null) yield* this.#beyond;
  }
}
