// How far each level of a calibrator moves when an observation has come, in units of its step. While the quantiles
// stated for it are in order, that depends only on how many of them lie below the observation and how many on it: each
// of these cases is worked out when it first comes. Quantiles out of order are worked out every time.
//
// Legend, as in calibrator.ts: p a level, L their number, y the observation, q the quantiles stated for it,
//   g_p = p − [y < q_p], 0 on a tie;  move_p = w_p·g_p + s_p·Σ z·g

import type { CalibratedLevels } from "./calibrated-levels.ts";

const knownByLevels = new Map<CalibratedLevels, LevelMoves>();

/** One for all calibrators of the same levels. */
export function levelMoves(levels: CalibratedLevels): LevelMoves {
  const known = knownByLevels.get(levels) ?? new LevelMoves(levels);
  knownByLevels.set(levels, known);
  return known;
}

export class LevelMoves {
  /** [case][level] */
  readonly moves: Float64Array;
  /**
   * [case][level]: the inner neighbour of a level that wants inwards, −1 for none. A level that lies on it already must
   * not move: it would press the others of its side together, and without end where a peak is covered. The median,
   * which goes along, is no neighbour.
   */
  readonly neighbours: Int32Array;
  readonly #isKnown: Uint8Array;
  readonly #levels: CalibratedLevels;
  /** g */
  readonly #lessons: Float64Array;

  constructor(levels: CalibratedLevels) {
    const { length } = levels.levels;
    const cases = (length + 1) ** 2 + 1;
    this.#levels = levels;
    this.#lessons = new Float64Array(length);
    this.moves = new Float64Array(cases * length);
    this.neighbours = new Int32Array(cases * length);
    this.#isKnown = new Uint8Array(cases);
  }

  /** Where the moves and neighbours for this observation begin, until the next call; its quantiles lie from `at` on. */
  startOf(y: number, stated: Float32Array, at: number): number {
    const { length } = this.#lessons;
    let below = 0;
    let notAbove = 0;
    let last = Number.NEGATIVE_INFINITY;
    for (let l = 0; l < length; l++) {
      const quantile = stated[at + l];
      if (quantile < y) below++;
      if (quantile <= y) notAbove++;
      if (!(quantile >= last)) return this.#workOut((length + 1) ** 2, y, stated, at);
      last = quantile;
    }
    const number = below * (length + 1) + notAbove;
    return this.#isKnown[number] === 1 ? number * length : this.#workOut(number, y, stated, at);
  }

  #workOut(number: number, y: number, stated: Float32Array, at: number): number {
    const { levels, rates, normal, scaleSteps } = this.#levels;
    const g = this.#lessons;
    const start = number * g.length;
    let tooNarrow = 0;
    for (let l = 0; l < g.length; l++) {
      g[l] = lesson(levels[l], y, stated[at + l]);
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
    const { above, median, levels } = this.#levels;
    if (l < above !== move > 0) return -1;
    const inwards = move > 0 ? 1 : -1;
    const inner = l + inwards === median ? l + 2 * inwards : l + inwards;
    return inner >= 0 && inner < levels.length ? inner : -1;
  }
}

/** g: what one observation says of one quantile. On a tie, as on a flat series, it is where it should be. */
function lesson(level: number, y: number, quantile: number): number {
  if (y === quantile) return 0;
  return y < quantile ? level - 1 : level;
}
