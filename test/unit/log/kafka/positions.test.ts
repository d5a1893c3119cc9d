import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  fromPositionsRecord,
  recreatedTopics,
  type StoredPositions,
  soleSource,
  toPositionsRecord,
} from "../../../../src/log/kafka/positions.ts";

const stored: StoredPositions = {
  commitId: "1-0-0",
  positionByTopic: new Map([
    ["a", 5],
    ["b", 7],
  ]),
  topicIdByTopic: new Map([
    ["a", "a1"],
    ["b", "b1"],
  ]),
  stateTopicId: "s1",
};

test("positions are read from their record as they were written, including ids", () => {
  const record = toPositionsRecord(stored, "state", 3);
  assert.equal(record.partition, 3);
  assert.deepEqual(fromPositionsRecord({ value: record.value ?? null }), stored);
});

test("a tombstone holds no positions", () => {
  assert.equal(fromPositionsRecord({ value: null }), null);
});

describe("a topic counts as recreated", () => {
  const found = (a: string | null, b: string | null) =>
    new Map([
      ["a", a],
      ["b", b],
    ]);

  test("when its id has changed, and no other topic does", () => {
    assert.deepEqual([...recreatedTopics(stored, found("a2", "b1"), "s1")], ["a"]);
  });

  test("never on another cluster, where the state topic has another id, too", () => {
    assert.deepEqual([...recreatedTopics(stored, found("a2", "b2"), "s2")], []);
  });

  test("never if the brokers assign no ids, or nothing was ever stored", () => {
    assert.deepEqual([...recreatedTopics(stored, found(null, null), null)], []);
    assert.deepEqual([...recreatedTopics(stored, found(null, null), "s1")], []);
    assert.deepEqual([...recreatedTopics(null, found("a2", "b2"), "s1")], []);
  });
});

test("a position has only one source if the other has none or another one", () => {
  assert.equal(soleSource(5, 5, 5), null);
  assert.equal(soleSource(null, null, null), null);
  assert.equal(soleSource(null, 5, 5), null, "of a topic made anew");
  assert.equal(soleSource(5, 5, null), "state");
  assert.equal(soleSource(5, 5, 4), "state");
  assert.equal(soleSource(4, 5, 4), "group");
  assert.equal(soleSource(4, null, 4), "group");
  assert.equal(soleSource(0, null, 0), "group");
});
