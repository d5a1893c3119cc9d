// The largest of many numbers that change all the time, each at a place of its own. A binary tree of maxima: a change costs
// two comparisons in the usual case and one per level at worst; the few largest are found without visiting the others.

/** A place without a number. */
const nothing = Number.NEGATIVE_INFINITY;

export class MaxTree {
  /** [1] is the largest of all; [2i] and [2i + 1] are below [i]. The second half holds the numbers themselves. */
  #maxima = new Float64Array(2).fill(nothing);
  #leaves = 1;

  set(place: number, value: number): void {
    while (place >= this.#leaves) this.#grow();
    const maxima = this.#maxima;
    let node = this.#leaves + place;
    maxima[node] = value;
    for (node >>= 1; node > 0; node >>= 1) {
      const largest = Math.max(maxima[2 * node], maxima[2 * node + 1]);
      if (maxima[node] === largest) return;
      maxima[node] = largest;
    }
  }

  remove(place: number): void {
    this.set(place, nothing);
  }

  /** The places of the largest numbers, the largest first. */
  largest(most: number): readonly number[] {
    const maxima = this.#maxima;
    // Subtrees not yet looked into, the one with the largest number last.
    const open: number[] = [];
    const insert = (node: number) => {
      if (maxima[node] === nothing) return;
      let at = open.length;
      while (at > 0 && maxima[open[at - 1]] >= maxima[node]) at--;
      open.splice(at, 0, node);
      // Only `most` subtrees can hold the numbers that are asked for.
      if (open.length > most) open.shift();
    };
    const places: number[] = [];
    if (most > 0) insert(1);
    while (places.length < most) {
      const node = open.pop();
      if (node === undefined) break;
      if (node >= this.#leaves) {
        places.push(node - this.#leaves);
      } else {
        insert(2 * node + 1);
        insert(2 * node);
      }
    }
    return places;
  }

  #grow(): void {
    const leaves = 2 * this.#leaves;
    const maxima = new Float64Array(2 * leaves).fill(nothing);
    maxima.set(this.#maxima.subarray(this.#leaves), leaves);
    for (let node = leaves - 1; node > 0; node--)
      maxima[node] = Math.max(maxima[2 * node], maxima[2 * node + 1]);
    this.#maxima = maxima;
    this.#leaves = leaves;
  }
}
