// Half precision (IEEE 754 binary16) to and from single precision: how a model is stored in half the bytes.

/** The largest finite number of half precision. */
export const largestFloat16 = 65504;

const single = new Float32Array(1);
const bits = new Uint32Array(single.buffer);

/** The nearest half-precision number, ties to even; what is too large becomes infinite. */
export function toFloat16(value: number): number {
  single[0] = value;
  const sign = (bits[0] >>> 16) & 0x8000;
  const exponent = ((bits[0] >>> 23) & 0xff) - 127;
  const fraction = bits[0] & 0x7fffff;
  if (exponent === 128) return sign | 0x7c00 | (fraction === 0 ? 0 : 0x200);
  if (exponent > 15) return sign | 0x7c00;
  // Below 2⁻¹⁴ half precision has no leading one of its own: it is made a digit of the fraction.
  if (exponent < -14) return sign | roundOff(fraction | 0x800000, -1 - exponent);
  // A fraction that rounds up to 2 carries into the exponent, and from the last exponent into infinity.
  return sign | (((exponent + 15) << 10) + roundOff(fraction, 13));
}

/** Shifts right by `places` with rounding to even. */
function roundOff(value: number, places: number): number {
  if (places > 31) return 0;
  const kept = value >>> places;
  const rest = value - kept * 2 ** places;
  const half = 2 ** (places - 1);
  return rest > half || (rest === half && (kept & 1) === 1) ? kept + 1 : kept;
}

/** Every half-precision number is a single-precision one. */
export function fromFloat16(half: number): number {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >>> 10) & 0x1f;
  const fraction = half & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (1024 + fraction) * 2 ** (exponent - 25);
}
