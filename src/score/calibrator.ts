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
import { type Place, placeAlone } from "./series-memory.ts";

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

/** What calibrators of the same levels, channels and horizon share. */
interface Frame {
  readonly levels: CalibratedLevels;
  readonly moves: LevelMoves;
  readonly channels: number;
  readonly horizon: number;
  readonly outputs: number;
  /** Where the parts of the state begin, and its length. */
  readonly peaksAt: number;
  readonly unitsAt: number;
  readonly signsAt: number;
  readonly widthsAt: number;
  readonly length: number;
  /** r */
  readonly reach: Float64Array;
  /** Updates that e remembers. */
  readonly remembered: number;
  /** [level][output]: quantiles on their way to be corrected. Correcting is synchronous. */
  readonly sums: Float64Array;
  /** One per output, 0 or 1: the median is the centre, and the moved levels are still in order. */
  readonly isAscending: Uint8Array;
}

export class Calibrator {
  #learntSteps = 0;
  readonly #frame: Frame;
  readonly #scale: ArrayLike<number>;
  /** The state is in `#floats`, from here on. */
  readonly #at: number;
  readonly #floats: Float32Array;

  /** Bytes that `place` must have. */
  static bytesOf(shape: Omit<CalibratorShape, "scale">): number {
    return 4 * frameOf(shape).length;
  }

  constructor(shape: CalibratorShape, place: Place = placeAlone(Calibrator.bytesOf(shape))) {
    const frame = frameOf(shape);
    this.#frame = frame;
    this.#scale = shape.scale;
    this.#at = place.at >> 2;
    this.#floats = place.block.floats;
    for (let c = 0; c < frame.channels; c++)
      this.#floats[this.#at + frame.unitsAt + c] = clamped(shape.scale[c]);
  }

  /**
   * [level][output] δ, with the peaks in the row of the median or in an extra row; u of each channel; e of each channel;
   * [interval][channel] w.
   */
  get state(): Float32Array {
    return this.#floats.subarray(this.#at, this.#at + this.#frame.length);
  }

  /** Updates so far, over all outputs. Not in `state`, whose single precision is too small for a count. */
  get learntSteps(): number {
    return this.#learntSteps;
  }

  /** Whether a stored state of this length can be loaded: one of this version, or one of an earlier version, without e and w. */
  canLoad(length: number): boolean {
    return length === this.#frame.length || length === this.#frame.signsAt;
  }

  /** Continues from a stored state and its number of updates. */
  load(stored: Float32Array, learntSteps: number): void {
    const { state } = this;
    if (!this.canLoad(stored.length)) {
      throw new RangeError(`a calibrator of this shape has ${state.length} numbers, not ${stored.length}`);
    }
    state.fill(0, stored.length);
    state.set(stored);
    this.#learntSteps = learntSteps;
  }

  /**
   * Writes the corrected quantiles to `target`, level after level. `raw` is [level][output], and `base` what is
   * subtracted from each channel before; nothing by default.
   */
  correct(raw: readonly ArrayLike<number>[], target: Float32Array, base: ArrayLike<number> = zeroes): void {
    const { levels, outputs, horizon, sums, isAscending, peaksAt } = this.#frame;
    const { median, hasCentre } = levels;
    this.#addMoves(raw, base);
    for (let o = 0; o < outputs; o++) {
      let centre = 0;
      if (isAscending[o] === 1) centre = sums[median * outputs + o];
      else centre = this.#order(raw, base[Math.floor(o / horizon)] ?? 0, o);
      if (hasCentre) this.#coverPeak(centre, peaksCovered * this.#floats[this.#at + peaksAt + o], o);
    }
    for (let i = 0; i < target.length; i++) target[i] = clamped(sums[i]);
  }

  /** Learns from one observed slot: one update per channel and forecast that covers it. */
  learnSlot(matured: MaturedSlot): void {
    const { channels } = this.#frame;
    for (let c = 0; c < channels; c++) this.#learnChannel(matured, c);
    this.#learntSteps += matured.count * channels;
  }

  /** What changes from forecast to forecast is in variables: a number that is read back from memory comes late. */
  #learnChannel({ count, quantiles, steps, actuals, units }: MaturedSlot, channel: number): void {
    const state = this.#floats;
    const start = this.#at;
    const {
      moves: levelMoves,
      levels: calibrated,
      outputs,
      channels,
      horizon,
      reach,
      remembered,
    } = this.#frame;
    const { median, levels } = calibrated;
    const { moves, pulls } = levelMoves;
    const size = levels.length;
    const peaksAt = start + this.#frame.peaksAt + channel * horizon;
    const unitAt = start + this.#frame.unitsAt + channel;
    const signAt = start + this.#frame.signsAt + channel;
    const least = leastUnit * this.#scale[channel];
    let typical = state[unitAt];
    let sided = state[signAt];
    // The loop goes channel by channel, but updates are counted forecast by forecast.
    let updates = this.#learntSteps + channel + 1;
    for (let i = 0; i < count; i++, updates += channels) {
      const place = i * channels + channel;
      const at = place * size;
      const y = actuals[place];
      if (!Number.isFinite(y)) throw new RangeError(`cannot learn from ${y}`);
      const error = (y - this.#centreOf(quantiles, at)) * units[place];
      const distance = Math.abs(error);
      typical = followed(
        typical,
        distance,
        paceAt(distance > surprise * typical, updates / outputs),
        horizon,
      );
      sided = Math.fround(sided + (Math.sign(error) - sided) / remembered);
      const unit = typical > least ? typical : least;
      const step = unit * reach[steps[i]];
      const found = levelMoves.caseOf(y, quantiles, at);
      const pull = sideOf(sided) * pulls[found];
      const output = start + channel * horizon + steps[i];
      if (levelMoves.isTied) {
        this.#moveTied(found, pull, step, output, quantiles, at);
      } else {
        for (let l = 0, o = output, m = found * size; l < size; l++, o += outputs, m++)
          if (l !== median) state[o] = clamped(state[o] + step * (moves[m] + pull));
      }
      this.#widen(found, unit / horizon, channel, quantiles, at);
      const peakAt = peaksAt + steps[i];
      const peak = state[peakAt];
      const isOutside = y < quantiles[at] || y > quantiles[at + size - 1];
      state[peakAt] = isOutside && distance > Math.abs(peak) ? clamped(error) : peak * fading;
    }
    state[unitAt] = typical;
    state[signAt] = sided;
  }

  #moveTied(
    found: number,
    pull: number,
    step: number,
    output: number,
    quantiles: Float64Array,
    at: number,
  ): void {
    const state = this.#floats;
    const { moves: levelMoves, levels: calibrated, outputs } = this.#frame;
    const { median, levels, below } = calibrated;
    const { moves } = levelMoves;
    const size = levels.length;
    for (let l = 0, o = output, m = found * size; l < size; l++, o += outputs, m++) {
      const move = moves[m] + pull;
      if (l === median || (l < below === move > 0 && this.#isPressed(l, quantiles, at))) continue;
      state[o] = clamped(state[o] + step * move);
    }
  }

  #widen(found: number, share: number, channel: number, quantiles: Float64Array, at: number): void {
    const state = this.#floats;
    const { moves: levelMoves, levels: calibrated, channels, widthsAt } = this.#frame;
    const { widenings, isTied } = levelMoves;
    const intervals = calibrated.lower.length;
    const first = found * intervals;
    for (let j = 0, w = this.#at + widthsAt + channel; j < intervals; j++, w += channels) {
      const widening = widenings[first + j];
      if (isTied && widening < 0 && this.#isIntervalPressed(j, quantiles, at)) continue;
      state[w] = clamped(state[w] + share * widening);
    }
  }

  /**
   * True for a level that equals its inner neighbour. It must not move inwards: it would press the levels of its side
   * together, without end while a peak is covered.
   */
  #isPressed(l: number, stated: Float64Array, at: number): boolean {
    const inner = this.#frame.levels.inner[l];
    return inner >= 0 && stated[at + inner] === stated[at + l];
  }

  #isIntervalPressed(j: number, stated: Float64Array, at: number): boolean {
    const { lower, upper } = this.#frame.levels;
    const isLowerPressed = lower[j] >= 0 && this.#isPressed(lower[j], stated, at);
    return isLowerPressed || (upper[j] >= 0 && this.#isPressed(upper[j], stated, at));
  }

  /** Adds δ and w to the raw quantiles, level after level, the order in which memory holds them. */
  #addMoves(raw: readonly ArrayLike<number>[], base: ArrayLike<number>): void {
    const state = this.#floats;
    const { levels, outputs, channels, horizon, sums, isAscending, widthsAt } = this.#frame;
    const { median, intervalOf, below } = levels;
    const start = this.#at;
    // Without a median the centre is not one of the quantiles, so order alone does not give it.
    isAscending.fill(median < 0 ? 0 : 1);
    for (let l = 0, i = 0; l < raw.length; l++) {
      const quantiles = raw[l];
      for (let c = 0, o = 0; c < channels; c++) {
        const less = base[c] ?? 0;
        const width = intervalOf[l] < 0 ? 0 : state[start + widthsAt + intervalOf[l] * channels + c];
        const shared = l < below ? -width : width;
        for (let h = 0; h < horizon; h++, o++, i++) {
          const relative = quantiles[o] - less;
          const sum = l === median ? relative : relative + (state[start + i] + shared);
          sums[i] = sum;
          if (l > 0 && !(sum >= sums[i - outputs])) isAscending[o] = 0;
        }
      }
    }
  }

  /**
   * Puts the quantiles of an output in order and returns their centre. An outer level pushes the inner levels of its
   * side along. The median stays as forecast unless a level of one side has passed it.
   */
  #order(raw: readonly ArrayLike<number>[], base: number, o: number): number {
    const { sums, outputs: n } = this.#frame;
    const { below, above, median, hasCentre, levels } = this.#frame.levels;
    const end = levels.length * n + o;
    const firstAbove = above * n + o;
    for (let i = n + o; i < below * n; i += n) sums[i] = Math.max(sums[i], sums[i - n]);
    for (let i = end - 2 * n; i >= firstAbove; i -= n) sums[i] = Math.min(sums[i], sums[i + n]);
    if (!hasCentre) return 0;
    const low = below > 0 ? sums[(below - 1) * n + o] : Number.NEGATIVE_INFINITY;
    const high = firstAbove < end ? sums[firstAbove] : Number.POSITIVE_INFINITY;
    const forecast =
      median < 0 ? (raw[below - 1][o] - base + (raw[above][o] - base)) / 2 : raw[median][o] - base;
    const centre = Math.max(Math.min(low, high), Math.min(forecast, Math.max(low, high)));
    for (let i = o; i < below * n; i += n) sums[i] = Math.min(sums[i], centre);
    for (let i = firstAbove; i < end; i += n) sums[i] = Math.max(sums[i], centre);
    if (median >= 0) sums[median * n + o] = centre;
    return centre;
  }

  /** Stretches the side of the peak until the outermost level is as far from the centre as `wanted`. */
  #coverPeak(centre: number, wanted: number, o: number): void {
    const { sums, outputs: n } = this.#frame;
    const { levels, below, above } = this.#frame.levels;
    const isAbove = wanted > 0;
    const outer = isAbove ? levels.length - 1 : 0;
    const width = sums[outer * n + o] - centre;
    if (Math.abs(wanted) <= Math.abs(width)) return;
    const to = isAbove ? levels.length : below;
    for (let l = isAbove ? above : 0, i = l * n + o; l < to; l++, i += n) {
      // Quantiles without width are spread in proportion to their levels.
      const share = width === 0 ? (levels[l] - 0.5) / (levels[outer] - 0.5) : (sums[i] - centre) / width;
      sums[i] = centre + share * wanted;
    }
  }

  #centreOf(stated: Float64Array, at: number): number {
    const { below, above, median, hasCentre } = this.#frame.levels;
    if (median >= 0) return stated[at + median];
    if (hasCentre) return (stated[at + below - 1] + stated[at + above]) / 2;
    return stated[at + (below > 0 ? below - 1 : 0)];
  }
}

/** The pace of u at an update; `rounds` is the number of updates per output so far, this one included. */
function paceAt(isSurprised: boolean, rounds: number): number {
  const pace = isSurprised ? surprisedPace : usualPace;
  // Later than that, the division would give less than the usual pace.
  return rounds > 1 / usualPace ? pace : Math.max(pace, 1 / (rounds + guessWeight));
}

/**
 * u after an error. The mean is one of square roots, so that rare large errors do not set the unit in which an interval of
 * many small ones learns.
 */
function followed(typical: number, distance: number, pace: number, horizon: number): number {
  const root = Math.sqrt(typical);
  const next = root + ((Math.sqrt(distance) - root) * pace) / horizon;
  return Math.fround(clamped(next * next));
}

/** a: 0 while errors are two-sided, 1 when all are on one side. */
function sideOf(sided: number): number {
  return Math.max(0, Math.abs(sided) - oneSided) / (1 - oneSided);
}

const zeroes: readonly number[] = [];
const frames = new Map<LevelMoves, Map<string, Frame>>();

function frameOf({ levels: given, channels, horizon }: Omit<CalibratorShape, "scale">): Frame {
  const moves = levelMovesOf(given);
  let ofLevels = frames.get(moves);
  if (ofLevels === undefined) {
    ofLevels = new Map();
    frames.set(moves, ofLevels);
  }
  const name = `${channels} ${horizon}`;
  const frame = ofLevels.get(name) ?? newFrame(moves, channels, horizon);
  ofLevels.set(name, frame);
  return frame;
}

function newFrame(moves: LevelMoves, channels: number, horizon: number): Frame {
  const { levels } = moves;
  const { median } = levels;
  const size = levels.levels.length;
  const outputs = channels * horizon;
  const unitsAt = (median < 0 ? size + 1 : size) * outputs;
  const signsAt = unitsAt + channels;
  const widthsAt = signsAt + channels;
  return {
    levels,
    moves,
    channels,
    horizon,
    outputs,
    peaksAt: (median < 0 ? size : median) * outputs,
    unitsAt,
    signsAt,
    widthsAt,
    length: widthsAt + levels.lower.length * channels,
    reach: Float64Array.from({ length: horizon }, (_, h) =>
      Math.min(nearest, Math.sqrt(horizon / (2 * (h + 1)))),
    ),
    remembered: Math.max(leastRemembered, rememberedHorizons * horizon) * horizon,
    sums: new Float64Array(size * outputs),
    isAscending: new Uint8Array(outputs),
  };
}

/** Never infinite in single precision, in which it is stored. */
function clamped(value: number): number {
  if (Math.abs(value) <= largest) return value;
  return value > 0 ? largest : value < 0 ? -largest : value;
}
