// The week of a series whose season is a day, or any cycle of seven seasons: how far each phase of the week lies from the usual day.
// The profile is shrunk by how little the weeks agree, so a series whose days are alike has none.
//
// Legend: S steps of a season, W = 7·S steps of a week; step number t has phase t mod W. Two estimates of the profile, of which the one that
// is surer counts:
//   of levels        the mean, by phase, of v_t less the mean of the week around t
//   of differences   the mean, by phase, of v_t − v_(t−S), summed up through the week: better where the level wanders
// The share that is kept is 1 − noise / signal, with signal the mean square of the estimate and noise its mean variance.

export const seasonsInWeek = 7;

/** A smaller share is not worth the candidates that it would add. */
const leastShare = 0.05;

export interface WeekSource {
  /** Channels of a step side by side; NaN in a gap. */
  readonly values: Float64Array;
  readonly channels: number;
  readonly season: number;
  /** Number of the first step. */
  readonly firstStep: number;
}

/** [phase][channel], from the steps before `end`; null where no week shows. */
export function fitWeek(source: WeekSource, end: number): Float64Array | null {
  const { channels, season } = source;
  const week = seasonsInWeek * season;
  if (end < 2 * week) return null;
  const profile = new Float64Array(week * channels);
  let isFound = false;
  for (let c = 0; c < channels; c++) {
    const own = surerOf(ofLevels(source, end, c), ofDifferences(source, end, c));
    if (own === null) continue;
    isFound = true;
    for (let phase = 0; phase < week; phase++) profile[phase * channels + c] = own[phase];
  }
  return isFound ? profile : null;
}

/**
 * What the week adds to forecasts that are partly made from values without it: at each output, its share of the profile, less what
 * the maps make of the profile in their window.
 */
export interface WeekTerm {
  /** [phase][channel] */
  readonly profile: ArrayLike<number>;
  /** Share of the maps that see no week, [output]. */
  readonly shares: ArrayLike<number>;
  /** The sum of these maps, each times its share: [output][input]. */
  readonly weights: ArrayLike<number>;
}

/** [output], for the steps after the origin. */
export function weekAhead(
  { profile, shares, weights }: WeekTerm,
  originStep: number,
  channels: number,
): Float64Array {
  const ahead = (originStep + 1) * channels;
  const inputs = weights.length / shares.length;
  const window = Float64Array.from(
    { length: inputs },
    (_, i) => profile[modulo(ahead - inputs + i, profile.length)],
  );
  return Float64Array.from({ length: shares.length }, (_, o) => {
    let sum = shares[o] * profile[modulo(ahead + o, profile.length)];
    for (let i = 0; i < inputs; i++) sum -= weights[o * inputs + i] * window[i];
    return sum;
  });
}

/** The values less the profile. */
export function withoutWeek(
  { values, channels, firstStep }: WeekSource,
  profile: Float64Array,
): Float64Array {
  const first = firstStep * channels;
  return values.map((value, i) => value - profile[modulo(first + i, profile.length)]);
}

export function modulo(value: number, period: number): number {
  const rest = value % period;
  return rest < 0 ? rest + period : rest;
}

interface Estimate {
  readonly profile: Float64Array;
  readonly share: number;
}

function surerOf(one: Estimate | null, other: Estimate | null): Float64Array | null {
  if (one === null || other === null) return null;
  const { profile, share } = one.share > other.share ? one : other;
  return share < leastShare ? null : profile.map((deviation) => share * deviation);
}

function ofLevels(
  { values, channels, season, firstStep }: WeekSource,
  end: number,
  channel: number,
): Estimate | null {
  const week = seasonsInWeek * season;
  const deviations = lessMovingMean(values, { end, length: week, channels, channel });
  const days = momentsByPhase(deviations, season, firstStep);
  const rest = deviations.map((deviation, t) => deviation - days.mean[modulo(t + firstStep, season)]);
  const moments = momentsByPhase(rest, week, firstStep);
  const share = shareOf(moments);
  return share === null ? null : { profile: moments.mean, share };
}

function ofDifferences(
  { values, channels, season, firstStep }: WeekSource,
  end: number,
  channel: number,
): Estimate | null {
  const week = seasonsInWeek * season;
  const valueAt = (t: number) => values[t * channels + channel];
  const differences = Float64Array.from({ length: end }, (_, t) =>
    t < season ? Number.NaN : valueAt(t) - valueAt(t - season),
  );
  const moments = momentsByPhase(differences, week, firstStep);
  const share = shareOf(moments);
  if (share === null) return null;
  const profile = new Float64Array(week);
  for (let phase = 0; phase < season; phase++) {
    let drift = 0;
    for (let w = phase; w < week; w += season) drift += moments.mean[w] / seasonsInWeek;
    let level = 0;
    let sum = 0;
    for (let w = phase; w < week; w += season) {
      level += moments.mean[w] - drift;
      profile[w] = level;
      sum += level;
    }
    for (let w = phase; w < week; w += season) profile[w] -= sum / seasonsInWeek;
  }
  return { profile, share };
}

/** NaN in gaps, and where fewer than half of the values around are known. Near the ends, the mean is that of the first or last week. */
function lessMovingMean(
  values: Float64Array,
  {
    end,
    length,
    channels,
    channel,
  }: { readonly end: number; readonly length: number; readonly channels: number; readonly channel: number },
): Float64Array {
  const sums = new Float64Array(end + 1);
  const counts = new Int32Array(end + 1);
  for (let t = 0; t < end; t++) {
    const value = values[t * channels + channel];
    const isKnown = Number.isFinite(value);
    sums[t + 1] = sums[t] + (isKnown ? value : 0);
    counts[t + 1] = counts[t] + (isKnown ? 1 : 0);
  }
  return Float64Array.from({ length: end }, (_, t) => {
    const from = Math.min(Math.max(0, t - Math.floor(length / 2)), end - length);
    const known = counts[from + length] - counts[from];
    if (2 * known < length) return Number.NaN;
    return values[t * channels + channel] - (sums[from + length] - sums[from]) / known;
  });
}

interface Moments {
  readonly mean: Float64Array;
  readonly count: Float64Array;
  /** Sums of squared deviations from the mean. */
  readonly squares: Float64Array;
}

function momentsByPhase(values: Float64Array, period: number, firstStep: number): Moments {
  const mean = new Float64Array(period);
  const count = new Float64Array(period);
  const squares = new Float64Array(period);
  let phase = modulo(firstStep, period);
  for (let t = 0; t < values.length; t++, phase = phase + 1 === period ? 0 : phase + 1) {
    const value = values[t];
    if (!Number.isFinite(value)) continue;
    count[phase]++;
    const change = value - mean[phase];
    mean[phase] += change / count[phase];
    squares[phase] += change * (value - mean[phase]);
  }
  return { mean, count, squares };
}

/** Null when a phase was seen only once: its noise is unknown. */
function shareOf({ mean, count, squares }: Moments): number | null {
  let noise = 0;
  let signal = 0;
  for (let phase = 0; phase < mean.length; phase++) {
    if (count[phase] < 2) return null;
    noise += squares[phase] / (count[phase] - 1) / count[phase];
    signal += mean[phase] * mean[phase];
  }
  return signal > 0 ? 1 - noise / signal : 0;
}
