// Seasonal naive as a contestant: at every origin what the cold tier would have said there, its band taken from the
// errors that were known by then.

import type { ErrorSummary } from "../../domain.ts";
import { ErrorSample, seasonalErrorSteps } from "../../models/error-sample.ts";
import { forecastSeasonalNaive } from "../../models/seasonal-naive.ts";
import type { ProvingGround, Span } from "./proving-ground.ts";

/** Quantiles at each origin of the ground, [origin][level][output]. */
export function forecastSeasonalRival(
  ground: ProvingGround,
  { horizon, season }: Span,
  levels: readonly number[],
): readonly (readonly ArrayLike<number>[])[] {
  const { values, channels } = ground.history;
  return ground.origins.map((origin) => {
    const window = values.subarray((origin - season) * channels, origin * channels);
    const seen = { values: window, channels, settings: { horizon, season } };
    const { quantiles } = forecastSeasonalNaive(seen, errorsBefore(ground, origin, season, levels), levels);
    return quantiles.map((quantile) => quantile.values);
  });
}

function errorsBefore(
  { history, observed }: ProvingGround,
  origin: number,
  season: number,
  levels: readonly number[],
): readonly ErrorSummary[] {
  const { values, channels } = history;
  const oldest = Math.max(season, origin - seasonalErrorSteps(season));
  return Array.from({ length: channels }, (_, channel) => {
    const errors = new Float64Array(origin - oldest);
    let count = 0;
    for (let step = oldest; step < origin; step++) {
      if (observed[step] === 0 || observed[step - season] === 0) continue;
      errors[count++] = values[step * channels + channel] - values[(step - season) * channels + channel];
    }
    const sample = new ErrorSample(count);
    sample.replaceAll(errors.subarray(0, count));
    return sample.summarize(levels);
  });
}
