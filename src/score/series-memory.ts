// Memory for the numbers of many series: blocks of typed arrays, cut into places of one size. A typed array of its own
// costs a series some 200 bytes and the garbage collector a visit; a place in a block costs neither. Whoever takes a
// place gives it back.

export interface Block {
  /** Of each place. */
  readonly placeBytes: number;
  /** All over the same bytes. */
  readonly doubles: Float64Array;
  readonly floats: Float32Array;
  readonly ints: Int32Array;
  readonly bytes: Uint8Array;
}

export interface Place {
  readonly block: Block;
  /** In bytes; a multiple of eight. */
  readonly at: number;
}

/** A partition may have few series, and of several sizes: the blocks of a size grow up to here. */
const LARGEST_BLOCK = 256 * 1024;

export class SeriesMemory {
  readonly #bySize = new Map<number, { readonly free: Place[]; blockBytes: number }>();

  /** Zeroes. */
  take(bytes: number): Place {
    const size = placeBytes(bytes);
    let places = this.#bySize.get(size);
    if (places === undefined) {
      places = { free: [], blockBytes: size };
      this.#bySize.set(size, places);
    }
    const used = places.free.pop();
    if (used !== undefined) return used;
    const block = blockOf(places.blockBytes, size);
    for (let at = places.blockBytes - size; at > 0; at -= size) places.free.push({ block, at });
    // The next block is twice as large.
    places.blockBytes = Math.max(
      size,
      Math.floor(Math.min(2 * places.blockBytes, LARGEST_BLOCK) / size) * size,
    );
    return { block, at: 0 };
  }

  giveBack(place: Place): void {
    const { block, at } = place;
    block.bytes.fill(0, at, at + block.placeBytes);
    this.#bySize.get(block.placeBytes)?.free.push(place);
  }
}

/** A place that belongs to no memory, for one that is used alone. */
export function placeAlone(bytes: number): Place {
  const size = placeBytes(bytes);
  return { block: blockOf(size, size), at: 0 };
}

function placeBytes(bytes: number): number {
  return Math.ceil(bytes / 8) * 8;
}

function blockOf(bytes: number, size: number): Block {
  const buffer = new ArrayBuffer(bytes);
  return {
    placeBytes: size,
    doubles: new Float64Array(buffer),
    floats: new Float32Array(buffer),
    ints: new Int32Array(buffer),
    bytes: new Uint8Array(buffer),
  };
}
