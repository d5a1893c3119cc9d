import assert from "node:assert/strict";
import { test } from "node:test";
import { SeriesMemory } from "../../../src/score/series-memory.ts";

test("places of a size never overlap, however many are taken", () => {
  const memory = new SeriesMemory();
  const places = Array.from({ length: 300 }, () => memory.take(6_205));
  for (const [i, { block, at }] of places.entries()) block.bytes.fill(i % 251, at, at + 6_205);
  for (const [i, { block, at }] of places.entries()) {
    assert.equal(at % 8, 0);
    assert.ok(
      block.bytes.subarray(at, at + 6_205).every((byte) => byte === i % 251),
      `place ${i}`,
    );
  }
});

test("a place that is given back is taken again, as zeroes, for the same size only", () => {
  const memory = new SeriesMemory();
  const place = memory.take(100);
  place.block.bytes.fill(7, place.at, place.at + 104);
  memory.giveBack(place);
  assert.notEqual(memory.take(200).block, place.block);
  const again = memory.take(97);
  assert.equal(again, place);
  assert.ok(again.block.bytes.subarray(again.at, again.at + 104).every((byte) => byte === 0));
});
