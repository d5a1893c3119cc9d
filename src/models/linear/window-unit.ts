// The unit of a cohort's model: members differ in scale, which each brings with its window.

/** A window this flat, relative to the history, would amplify noise. */
const flattest = 0.01;

/** Standard deviation of a channel of the window, but at least `flattest` times the scale of the history. */
export function windowUnit(window: Float64Array, channels: number, channel: number, scale: number): number {
  const steps = window.length / channels;
  let sum = 0;
  let squares = 0;
  // Relative to the last value, so that a high level costs no precision.
  const last = window[window.length - channels + channel];
  for (let i = channel; i < window.length; i += channels) {
    sum += window[i] - last;
    squares += (window[i] - last) ** 2;
  }
  const deviation = Math.sqrt(Math.max(0, squares / steps - (sum / steps) ** 2));
  return Math.max(deviation, flattest * scale);
}
