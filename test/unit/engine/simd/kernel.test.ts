// The heap of the kernel's memory: blocks never overlap, and released blocks are reused.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Heap } from "../../../../src/engine/simd/kernel.ts";

const PAGE = 65_536;

test("released blocks are joined with adjacent gaps and reused", () => {
  const heap = new Heap(new WebAssembly.Memory({ initial: 1 }));
  const [a, b, c, last] = [1024, 1000, 1024, 1024].map((bytes) => heap.reserve(bytes));
  heap.release(a);
  heap.release(c);
  heap.release(b);
  assert.equal(heap.reserve(3 * 1024), a);
  heap.release(last);
  assert.equal(heap.reserve(PAGE), last, "the gap at the end grows in place");
});

test("blocks do not overlap, and keep their content while others come and go", () => {
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

test("releasing an address that is not reserved throws", () => {
  const heap = new Heap(new WebAssembly.Memory({ initial: 1 }));
  assert.throws(() => heap.release(PAGE), /nothing is reserved at 65536/);
});

test("a reservation beyond the maximum is refused, and the error has the size", () => {
  const heap = new Heap(new WebAssembly.Memory({ initial: 1, maximum: 4 }));
  assert.throws(() => heap.reserve(2 ** 30), /cannot grow to 1025 MiB/);
});
