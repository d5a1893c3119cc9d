// The distribution of a linear model's errors: how far they spread at every step, times one shape for all steps. The shape is
// that of held-out errors, skew and tails included. Pooling the steps gives it enough of them.
//
// Forecasts keep the median of the model itself. The median of a few held-out errors says more about those days than about
// the model: adding it made forecasts worse on every kind of series tried, most on short ones.

/** How an error is distributed: spread of its output × a number drawn from the shape. */
export interface ErrorShape {
  /** Mean distance from the median, [output]. */
  readonly spread: Float32Array;
  /** Quantiles at the middles of equal shares of probability, ascending. */
  readonly shape: Float32Array;
}

export const shapePoints = 64;

/**
 * Held-out errors are those of the maps that were chosen because their errors were small, so the next ones will be larger, the
 * more so the fewer there were to choose on. The factor is 1 + this / √(spans of τ steps judged). Chosen so that 80 % intervals
 * held 80 % on parts of the sample series that come before their tests.
 */
const optimism = 0.4;

/** `errors` by output, at least one in all; `spans` is how many times τ steps they cover. */
export function errorShapeOf(
  errors: readonly (readonly number[])[],
  { channels, spans }: { readonly channels: number; readonly spans: number },
): ErrorShape {
  const medians = errors.map((own) => quantileOf(Float64Array.from(own).sort(), 0.5));
  const distances = errors.map((own, o) => meanDistance(own, medians[o]));
  const spread = Float32Array.from(distances, (_, o) => {
    const near = [distances[o - channels], distances[o], distances[o + channels]].filter(
      (distance) => distance !== undefined && !Number.isNaN(distance),
    );
    return near.length === 0 ? Number.NaN : near.reduce((sum, distance) => sum + distance, 0) / near.length;
  });
  fillUnknown(spread);
  const pooled = errors.flatMap((own, o) =>
    own.map((error) => (spread[o] > 0 ? (error - medians[o]) / spread[o] : 0)),
  );
  const ascending = Float64Array.from(pooled).sort();
  const factor = 1 + optimism / Math.sqrt(spans);
  const shape = Float32Array.from({ length: shapePoints }, (_, i) => {
    return factor * quantileOf(ascending, (i + 0.5) / shapePoints);
  });
  return { spread, shape };
}

function meanDistance(errors: readonly number[], from: number): number {
  let sum = 0;
  for (const error of errors) sum += Math.abs(error - from);
  return sum / errors.length;
}

/** Steps none of whose values were observed spread as widely as the widest. */
function fillUnknown(spread: Float32Array): void {
  const widest = Math.max(...spread.filter((one) => !Number.isNaN(one)));
  for (let o = 0; o < spread.length; o++) if (Number.isNaN(spread[o])) spread[o] = widest;
}

/** Each number is at the middle of its share of probability; quantiles between two numbers are linear. */
export function quantileOf(ascending: ArrayLike<number>, level: number): number {
  const position = Math.min(Math.max(level * ascending.length - 0.5, 0), ascending.length - 1);
  const below = Math.floor(position);
  const above = Math.min(below + 1, ascending.length - 1);
  return ascending[below] + (position - below) * (ascending[above] - ascending[below]);
}
