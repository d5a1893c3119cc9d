// Adaptive conformal calibration of one series: moves each quantile of a forecast, per step ahead, so that in the long
// run the observations fall below it as often as its level says. Knows no distribution and keeps no sample; every
// number it learns is in `state`, in single precision, so that a restored calibrator goes on bit for bit.
//
// Legend: p a level, o = channel·τ + h an output, y what was observed, q the quantiles that had been stated for it.
//   δ[p][o]  what is added to the raw quantile
//   peak[o]  the largest recent error outside all levels, from the stated centre, signed; fades by ρ with each lesson
//   u        the channel's typical |y − centre|: the unit of all steps
//   lesson   g_p = p − [y < q_p], 0 on a tie;  δ_p += u·r_h·(w_p·g_p + s_p·Σ z·g)   (w, s, z: calibrated-levels.ts;
//            the sum: level-moves.ts)
// docs/calibration.md says why, and what it reaches.

import { type CalibratedLevels, calibratedLevels } from "./calibrated-levels.ts";
import { Hindsight } from "./hindsight.ts";
import { type LevelMoves, levelMoves } from "./level-moves.ts";

export interface CalibratorShape {
  /** Ascending, between 0 and 1. */
  readonly levels: readonly number[];
  readonly channels: number;
  /** τ */
  readonly horizon: number;
  /** One per channel: the one-step naive error, positive. It is the first guess of u. */
  readonly scale: ArrayLike<number>;
}

/** ρ */
const fading = 0.97;
/** The outermost quantile on the side of the peak lies at least so many peaks from the centre. */
const peaksCovered = 1.25;
/** Per step; the faster one for errors beyond `surprise` typical ones, so that u follows a shift but no single day. */
const usualPace = 0.005;
const surprisedPace = 0.05;
const surprise = 4;
/** u begins as the mean of its first guess, weighing this many steps, and the errors so far. */
const guessWeight = 5;
/** Of the scale: a series that was flat for long learns again when it moves. */
const leastUnit = 0.01;
/** r_h = (2(h + 1)/τ)^−½, at most this: what is near is learned faster, its lessons come sooner. */
const nearest = 3.5;
const largest = 3.4e38;

const reachByHorizon = new Map<number, Float64Array>();

/** Of one correction; used by all calibrators by turns, and as long as the largest needs it. */
interface CorrectionScratch {
  /** [level][output] */
  readonly sums: Float64Array;
  /** One per output. */
  readonly centres: Float64Array;
  /** One per output, 0 or 1: the median is the centre, and no level has passed another. */
  readonly isAscending: Uint8Array;
}

let scratch = scratchOf(0);

export class Calibrator {
  /** [level][output] δ, with the peaks in the row of the median or in one more row; then u of each channel. */
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
    this.#levels = calibratedLevels(levels);
    this.#moves = levelMoves(this.#levels);
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

  /** Lessons so far, over all outputs. Kept beside `state`, whose precision would not do for a count. */
  get learntSteps(): number {
    return this.#learntSteps;
  }

  /** Goes on where the calibrator was that had this state after so many lessons. */
  load(state: Float32Array, learntSteps: number): void {
    if (state.length !== this.state.length) {
      throw new RangeError(
        `a calibrator of this shape has ${this.state.length} numbers, not ${state.length}`,
      );
    }
    this.state.set(state);
    this.#learntSteps = learntSteps;
  }

  /** Writes the quantiles to state, level after level, for a forecast with these raw ones, [level][output]. */
  correct(raw: readonly ArrayLike<number>[], target: Float32Array): void {
    const { median, hasCentre } = this.#levels;
    const outputs = this.#outputs;
    const work = reserve(raw.length * outputs);
    const { sums, centres, isAscending } = work;
    this.#addUp(raw, work);
    for (let o = 0; o < outputs; o++) {
      if (isAscending[o] === 1) centres[o] = sums[median * outputs + o];
      else this.#order(raw, work, o);
      if (hasCentre) this.#coverPeak(work, o);
    }
    for (let i = 0; i < target.length; i++) target[i] = clamped(sums[i]);
  }

  /** Takes in what was observed at one output where these quantiles had been stated; once per forecast and step. */
  learn(output: number, actual: number, stated: Float32Array): void {
    const channel = Math.floor(output / this.#horizon);
    const hindsight = new Hindsight();
    hindsight.begin(stated, 1);
    hindsight.push(output - channel * this.#horizon, 0);
    hindsight.actuals[0] = actual;
    this.#learnChannel(hindsight, channel, 0);
    this.#learntSteps++;
  }

  /** The same for all forecasts of a slot, one after the other, and all channels. */
  learnSlot(hindsight: Hindsight): void {
    for (let c = 0; c < this.#channels; c++) this.#learnChannel(hindsight, c, c);
    this.#learntSteps += hindsight.count * this.#channels;
  }

  /** `place`: of the channel, among those in hindsight. */
  #learnChannel(
    { count, quantiles, steps, starts, actuals }: Hindsight,
    channel: number,
    place: number,
  ): void {
    const { state } = this;
    const { median, levels } = this.#levels;
    const { moves, neighbours } = this.#moves;
    const outputs = this.#outputs;
    const size = levels.length;
    if (!Number.isFinite(actuals[place]))
      throw new RangeError(`there is nothing to learn from ${actuals[place]}`);
    const y = bounded(actuals[place]);
    for (let i = 0; i < count; i++) {
      const at = starts[i] + place * size;
      const output = channel * this.#horizon + steps[i];
      const error = y - this.#centreOf(quantiles, at);
      // Channels are learnt one by one, but counted as they came: side by side.
      const lessons = this.#learntSteps + i * this.#channels + place + 1;
      const step = this.#follow(channel, Math.abs(error), lessons) * this.#reach[steps[i]];
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

  /** The raw quantiles moved by δ, [level][output], level after level since that is how both lie in memory. */
  #addUp(raw: readonly ArrayLike<number>[], { sums, isAscending }: CorrectionScratch): void {
    const { state } = this;
    const { median } = this.#levels;
    const outputs = this.#outputs;
    // Without a median the centre is not among the quantiles, and to ascend says too little.
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
   * Puts the quantiles of an output in order, and finds their centre. An outer level pushes the inner ones of its side
   * along, and the median itself where it is plainly out of place; otherwise the median stays as forecast.
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

  /** Stretches the side of an output on which its peak lies until the outermost level covers it. */
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
      // Where the raw quantiles have no width, the levels say how it is shared out.
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

  /** Moves u of a channel towards an error, and tells it. `lessons`: how many there were, with this one. */
  #follow(channel: number, error: number, lessons: number): number {
    const { state } = this;
    const at = this.#unitsAt + channel;
    const unit = state[at];
    const pace = error > surprise * unit ? surprisedPace : usualPace;
    const early = 1 / (lessons / this.#outputs + guessWeight);
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

/** As single precision, never infinite. */
function bounded(value: number): number {
  return Math.fround(clamped(value));
}

/** The same for what goes into an array of single precision anyway. */
function clamped(value: number): number {
  if (Math.abs(value) <= largest) return value;
  return value > 0 ? largest : value < 0 ? -largest : value;
}
