// How far each level of a calibrator moves when an observation has come, in units of its step. That depends on which of
// the stated quantiles lie below the observation. Nearly always they are the first k of them and none is met exactly:
// those L + 1 cases are worked out once. Ties and quantiles out of order are worked out when they come.
//
// Legend, as in calibrator.ts: p a level, y the observation, q the quantiles stated for it,
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
  /** [case][level]; the last case is that of whoever asked last and is none of the usual ones. */
  readonly moves: Float64Array;
  /**
   * [case][level]: the inner neighbour of a level that wants inwards, −1 for none. A level that lies on it already does
   * not move: it would press the others of its side together, and without end where a peak is covered. The median,
   * which goes along, is no neighbour.
   */
  readonly neighbours: Int32Array;
  readonly #of: CalibratedLevels;
  readonly #lessons: Float64Array;

  constructor(of: CalibratedLevels) {
    const { length } = of.levels;
    this.#of = of;
    this.#lessons = new Float64Array(length);
    this.moves = new Float64Array((length + 2) * length);
    this.neighbours = new Int32Array((length + 2) * length);
    for (let k = 0; k <= length; k++) {
      for (let l = 0; l < length; l++) this.#lessons[l] = l < k ? of.levels[l] : of.levels[l] - 1;
      this.#fill(k * length);
    }
  }

  /** Where the moves and neighbours begin for this observation; the quantiles lie from `at` on. */
  caseOf(y: number, stated: Float32Array, at: number): number {
    const { length } = this.#lessons;
    let k = 0;
    while (k < length && y > stated[at + k]) k++;
    for (let l = k; l < length; l++) if (!(y < stated[at + l])) return this.#unusual(y, stated, at);
    return k * length;
  }

  #unusual(y: number, stated: Float32Array, at: number): number {
    const { levels } = this.#of;
    const { length } = levels;
    for (let l = 0; l < length; l++) this.#lessons[l] = lesson(levels[l], y, stated[at + l]);
    this.#fill((length + 1) * length);
    return (length + 1) * length;
  }

  #fill(from: number): void {
    const { rates, normal, scaleSteps } = this.#of;
    const g = this.#lessons;
    let tooNarrow = 0;
    for (let l = 0; l < g.length; l++) tooNarrow += normal[l] * g[l];
    for (let l = 0; l < g.length; l++) {
      const move = rates[l] * g[l] + scaleSteps[l] * tooNarrow;
      this.moves[from + l] = move;
      this.neighbours[from + l] = this.#neighbour(l, move);
    }
  }

  #neighbour(l: number, move: number): number {
    const { above, median, levels } = this.#of;
    if (l < above !== move > 0) return -1;
    const inwards = move > 0 ? 1 : -1;
    const inner = l + inwards === median ? l + 2 * inwards : l + inwards;
    return inner < levels.length ? Math.max(-1, inner) : -1;
  }
}

/** g: what one observation says of one quantile. On a tie, as on a flat series, it is where it should be. */
function lesson(level: number, y: number, quantile: number): number {
  if (y === quantile) return 0;
  return y < quantile ? level - 1 : level;
}
