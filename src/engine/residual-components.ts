// The distribution around a point forecast, from held-out errors: a sorted table of them per step, thinned to as many
// components as a mixture has room for. Component i stands for the slice of probability from i/n to (i+1)/n: it sits
// at the middle quantile of its slice and is half as wide as the slice, which smooths the table without widening it.

/** The quantile of ascending errors at a level, linear between them; the i-th of m holds the level (i + ½) / m. */
export function residualQuantile(errors: Float32Array, from: number, count: number, level: number): number {
  const position = Math.min(Math.max(level * count - 0.5, 0), count - 1);
  const below = Math.floor(position);
  const low = errors[from + below];
  if (below === count - 1) return low;
  return low + (errors[from + below + 1] - low) * (position - below);
}

/** Where the components of one table go. */
export interface ComponentSlots {
  readonly mean: Float64Array;
  readonly deviation: Float64Array;
  /** Index of the first of them. */
  readonly at: number;
  readonly components: number;
}

/** Lays components in raw units around `centre`; `scale` is one net unit. */
export function spreadResiduals(
  errors: Float32Array,
  from: number,
  count: number,
  { mean, deviation, at, components }: ComponentSlots,
  { centre, scale }: { readonly centre: number; readonly scale: number },
): void {
  let lower = residualQuantile(errors, from, count, 0);
  for (let i = 0; i < components; i++) {
    const middle = residualQuantile(errors, from, count, (i + 0.5) / components);
    const upper = residualQuantile(errors, from, count, (i + 1) / components);
    mean[at + i] = centre + scale * middle;
    deviation[at + i] = (scale * (upper - lower)) / 2;
    lower = upper;
  }
}
