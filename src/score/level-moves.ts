// How far an observation moves the quantiles of a calibrator, in typical errors. It follows from the list of levels and from
// where the observation lies among the quantiles that were stated for it, so a fleet of a hundred thousand calibrators shares
// one table per list. While the stated quantiles are in order, only how many of them are below the observation and how many
// equal it counts; each such case is computed when it first occurs.
//
// Legend: p a level, j an interval: the levels p and 1 − p, or a level without the other. y the observation, q the
// quantiles that were stated for it, g_p = p − [y < q_p], 0 on a tie; z = Φ⁻¹(p).
//   move[p]   = η·(2p − 1)²·g_p + κ·z_p/‖z‖ · Σ z·g
//   widen[j]  = ω·(2p − 1)⁴·(g_upper − g_lower)
//   pull      = λ·Σ g / Σ ½ over the levels that learn, all but the median: ± λ when y is outside evenly placed levels

import { normalQuantile } from "../models/normal.ts";

/** η: the learning rate of the outermost levels, in typical errors per step. */
const fastest = 0.03;
/** κ: how fast the whole distribution is widened or narrowed at one output, in the same unit. */
const scaleRate = 0.06;
/** ω: how fast an interval is widened or narrowed at all outputs of a channel, in the same unit. */
const sharedRate = 0.25;
/** λ: how fast all levels are moved together when the errors are one-sided, in the same unit. */
const pullRate = 0.1;

export interface CalibratedLevels {
  readonly levels: Float64Array;
  /** Levels 0 … below − 1 are below the median, those from `above` on are above it. */
  readonly below: number;
  readonly above: number;
  /** The index of level .5, or −1. */
  readonly median: number;
  /** True when there is a centre to measure from: the median, or levels on both sides of it. */
  readonly hasCentre: boolean;
  /** The next level towards the median, or beyond it for the innermost; −1 for none. */
  readonly inner: Int32Array;
  /** The levels of each interval; −1 for none. */
  readonly lower: Int32Array;
  readonly upper: Int32Array;
  /** The index of the interval of a level; −1 for the median. */
  readonly intervalOf: Int32Array;
  /** (2p − 1)²: the outer levels determine coverage and learn fastest; the median does not learn. */
  readonly weights: Float64Array;
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
  const { lower, upper } = intervalsOf(levels);
  return {
    levels,
    below,
    above,
    median,
    hasCentre: median >= 0 || (below > 0 && above < levels.length),
    inner: Int32Array.from(levels, (_, l) => innerOf(l, { below, above, median, count: levels.length })),
    lower,
    upper,
    intervalOf: Int32Array.from(levels, (_, l) => Math.max(lower.indexOf(l), upper.indexOf(l))),
    weights: levels.map((level) => (2 * level - 1) ** 2),
    normal,
    scaleSteps: normal.map((z) => (scaleRate * z) / length),
  };
}

/** The median is nobody's neighbour, since it is pushed along. */
function innerOf(
  l: number,
  { below, above, median, count }: { below: number; above: number; median: number; count: number },
): number {
  if (l === median) return -1;
  const inwards = l < below ? 1 : -1;
  const next = l + inwards === median ? l + 2 * inwards : l + inwards;
  return next >= 0 && next < count && (l < below || l >= above) ? next : -1;
}

/** Pairs of levels p and 1 − p, and levels that have no such partner. */
function intervalsOf(levels: Float64Array): Pick<CalibratedLevels, "lower" | "upper"> {
  const mirrorOf = (level: number) => levels.findIndex((other) => Math.abs(level + other - 1) < 1e-9);
  const pairs = Array.from(levels, (level, l) => {
    const mirror = mirrorOf(level);
    return level < 0.5 ? [l, mirror] : level > 0.5 && mirror < 0 ? [-1, l] : [];
  }).filter((pair) => pair.length > 0);
  return {
    lower: Int32Array.from(pairs, ([lower]) => lower),
    upper: Int32Array.from(pairs, ([, upper]) => upper),
  };
}

const movesByLevels = new Map<string, LevelMoves>();

/** The same object for all calibrators of the same levels. */
export function levelMovesOf(levels: ArrayLike<number>): LevelMoves {
  const key = Array.prototype.join.call(levels);
  const moves = movesByLevels.get(key) ?? new LevelMoves(calibratedLevels(levels));
  movesByLevels.set(key, moves);
  return moves;
}

export class LevelMoves {
  readonly levels: CalibratedLevels;
  /** [case][level] */
  readonly moves: Float64Array;
  /** [case][interval], positive outwards */
  readonly widenings: Float64Array;
  /** One per case. */
  readonly pulls: Float64Array;
  /** Whether neighbours among the quantiles of the last `caseOf` are equal or out of order. */
  isTied = false;
  readonly #isKnown: Uint8Array;
  /** g */
  readonly #gradients: Float64Array;

  constructor(levels: CalibratedLevels) {
    const { length } = levels.levels;
    const cases = (length + 1) ** 2 + 1;
    this.levels = levels;
    this.#gradients = new Float64Array(length);
    this.moves = new Float64Array(cases * length);
    this.widenings = new Float64Array(cases * levels.lower.length);
    this.pulls = new Float64Array(cases);
    this.#isKnown = new Uint8Array(cases);
  }

  /** The case of this observation; its row is valid until the next call. The quantiles stated for it start at `at`. */
  caseOf(y: number, stated: Float64Array, at: number): number {
    const { length } = this.#gradients;
    let below = 0;
    let notAbove = 0;
    let last = Number.NEGATIVE_INFINITY;
    let isTied = false;
    for (let l = 0; l < length; l++) {
      const quantile = stated[at + l];
      if (quantile < y) below++;
      if (quantile <= y) notAbove++;
      if (!(quantile > last)) {
        isTied = true;
        if (!(quantile >= last)) {
          this.isTied = true;
          return this.#compute((length + 1) ** 2, y, stated, at);
        }
      }
      last = quantile;
    }
    this.isTied = isTied;
    const found = below * (length + 1) + notAbove;
    return this.#isKnown[found] === 1 ? found : this.#compute(found, y, stated, at);
  }

  #compute(found: number, y: number, stated: Float64Array, at: number): number {
    const { levels, median, lower, upper, weights, normal, scaleSteps } = this.levels;
    const g = this.#gradients;
    const start = found * g.length;
    const learning = Math.max(1, median < 0 ? g.length : g.length - 1);
    let tooNarrow = 0;
    let tooLow = 0;
    for (let l = 0; l < g.length; l++) {
      g[l] = gradientOf(levels[l], y, stated[at + l]);
      tooNarrow += normal[l] * g[l];
      if (l !== median) tooLow += g[l];
    }
    for (let l = 0; l < g.length; l++)
      this.moves[start + l] = fastest * weights[l] * g[l] + scaleSteps[l] * tooNarrow;
    this.pulls[found] = (pullRate * tooLow) / (learning / 2);
    for (let j = 0; j < lower.length; j++) {
      const outwards = (upper[j] < 0 ? 0 : g[upper[j]]) - (lower[j] < 0 ? 0 : g[lower[j]]);
      const weight = weights[lower[j] < 0 ? upper[j] : lower[j]];
      this.widenings[found * lower.length + j] = sharedRate * weight ** 2 * outwards;
    }
    this.#isKnown[found] = 1;
    return found;
  }
}

/** g, the negative gradient of the pinball loss. A tie, as on a flat series, means that the quantile is right. */
function gradientOf(level: number, y: number, quantile: number): number {
  if (y === quantile) return 0;
  return y < quantile ? level - 1 : level;
}
