// Memory for the values of windows, cut from slabs: an array buffer of its own for every window keeps the
// garbage collector busier than all else that a forecast leaves behind.

/** Some hundred windows. A window keeps its slab alive, so this is also the most that a single one can. */
const SLAB_VALUES = 8192;

let slab = new Float64Array(SLAB_VALUES);
let used = 0;

/** Zeroed memory that nobody else is given. */
export function cutValues(length: number): Float64Array {
  if (length > slab.length - used) {
    slab = new Float64Array(Math.max(SLAB_VALUES, length));
    used = 0;
  }
  const values = new Float64Array(slab.buffer, used * Float64Array.BYTES_PER_ELEMENT, length);
  used += length;
  return values;
}
