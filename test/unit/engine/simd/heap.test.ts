// Pieces of the kernel's memory never overlap, and what is given back is used again.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Heap } from "../../../../src/engine/simd/heap.ts";

const PAGE = 65_536;

test("a place given back is the next one handed out, joined with its neighbours", () => {
  const heap = new Heap(new WebAssembly.Memory({ initial: 1 }));
  const [a, b, c, last] = [1024, 1000, 1024, 1024].map((bytes) => heap.reserve(bytes));
  heap.release(a);
  heap.release(c);
  heap.release(b);
  assert.equal(heap.reserve(3 * 1024), a);
  heap.release(last);
  assert.equal(heap.reserve(PAGE), last, "the piece at the end grows in place");
});

test("pieces do not overlap and hold what is written to them while others come and go", () => {
  const heap = new Heap(new WebAssembly.Memory({ initial: 1 }));
  const kept = new Map<number, { count: number; mark: number }>();
  for (let turn = 0; turn < 400; turn++) {
    const count = 1 + ((turn * 7919) % 5000);
    const address = heap.reserve(count * 4);
    assert.equal(address % 64, 0);
    new Float32Array(heap.buffer, address, count).fill(turn);
    kept.set(address, { count, mark: turn });
    const [oldest] = kept.keys();
    if (turn % 3 !== 0) {
      heap.release(oldest);
      kept.delete(oldest);
    }
  }
  for (const [address, { count, mark }] of kept) {
    assert.ok(new Float32Array(heap.buffer, address, count).every((value) => value === mark));
  }
});

test("giving back what was not handed out is refused", () => {
  const heap = new Heap(new WebAssembly.Memory({ initial: 1 }));
  assert.throws(() => heap.release(PAGE), /nothing is reserved at 65536/);
});

test("what can never fit is refused with its size", () => {
  const heap = new Heap(new WebAssembly.Memory({ initial: 1, maximum: 4 }));
  assert.throws(() => heap.reserve(2 ** 30), /cannot grow to 1025 MiB/);
});
