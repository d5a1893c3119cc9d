// Adaptive conformal calibration of one series: moves each quantile of a forecast, per step ahead, so that in the long
// run observations fall below it as often as its level says. Assumes no distribution and stores no sample. Everything
// it learns is in `state`, in single precision, so that a restored calibrator continues bit for bit.
//
// Legend: p a level, o = channel·τ + h an output, y the observation, q the quantiles that were stated for it.
//   δ[p][o]  what is added to the raw quantile
//   peak[o]  the largest recent error outside all levels, from the stated centre, signed; fades by ρ with each update
//   u        the typical |y − centre| of the channel: the unit of all steps
//   update   g_p = p − [y < q_p], 0 on a tie;  δ_p += u·r_h·(w_p·g_p + s_p·Σ z·g)
// docs/calibration.md gives the reasons and the results.
//
// What follows from the list of levels alone (w, s, z and the value in brackets) is computed once per list: a fleet has a
// hundred thousand calibrators and one list. While the quantiles stated for an observation are in order, the value in
// brackets depends only on how many of them are below it and how many equal it; each case is computed when it first occurs.

import { normalQuantile } from "../models/normal.ts";
import type { MaturedSlot } from "./pending-forecasts.ts";

export interface CalibratorShape {
  /** Ascending, between 0 and 1. */
  readonly levels: ArrayLike<number>;
  readonly channels: number;
  /** τ */
  readonly horizon: number;
  /** One per channel: the one-step naive error, positive. The first estimate of u. */
  readonly scale: ArrayLike<number>;
}

/** ρ */
const fading = 0.97;
/** Least distance of the outermost quantile on the side of the peak from the centre, in peaks. */
const peaksCovered = 1.25;
/** Per step. The faster one is for errors beyond `surprise` typical errors: u follows a shift, but not a single day. */
const usualPace = 0.005;
const surprisedPace = 0.05;
const surprise = 4;
/** At first u is the mean of the errors so far and the first estimate, which weighs as much as this many steps. */
const guessWeight = 5;
/** Share of the scale below which u is not used: a series that was flat for long must learn when it moves again. */
const leastUnit = 0.01;
/** r_h = (2(h + 1)/τ)^−½, at most this. Near steps learn faster, because their observations come sooner. */
const nearest = 3.5;
const largest = 3.4e38;

const reachByHorizon = new Map<number, Float64Array>();

/** Memory of one correction, shared by all calibrators; as large as the largest of them needs. */
interface CorrectionScratch {
  /** [level][output] */
  readonly sums: Float64Array;
  /** One per output. */
  readonly centres: Float64Array;
  /** One per output, 0 or 1: the median is the centre, and the moved levels are still in order. */
  readonly isAscending: Uint8Array;
}

let scratch = scratchOf(0);

export class Calibrator {
  /** [level][output] δ, with the peaks in the row of the median or in an extra row; then u of each channel. */
  readonly state: Float32Array;
  #learntSteps = 0;
  readonly #levels: CalibratedLevels;
  readonly #moves: LevelMoves;
  readonly #channels: number;
  readonly #horizon: number;
  readonly #scale: ArrayLike<number>;
  readonly #outputs: number;
  readonly #peaksAt: number;
  readonly #unitsAt: number;
  /** r */
  readonly #reach: Float64Array;

  constructor({ levels, channels, horizon, scale }: CalibratorShape) {
    this.#moves = levelMovesOf(levels);
    this.#levels = this.#moves.levels;
    this.#channels = channels;
    this.#horizon = horizon;
    this.#scale = scale;
    this.#outputs = channels * horizon;
    const { median } = this.#levels;
    this.#peaksAt = (median < 0 ? levels.length : median) * this.#outputs;
    this.#unitsAt = (median < 0 ? levels.length + 1 : levels.length) * this.#outputs;
    this.#reach = reachOf(horizon);
    this.state = new Float32Array(this.#unitsAt + channels);
    for (let c = 0; c < channels; c++) this.state[this.#unitsAt + c] = bounded(scale[c]);
  }

  /** Updates so far, over all outputs. Not in `state`, whose single precision is too small for a count. */
  get learntSteps(): number {
    return this.#learntSteps;
  }

  /** Continues from a stored state and its number of updates. */
  load(state: Float32Array, learntSteps: number): void {
    if (state.length !== this.state.length) {
      throw new RangeError(
        `a calibrator of this shape has ${this.state.length} numbers, not ${state.length}`,
      );
    }
    this.state.set(state);
    this.#learntSteps = learntSteps;
  }

  /** Writes the corrected quantiles to `target`, level after level. `raw` is [level][output]. */
  correct(raw: readonly ArrayLike<number>[], target: Float32Array): void {
    const { median, hasCentre } = this.#levels;
    const outputs = this.#outputs;
    const work = reserve(raw.length * outputs);
    const { sums, centres, isAscending } = work;
    this.#addMoves(raw, work);
    for (let o = 0; o < outputs; o++) {
      if (isAscending[o] === 1) centres[o] = sums[median * outputs + o];
      else this.#order(raw, work, o);
      if (hasCentre) this.#coverPeak(work, o);
    }
    for (let i = 0; i < target.length; i++) target[i] = clamped(sums[i]);
  }

  /** Learns from one observed slot: one update per channel and forecast that covers it. */
  learnSlot(matured: MaturedSlot): void {
    for (let c = 0; c < this.#channels; c++) this.#learnChannel(matured, c);
    this.#learntSteps += matured.count * this.#channels;
  }

  #learnChannel({ count, quantiles, steps, starts, actuals }: MaturedSlot, channel: number): void {
    const { state } = this;
    const { median, levels } = this.#levels;
    const { moves, neighbours } = this.#moves;
    const outputs = this.#outputs;
    const size = levels.length;
    if (!Number.isFinite(actuals[channel])) throw new RangeError(`cannot learn from ${actuals[channel]}`);
    const y = bounded(actuals[channel]);
    for (let i = 0; i < count; i++) {
      const at = starts[i] + channel * size;
      const output = channel * this.#horizon + steps[i];
      const error = y - this.#centreOf(quantiles, at);
      // The loop goes channel by channel, but updates are counted forecast by forecast.
      const updates = this.#learntSteps + i * this.#channels + channel + 1;
      const step = this.#followError(channel, Math.abs(error), updates) * this.#reach[steps[i]];
      const start = this.#moves.startOf(y, quantiles, at);
      for (let l = 0, o = output; l < size; l++, o += outputs) {
        const neighbour = neighbours[start + l];
        if (l === median || (neighbour >= 0 && quantiles[at + neighbour] === quantiles[at + l])) continue;
        state[o] = clamped(state[o] + step * moves[start + l]);
      }
      const peakAt = this.#peaksAt + output;
      const peak = state[peakAt];
      const isOutside = y < quantiles[at] || y > quantiles[at + size - 1];
      state[peakAt] = isOutside && Math.abs(error) > Math.abs(peak) ? clamped(error) : peak * fading;
    }
  }

  /** Adds δ to the raw quantiles, level after level, the order in which memory holds both. */
  #addMoves(raw: readonly ArrayLike<number>[], { sums, isAscending }: CorrectionScratch): void {
    const { state } = this;
    const { median } = this.#levels;
    const outputs = this.#outputs;
    // Without a median the centre is not one of the quantiles, so order alone does not give it.
    isAscending.fill(median < 0 ? 0 : 1, 0, outputs);
    for (let l = 0, i = 0; l < raw.length; l++) {
      const quantiles = raw[l];
      for (let o = 0; o < outputs; o++, i++) {
        sums[i] = l === median ? quantiles[o] : quantiles[o] + state[i];
        if (l > 0 && !(sums[i] >= sums[i - outputs])) isAscending[o] = 0;
      }
    }
  }

  /**
   * Puts the quantiles of an output in order and finds their centre. An outer level pushes the inner levels of its side
   * along. The median stays as forecast unless a level of one side has passed it.
   */
  #order(raw: readonly ArrayLike<number>[], { sums, centres }: CorrectionScratch, o: number): void {
    const { below, above, median, hasCentre, levels } = this.#levels;
    const n = this.#outputs;
    const end = levels.length * n + o;
    const firstAbove = above * n + o;
    for (let i = n + o; i < below * n; i += n) sums[i] = Math.max(sums[i], sums[i - n]);
    for (let i = end - 2 * n; i >= firstAbove; i -= n) sums[i] = Math.min(sums[i], sums[i + n]);
    if (!hasCentre) return;
    const low = below > 0 ? sums[(below - 1) * n + o] : Number.NEGATIVE_INFINITY;
    const high = firstAbove < end ? sums[firstAbove] : Number.POSITIVE_INFINITY;
    const forecast = median < 0 ? (raw[below - 1][o] + raw[above][o]) / 2 : raw[median][o];
    const centre = Math.max(Math.min(low, high), Math.min(forecast, Math.max(low, high)));
    for (let i = o; i < below * n; i += n) sums[i] = Math.min(sums[i], centre);
    for (let i = firstAbove; i < end; i += n) sums[i] = Math.max(sums[i], centre);
    if (median >= 0) sums[median * n + o] = centre;
    centres[o] = centre;
  }

  /** Stretches the side of the peak until the outermost level covers it. */
  #coverPeak({ sums, centres }: CorrectionScratch, o: number): void {
    const { levels, below, above } = this.#levels;
    const n = this.#outputs;
    const peak = this.state[this.#peaksAt + o];
    const isAbove = peak > 0;
    const outer = isAbove ? levels.length - 1 : 0;
    const centre = centres[o];
    const width = sums[outer * n + o] - centre;
    const wanted = peaksCovered * peak;
    if (Math.abs(wanted) <= Math.abs(width)) return;
    const to = isAbove ? levels.length : below;
    for (let l = isAbove ? above : 0, i = l * n + o; l < to; l++, i += n) {
      // Quantiles without width are spread in proportion to their levels.
      const share = width === 0 ? (levels[l] - 0.5) / (levels[outer] - 0.5) : (sums[i] - centre) / width;
      sums[i] = centre + share * wanted;
    }
  }

  #centreOf(stated: Float32Array, at: number): number {
    const { below, above, median, hasCentre } = this.#levels;
    if (median >= 0) return stated[at + median];
    if (hasCentre) return (stated[at + below - 1] + stated[at + above]) / 2;
    return stated[at + (below > 0 ? below - 1 : 0)];
  }

  /** Moves u of a channel towards an error and returns it. `updates` includes the current one. */
  #followError(channel: number, error: number, updates: number): number {
    const { state } = this;
    const at = this.#unitsAt + channel;
    const unit = state[at];
    const pace = error > surprise * unit ? surprisedPace : usualPace;
    const early = 1 / (updates / this.#outputs + guessWeight);
    state[at] = clamped(unit + ((error - unit) * Math.max(pace, early)) / this.#horizon);
    return Math.max(state[at], leastUnit * this.#scale[channel]);
  }
}

function scratchOf(length: number): CorrectionScratch {
  const sums = new Float64Array(length);
  return { sums, centres: new Float64Array(length), isAscending: new Uint8Array(length) };
}

function reserve(length: number): CorrectionScratch {
  if (scratch.sums.length < length) scratch = scratchOf(length);
  return scratch;
}

function reachOf(horizon: number): Float64Array {
  let reach = reachByHorizon.get(horizon);
  if (reach === undefined) {
    reach = Float64Array.from({ length: horizon }, (_, h) =>
      Math.min(nearest, Math.sqrt(horizon / (2 * (h + 1)))),
    );
    reachByHorizon.set(horizon, reach);
  }
  return reach;
}

/** In single precision, never infinite. */
function bounded(value: number): number {
  return Math.fround(clamped(value));
}

/** As `bounded`, for values that are stored in single precision anyway. */
function clamped(value: number): number {
  if (Math.abs(value) <= largest) return value;
  return value > 0 ? largest : value < 0 ? -largest : value;
}

/** η: the learning rate of the outermost levels, in typical errors per step. */
const fastest = 0.18;
/** κ: how fast the whole distribution is widened or narrowed, in the same unit. */
const scaleRate = 0.05;

interface CalibratedLevels {
  readonly levels: Float64Array;
  /** Levels 0 … below − 1 are below the median, those from `above` on are above it. */
  readonly below: number;
  readonly above: number;
  /** The index of level .5, or −1. */
  readonly median: number;
  /** True when there is a centre to measure from: the median, or levels on both sides of it. */
  readonly hasCentre: boolean;
  /** w = η·(2p − 1)²: the outer levels determine coverage and learn fastest; the median does not learn. */
  readonly rates: Float64Array;
  /** z = Φ⁻¹(p) */
  readonly normal: Float64Array;
  /** s = κ·z/‖z‖ */
  readonly scaleSteps: Float64Array;
}

export function calibratedLevels(given: ArrayLike<number>): CalibratedLevels {
  const levels = Float64Array.from(given);
  const isUsable = levels.every((level, l) => level > (l === 0 ? 0 : levels[l - 1]) && level < 1);
  if (levels.length === 0 || !isUsable) {
    throw new RangeError(`levels must ascend between 0 and 1, but are ${levels.join(", ")}`);
  }
  const median = levels.indexOf(0.5);
  const below = levels.filter((level) => level < 0.5).length;
  const above = median < 0 ? below : below + 1;
  const normal = levels.map((level) => (level === 0.5 ? 0 : normalQuantile(level)));
  const length = Math.sqrt(normal.reduce((sum, z) => sum + z * z, 0)) || 1;
  return {
    levels,
    below,
    above,
    median,
    hasCentre: median >= 0 || (below > 0 && above < levels.length),
    rates: levels.map((level) => fastest * (2 * level - 1) ** 2),
    normal,
    scaleSteps: normal.map((z) => (scaleRate * z) / length),
  };
}

const movesByLevels = new Map<string, LevelMoves>();

/** The same object for all calibrators of the same levels. */
function levelMovesOf(levels: ArrayLike<number>): LevelMoves {
  const key = Array.prototype.join.call(levels);
  const moves = movesByLevels.get(key) ?? new LevelMoves(calibratedLevels(levels));
  movesByLevels.set(key, moves);
  return moves;
}

class LevelMoves {
  readonly levels: CalibratedLevels;
  /** [case][level] */
  readonly moves: Float64Array;
  /**
   * [case][level]: the inner neighbour of a level that moves inwards, −1 for none. A level that equals this neighbour
   * must not move: it would press the levels of its side together, without end while a peak is covered. The median is
   * nobody's neighbour, since it is pushed along.
   */
  readonly neighbours: Int32Array;
  readonly #isKnown: Uint8Array;
  /** g */
  readonly #gradients: Float64Array;

  constructor(levels: CalibratedLevels) {
    const { length } = levels.levels;
    const cases = (length + 1) ** 2 + 1;
    this.levels = levels;
    this.#gradients = new Float64Array(length);
    this.moves = new Float64Array(cases * length);
    this.neighbours = new Int32Array(cases * length);
    this.#isKnown = new Uint8Array(cases);
  }

  /** Index in `moves` and `neighbours` for this observation, valid until the next call. Its quantiles start at `at`. */
  startOf(y: number, stated: Float32Array, at: number): number {
    const { length } = this.#gradients;
    let below = 0;
    let notAbove = 0;
    let last = Number.NEGATIVE_INFINITY;
    for (let l = 0; l < length; l++) {
      const quantile = stated[at + l];
      if (quantile < y) below++;
      if (quantile <= y) notAbove++;
      if (!(quantile >= last)) return this.#compute((length + 1) ** 2, y, stated, at);
      last = quantile;
    }
    const number = below * (length + 1) + notAbove;
    return this.#isKnown[number] === 1 ? number * length : this.#compute(number, y, stated, at);
  }

  #compute(number: number, y: number, stated: Float32Array, at: number): number {
    const { levels, rates, normal, scaleSteps } = this.levels;
    const g = this.#gradients;
    const start = number * g.length;
    let tooNarrow = 0;
    for (let l = 0; l < g.length; l++) {
      g[l] = gradientOf(levels[l], y, stated[at + l]);
      tooNarrow += normal[l] * g[l];
    }
    for (let l = 0; l < g.length; l++) {
      const move = rates[l] * g[l] + scaleSteps[l] * tooNarrow;
      this.moves[start + l] = move;
      this.neighbours[start + l] = this.#innerNeighbour(l, move);
    }
    this.#isKnown[number] = 1;
    return start;
  }

  #innerNeighbour(l: number, move: number): number {
    const { above, median, levels } = this.levels;
    if (l < above !== move > 0) return -1;
    const inwards = move > 0 ? 1 : -1;
    const inner = l + inwards === median ? l + 2 * inwards : l + inwards;
    return inner >= 0 && inner < levels.length ? inner : -1;
  }
}

/** g, the negative gradient of the pinball loss. A tie, as on a flat series, means that the quantile is right. */
function gradientOf(level: number, y: number, quantile: number): number {
  if (y === quantile) return 0;
  return y < quantile ? level - 1 : level;
}
