// Numbers that look random and are the same in every run, so that a story that failed fails again.

/** Uniform in [0, 1): a multiply-with-carry generator, which is plenty for choosing cases. */
export function seededRandom(seed: number): () => number {
  let low = seed >>> 0 || 1;
  let carry = 362_436_069;
  return () => {
    const product = BigInt(low) * 4_294_957_665n + BigInt(carry);
    low = Number(product & 0xffff_ffffn);
    carry = Number(product >> 32n);
    return low / 2 ** 32;
  };
}
