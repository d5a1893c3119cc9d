// The most that four-lane arithmetic can do here: products and additions of registers alone, in WebAssembly as the
// kernel is. A kernel's rate divided by this is its share of the peak.
//
// Each of CHAINS sums repeats s ← s·m + a. One chain waits for itself; enough of them keep every unit busy, and
// with m and a they fit into the 15 vector registers that the engine hands out.

const CHAINS = 13;
const UNROLLED = 4;
const LANES = 4;

const getLocal = 0x20;
const setLocal = 0x21;
const teeLocal = 0x22;
const add = [0xfd, 0xe4, 0x01];
const multiply = [0xfd, 0xe6, 0x01];

/** Locals: 0 the counter, 1 m, 2 a, then the sums. */
const M = 1;
const A = 2;
const FIRST_SUM = 3;

/** GFLOP/s of one thread: the best of some short runs, since others may share the machine. */
export function measureSimdPeak(runs = 60): number {
  const run = peakLoop();
  const turns = 20_000;
  const flops = turns * UNROLLED * CHAINS * LANES * 2;
  let best = 0;
  // The first runs are in the engine's quick and slow code.
  for (let i = 0; i < runs; i++) {
    const start = performance.now();
    run(turns);
    best = Math.max(best, flops / (performance.now() - start) / 1e6);
  }
  return best;
}

function peakLoop(): (turns: number) => number {
  const module = new WebAssembly.Module(Uint8Array.from(moduleBytes()));
  return new WebAssembly.Instance(module).exports.run as (turns: number) => number;
}

function moduleBytes(): number[] {
  const functionBody = [1, CHAINS + 2, 0x7b, ...body(), 0x0b];
  return [
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, [1, 0x60, 1, 0x7f, 1, 0x7d]),
    ...section(3, [1, 0]),
    ...section(7, [1, 3, ..."run".split("").map((c) => c.charCodeAt(0)), 0, 0]),
    ...section(10, [1, ...leb(functionBody.length), ...functionBody]),
  ];
}

function body(): number[] {
  const sums = Array.from({ length: CHAINS }, (_, i) => FIRST_SUM + i);
  const turn = sums.flatMap((sum) => [
    getLocal,
    sum,
    getLocal,
    M,
    ...multiply,
    getLocal,
    A,
    ...add,
    setLocal,
    sum,
  ]);
  return [
    ...[M, A, ...sums].flatMap((local) => [...splat(local === M ? 0.5 : local / 8), setLocal, local]),
    ...[0x03, 0x40],
    ...Array.from({ length: UNROLLED }, () => turn).flat(),
    ...[getLocal, 0, 0x41, 1, 0x6b, teeLocal, 0, 0x0d, 0, 0x0b],
    // The sums are used, lest the loop be dropped.
    ...[getLocal, sums[0], ...sums.slice(1).flatMap((sum) => [getLocal, sum, ...add])],
    ...[0xfd, 0x1f, 0],
  ];
}

function splat(value: number): number[] {
  return [0x43, ...new Uint8Array(Float32Array.of(value).buffer), 0xfd, 0x13];
}

function section(id: number, content: readonly number[]): number[] {
  return [id, ...leb(content.length), ...content];
}

/** A length as the format writes it: seven bits a byte, the last without its highest bit. */
function leb(value: number): number[] {
  return value < 128 ? [value] : [(value & 127) | 128, ...leb(value >> 7)];
}
