// Adaptive conformal calibration of one series: moves each quantile of a forecast, per step ahead, so that in the long
// run observations fall below it as often as its level says. Assumes no distribution and stores no sample. Everything
// it learns is in `state`, in single precision, so that a restored calibrator continues bit for bit.
//
// Legend: p a level, j an interval (two levels at the same distance from the median), o = channel·τ + h an output, y the
// observation, q the quantiles that were stated for it.
//   δ[p][o]  what is added to the raw quantile
//   w[j][c]  what is added outwards to both levels of the interval, at every step ahead of the channel
//   peak[o]  the largest recent error outside all levels, from the stated centre, signed; fades by ρ with each update
//   u[c]     the typical |y − centre| of the channel: the unit of all steps
//   e[c]     how one-sided the recent errors of the channel are: the mean of the sign of y − centre
//   update   δ_p += u·r_h·(move_p + a·pull);  w_j += u·widen_j/τ;  a = max(0, |e| − 0.6)/0.4;  for the rest see level-moves.ts
// docs/calibration.md gives the reasons and the results.

import { type CalibratedLevels, type LevelMoves, levelMovesOf } from "./level-moves.ts";
import type { MaturedSlot } from "./matured-slot.ts";

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
const fading = 0.8;
/** Least distance of the outermost quantile on the side of the peak from the centre, in peaks. */
const peaksCovered = 1.25;
/** Per step. The faster one is for errors beyond `surprise` typical errors: u follows a shift, but not a single day. */
const usualPace = 0.005;
const surprisedPace = 0.05;
const surprise = 5;
/** At first u is the mean of the errors so far and the first estimate, which weighs as much as this many steps. */
const guessWeight = 5;
/** Share of the scale below which u is not used: a series that was flat for long must learn when it moves again. */
const leastUnit = 0.01;
/** Steps that e remembers: this many horizons, but not fewer than the least. */
const rememberedHorizons = 4;
const leastRemembered = 20;
/** |e| up to which errors count as two-sided. */
const oneSided = 0.6;
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
  /**
   * [level][output] δ, with the peaks in the row of the median or in an extra row; u of each channel; e of each channel;
   * [interval][channel] w.
   */
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
  readonly #signsAt: number;
  readonly #widthsAt: number;
  /** r */
  readonly #reach: Float64Array;
  /** Updates that e remembers. */
  readonly #remembered: number;

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
    this.#remembered = Math.max(leastRemembered, rememberedHorizons * horizon) * horizon;
    this.#signsAt = this.#unitsAt + channels;
    this.#widthsAt = this.#signsAt + channels;
    this.state = new Float32Array(this.#widthsAt + this.#levels.lower.length * channels);
    for (let c = 0; c < channels; c++) this.state[this.#unitsAt + c] = clamped(scale[c]);
  }

  /** Updates so far, over all outputs. Not in `state`, whose single precision is too small for a count. */
  get learntSteps(): number {
    return this.#learntSteps;
  }

  /** Whether a stored state of this length can be loaded: one of this version, or one of an earlier version, without e and w. */
  canLoad(length: number): boolean {
    return length === this.state.length || length === this.#signsAt;
  }

  /** Continues from a stored state and its number of updates. */
  load(state: Float32Array, learntSteps: number): void {
    if (!this.canLoad(state.length)) {
      throw new RangeError(
        `a calibrator of this shape has ${this.state.length} numbers, not ${state.length}`,
      );
    }
    this.state.fill(0, state.length);
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

  #learnChannel({ count, quantiles, steps, actuals }: MaturedSlot, channel: number): void {
    const { state } = this;
    const { median, levels, below } = this.#levels;
    const { moves, widenings, pulls } = this.#moves;
    const intervals = this.#levels.lower.length;
    const outputs = this.#outputs;
    const size = levels.length;
    for (let i = 0; i < count; i++) {
      const place = i * this.#channels + channel;
      const at = place * size;
      const y = actuals[place];
      if (!Number.isFinite(y)) throw new RangeError(`cannot learn from ${y}`);
      const output = channel * this.#horizon + steps[i];
      const error = y - this.#centreOf(quantiles, at);
      // The loop goes channel by channel, but updates are counted forecast by forecast.
      const updates = this.#learntSteps + i * this.#channels + channel + 1;
      const unit = this.#followError(channel, Math.abs(error), updates);
      const step = unit * this.#reach[steps[i]];
      const found = this.#moves.caseOf(y, quantiles, at);
      const { isTied } = this.#moves;
      const pull = this.#followSign(channel, error) * pulls[found];
      for (let l = 0, o = output, m = found * size; l < size; l++, o += outputs, m++) {
        const move = moves[m] + pull;
        if (l === median || (isTied && l < below === move > 0 && this.#isPressed(l, quantiles, at))) continue;
        state[o] = clamped(state[o] + step * move);
      }
      const share = unit / this.#horizon;
      for (let j = 0, w = this.#widthsAt + channel; j < intervals; j++, w += this.#channels) {
        const widening = widenings[found * intervals + j];
        if (isTied && widening < 0 && this.#isIntervalPressed(j, quantiles, at)) continue;
        state[w] = clamped(state[w] + share * widening);
      }
      const peakAt = this.#peaksAt + output;
      const peak = state[peakAt];
      const isOutside = y < quantiles[at] || y > quantiles[at + size - 1];
      state[peakAt] = isOutside && Math.abs(error) > Math.abs(peak) ? clamped(error) : peak * fading;
    }
  }

  /**
   * True for a level that equals its inner neighbour. It must not move inwards: it would press the levels of its side
   * together, without end while a peak is covered.
   */
  #isPressed(l: number, stated: Float64Array, at: number): boolean {
    const inner = this.#levels.inner[l];
    return inner >= 0 && stated[at + inner] === stated[at + l];
  }

  #isIntervalPressed(j: number, stated: Float64Array, at: number): boolean {
    const { lower, upper } = this.#levels;
    const isLowerPressed = lower[j] >= 0 && this.#isPressed(lower[j], stated, at);
    return isLowerPressed || (upper[j] >= 0 && this.#isPressed(upper[j], stated, at));
  }

  /** Adds δ and w to the raw quantiles, level after level, the order in which memory holds them. */
  #addMoves(raw: readonly ArrayLike<number>[], { sums, isAscending }: CorrectionScratch): void {
    const { state } = this;
    const { median } = this.#levels;
    const outputs = this.#outputs;
    // Without a median the centre is not one of the quantiles, so order alone does not give it.
    isAscending.fill(median < 0 ? 0 : 1, 0, outputs);
    for (let l = 0, i = 0; l < raw.length; l++) {
      const quantiles = raw[l];
      for (let c = 0, o = 0; c < this.#channels; c++) {
        const shared = this.#sharedMoveOf(l, c);
        for (let h = 0; h < this.#horizon; h++, o++, i++) {
          sums[i] = l === median ? quantiles[o] : quantiles[o] + (state[i] + shared);
          if (l > 0 && !(sums[i] >= sums[i - outputs])) isAscending[o] = 0;
        }
      }
    }
  }

  #sharedMoveOf(level: number, channel: number): number {
    const { intervalOf, below } = this.#levels;
    const j = intervalOf[level];
    if (j < 0) return 0;
    const width = this.state[this.#widthsAt + j * this.#channels + channel];
    return level < below ? -width : width;
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

  #centreOf(stated: Float64Array, at: number): number {
    const { below, above, median, hasCentre } = this.#levels;
    if (median >= 0) return stated[at + median];
    if (hasCentre) return (stated[at + below - 1] + stated[at + above]) / 2;
    return stated[at + (below > 0 ? below - 1 : 0)];
  }

  /**
   * Moves u of a channel towards an error and returns it. `updates` includes the current one. The mean is one of square
   * roots, so that rare large errors do not set the unit in which an interval of many small ones learns.
   */
  #followError(channel: number, error: number, updates: number): number {
    const { state } = this;
    const at = this.#unitsAt + channel;
    const unit = state[at];
    const pace = error > surprise * unit ? surprisedPace : usualPace;
    const early = 1 / (updates / this.#outputs + guessWeight);
    const root = Math.sqrt(unit);
    const next = root + ((Math.sqrt(error) - root) * Math.max(pace, early)) / this.#horizon;
    state[at] = clamped(next * next);
    return Math.max(state[at], leastUnit * this.#scale[channel]);
  }

  /** Moves e of a channel towards the sign of an error and returns a: 0 while errors are two-sided, 1 when all are on one side. */
  #followSign(channel: number, error: number): number {
    const { state } = this;
    const at = this.#signsAt + channel;
    state[at] += (Math.sign(error) - state[at]) / this.#remembered;
    return Math.max(0, Math.abs(state[at]) - oneSided) / (1 - oneSided);
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

/** Never infinite in single precision, in which it is stored. */
function clamped(value: number): number {
  if (Math.abs(value) <= largest) return value;
  return value > 0 ? largest : value < 0 ? -largest : value;
}
