// The calibrator exactly as its legend says, one quantile at a time, with nothing computed in advance: the reference
// that the fast one must equal.

import type { CalibratorShape } from "../../../src/score/calibrator.ts";
import { calibratedLevels } from "../../../src/score/level-moves.ts";

const LARGEST = 3.4e38;

export class PlainCalibrator {
  readonly state: Float32Array;
  readonly #levels: ReturnType<typeof calibratedLevels>;
  readonly #shape: CalibratorShape;
  readonly #outputs: number;
  readonly #peaksAt: number;
  readonly #unitsAt: number;
  readonly #widthsAt: number;
  #updates = 0;

  constructor(shape: CalibratorShape) {
    const { levels, channels, horizon, scale } = shape;
    this.#shape = shape;
    this.#levels = calibratedLevels(levels);
    this.#outputs = channels * horizon;
    const { median } = this.#levels;
    this.#peaksAt = (median < 0 ? levels.length : median) * this.#outputs;
    this.#unitsAt = (median < 0 ? levels.length + 1 : levels.length) * this.#outputs;
    this.#widthsAt = this.#unitsAt + 2 * channels;
    this.state = new Float32Array(this.#widthsAt + this.#pairs().length * channels);
    for (let c = 0; c < channels; c++) this.state[this.#unitsAt + c] = bounded(scale[c]);
  }

  correct(raw: readonly ArrayLike<number>[]): Float32Array {
    const stated = new Float32Array(raw.length * this.#outputs);
    for (let o = 0; o < this.#outputs; o++) {
      const column = raw.map((quantiles) => quantiles[o]);
      this.#corrected(column, o).forEach((quantile, l) => {
        stated[l * this.#outputs + o] = bounded(quantile);
      });
    }
    return stated;
  }

  learn(output: number, actual: number, stated: ArrayLike<number>): void {
    const { levels, normal, median } = this.#levels;
    const y = bounded(actual);
    const error = y - this.#centreOf(stated);
    const unit = this.#unitOf(output, Math.abs(error));
    const step = unit * this.#reachOf(output);
    const gradients = Array.from(levels, (level, l) =>
      y === stated[l] ? 0 : y < stated[l] ? level - 1 : level,
    );
    const tooNarrow = gradients.reduce((sum, gradient, l) => sum + normal[l] * gradient, 0);
    const learning = gradients.filter((_, l) => l !== median);
    const tooLow = learning.reduce((sum, gradient) => sum + gradient, 0);
    const length = Math.sqrt(normal.reduce((sum, z) => sum + z * z, 0)) || 1;
    const pull = this.#oneSided(output, error) * ((0.1 * tooLow) / (Math.max(1, learning.length) / 2));
    for (let l = 0; l < levels.length; l++) {
      const scaleStep = (0.06 * normal[l]) / length;
      const move = 0.03 * (2 * levels[l] - 1) ** 2 * gradients[l] + scaleStep * tooNarrow + pull;
      const at = l * this.#outputs + output;
      if (l !== median && !this.#isBlocked(l, move, stated))
        this.state[at] = bounded(this.state[at] + step * move);
    }
    this.#widen(output, unit, gradients, stated);
    const at = this.#peaksAt + output;
    const isOutside = y < stated[0] || y > stated[levels.length - 1];
    const isHigher = isOutside && Math.abs(error) > Math.abs(this.state[at]);
    this.state[at] = isHigher ? bounded(error) : this.state[at] * 0.8;
  }

  #corrected(raw: readonly number[], o: number): number[] {
    const { median, below, above, hasCentre } = this.#levels;
    const row = raw.map((quantile, l) =>
      l === median ? quantile : quantile + (this.state[l * this.#outputs + o] + this.#sharedOf(l, o)),
    );
    for (let l = 1; l < below; l++) row[l] = Math.max(row[l], row[l - 1]);
    for (let l = row.length - 2; l >= above; l--) row[l] = Math.min(row[l], row[l + 1]);
    if (!hasCentre) return row;
    const low = below > 0 ? row[below - 1] : Number.NEGATIVE_INFINITY;
    const high = above < row.length ? row[above] : Number.POSITIVE_INFINITY;
    const forecast = median < 0 ? (raw[below - 1] + raw[above]) / 2 : raw[median];
    const centre = Math.max(Math.min(low, high), Math.min(forecast, Math.max(low, high)));
    const ordered = row.map((quantile, l) =>
      l < below ? Math.min(quantile, centre) : l >= above ? Math.max(quantile, centre) : centre,
    );
    return this.#covered(ordered, centre, this.state[this.#peaksAt + o]);
  }

  #covered(row: readonly number[], centre: number, peak: number): number[] {
    const { levels, below, above } = this.#levels;
    const outer = peak > 0 ? row.length - 1 : 0;
    const isStretched = (l: number) => (peak > 0 ? l >= above : l < below);
    const width = row[outer] - centre;
    const wanted = 1.25 * peak;
    if (Math.abs(wanted) <= Math.abs(width)) return [...row];
    return row.map((quantile, l) => {
      if (!isStretched(l)) return quantile;
      const share = width === 0 ? (levels[l] - 0.5) / (levels[outer] - 0.5) : (quantile - centre) / width;
      return centre + share * wanted;
    });
  }

  /** The levels p and 1 − p, the lower one first; a level without the other alone. */
  #pairs(): number[][] {
    const levels = [...this.#levels.levels];
    return levels.flatMap((level, l) => {
      const mirror = levels.findIndex((other) => Math.abs(level + other - 1) < 1e-9);
      if (level === 0.5 || (level > 0.5 && mirror >= 0)) return [];
      return [mirror < 0 ? [l] : [l, mirror]];
    });
  }

  #sharedOf(l: number, o: number): number {
    const { channels, horizon } = this.#shape;
    const j = this.#pairs().findIndex((pair) => pair.includes(l));
    const width = this.state[this.#widthsAt + j * channels + Math.floor(o / horizon)];
    return l < this.#levels.below ? -width : width;
  }

  #widen(output: number, unit: number, gradients: readonly number[], stated: ArrayLike<number>): void {
    const { levels, below } = this.#levels;
    const { channels, horizon } = this.#shape;
    for (const [j, pair] of this.#pairs().entries()) {
      const outwards = pair.reduce((sum, l) => sum + (l < below ? -gradients[l] : gradients[l]), 0);
      const isBlocked = pair.some((l) => this.#isBlocked(l, l < below ? 1 : -1, stated));
      if (outwards < 0 && isBlocked) continue;
      const widening = 0.25 * ((2 * levels[pair[0]] - 1) ** 2) ** 2 * outwards;
      const at = this.#widthsAt + j * channels + Math.floor(output / horizon);
      this.state[at] = bounded(this.state[at] + (unit / horizon) * widening);
    }
  }

  #isBlocked(l: number, move: number, stated: ArrayLike<number>): boolean {
    const { above, median } = this.#levels;
    if (l < above !== move > 0) return false;
    const inwards = move > 0 ? 1 : -1;
    return stated[l + (l + inwards === median ? 2 * inwards : inwards)] === stated[l];
  }

  #centreOf(stated: ArrayLike<number>): number {
    const { below, above, median, hasCentre } = this.#levels;
    if (median >= 0) return stated[median];
    return hasCentre ? (stated[below - 1] + stated[above]) / 2 : stated[below > 0 ? below - 1 : 0];
  }

  #unitOf(output: number, error: number): number {
    const { horizon, scale } = this.#shape;
    const channel = Math.floor(output / horizon);
    const at = this.#unitsAt + channel;
    const unit = this.state[at];
    this.#updates++;
    const pace = Math.max(error > 5 * unit ? 0.05 : 0.005, 1 / (this.#updates / this.#outputs + 5));
    const root = Math.sqrt(unit) + ((Math.sqrt(error) - Math.sqrt(unit)) * pace) / horizon;
    this.state[at] = bounded(root * root);
    return Math.max(this.state[at], 0.01 * scale[channel]);
  }

  #reachOf(output: number): number {
    const { horizon } = this.#shape;
    return Math.min(3.5, Math.sqrt(horizon / (2 * ((output % horizon) + 1))));
  }

  #oneSided(output: number, error: number): number {
    const { channels, horizon } = this.#shape;
    const at = this.#unitsAt + channels + Math.floor(output / horizon);
    this.state[at] += (Math.sign(error) - this.state[at]) / (Math.max(20, 4 * horizon) * horizon);
    return Math.max(0, Math.abs(this.state[at]) - 0.6) / (1 - 0.6);
  }
}

function bounded(value: number): number {
  return Math.fround(Math.max(-LARGEST, Math.min(LARGEST, value)));
}
