import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { BatchPacer } from "../../../../src/log/kafka/batch-pacer.ts";
import { KafkaOwnership, type KafkaOwnershipOptions } from "../../../../src/log/kafka/kafka-ownership.ts";
import type { OffsetRange } from "../../../../src/log/kafka/offset-ranges.ts";
import type { InputGap } from "../../../../src/log/kafka/positions.ts";
import type { Transactor } from "../../../../src/log/kafka/transactor.ts";
import { makeDelaysInstant, turns } from "./instant-delays.ts";

makeDelaysInstant();

interface LaneParts extends Partial<KafkaOwnershipOptions> {
  readonly positions?: readonly (readonly [string, number | null])[];
  readonly ranges?: Readonly<Record<string, OffsetRange>>;
  readonly start?: "earliest" | "latest";
  readonly recreated?: readonly string[];
  /** Topics that are known to be the same as at the last commit. */
  readonly same?: readonly string[];
  open?(): Promise<void>;
}

/** An ownership whose steps are recorded in order. */
function openLane(given: LaneParts) {
  const {
    positions = [],
    ranges = {},
    start = "earliest",
    recreated = [],
    same = [],
    open,
    ...parts
  } = given;
  const steps: string[] = [];
  const gaps: InputGap[] = [];
  const errors: unknown[] = [];
  const transactor = {
    open: async (topics: readonly string[]) => {
      await open?.();
      steps.push(`open ${topics}`);
      return new Map(
        positions.map(([topic, position]) => [
          topic,
          { position, isRecreated: recreated.includes(topic), isSameTopic: same.includes(topic) },
        ]),
      );
    },
    commit: async ({ topic, nextOffset }: { topic: string; nextOffset: number }) =>
      void steps.push(`commit ${topic} ${nextOffset}`),
    close: async () => void steps.push("close"),
  } as unknown as Transactor;
  const lane = new KafkaOwnership({
    partition: 1,
    topics: positions.map(([topic]) => topic),
    maxBatchBytes: 1_000_000,
    pacer: new BatchPacer(0),
    subscription: {
      group: "g",
      inputs: [],
      positionsTopic: "state",
      outputs: ["state"],
      start,
      maxBatchRecords: 10,
    },
    handler: async () => void steps.push("work"),
    previous: undefined,
    reads: { restore: async function* () {}, tail: async function* () {} },
    transactor: () => transactor,
    findRange: async (topic) => ranges[topic] ?? { first: 0, end: 0 },
    startFetching: () => void steps.push("read"),
    resume: () => undefined,
    onGap: (gap) => void gaps.push(gap),
    onError: async (error) => void errors.push(error),
    ...parts,
  });
  return { lane, steps, gaps, errors };
}

const range = { first: 5, end: 9 };

describe("an ownership", () => {
  test("opens its partition, starts fetching, runs the handler and closes, in this order", async () => {
    const { lane, steps } = openLane({ positions: [["a", 7]], ranges: { a: range } });
    assert.equal(lane.isReading, false);
    await lane.closed;
    assert.deepEqual(steps, ["open a", "read", "work", "close"]);
    assert.equal(lane.isReading, true);
    assert.equal(lane.owned.targets[0].wanted, 7);
  });

  test("waits for the previous ownership of the partition", async () => {
    let release: () => void = () => undefined;
    const previous = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { lane, steps } = openLane({ previous });
    await turns();
    assert.deepEqual(steps, []);
    release();
    await lane.closed;
    assert.equal(steps[0], "open ");
  });

  for (const [start, begin] of [
    ["earliest", 5],
    ["latest", 9],
  ] as const) {
    test(`starts a topic without a position at its ${start}, and commits that before the handler runs`, async () => {
      const { lane, steps } = openLane({ positions: [["a", null]], ranges: { a: range }, start });
      await lane.closed;
      assert.deepEqual(steps, ["open a", `commit a ${begin}`, "read", "work", "close"]);
      assert.equal(lane.owned.targets[0].wanted, begin);
    });
  }

  test("reads a recreated topic from its start, whatever is configured, and reports the gap", async () => {
    const { lane, steps, gaps } = openLane({
      ...{ positions: [["a", null]], ranges: { a: range }, start: "latest", recreated: ["a"] },
    });
    await lane.closed;
    assert.equal(steps[1], "commit a 5");
    assert.deepEqual(gaps, [{ topic: "a", partition: 1, kind: "recreated", position: null, resumedAt: 5 }]);
  });

  test("reports a committed position that no longer exists, and resumes at the start of the topic", async () => {
    const { lane, gaps } = openLane({
      positions: [
        ["a", 2],
        ["b", 12],
      ],
      ranges: { a: range, b: range },
    });
    await lane.closed;
    assert.deepEqual(
      gaps.map(({ topic, kind, resumedAt }) => [topic, kind, resumedAt]),
      [
        ["a", "retention", 5],
        ["b", "recreated", 5],
      ],
    );
    assert.deepEqual(
      lane.owned.targets.map(({ wanted }) => wanted),
      [5, 5],
    );
  });

  test("waits for a broker that does not have all records that were read yet", async () => {
    const ends = [9, 9, 12];
    const { lane, gaps } = openLane({
      ...{ positions: [["a", 12]], same: ["a"] },
      findRange: async () => ({ first: 5, end: ends.shift() as number }),
    });
    await lane.closed;
    assert.deepEqual([gaps, ends], [[], []]);
    assert.equal(lane.owned.targets[0].wanted, 12);
  });

  test("resumes at the end of a topic that has lost records that were read, and reads nothing twice", async () => {
    const { lane, gaps, steps } = openLane({
      ...{ positions: [["a", 12]], ranges: { a: range }, same: ["a"] },
    });
    await lane.closed;
    assert.deepEqual(gaps, [{ topic: "a", partition: 1, kind: "truncated", position: 12, resumedAt: 9 }]);
    assert.equal(steps[1], "commit a 9");
    assert.equal(lane.owned.targets[0].wanted, 9);
  });

  test("that is lost before it knows its positions neither fetches nor runs the handler", async () => {
    const bench = openLane({
      positions: [["a", 7]],
      ranges: { a: range },
      open: async () => bench.lane.lose(),
    });
    await bench.lane.closed;
    assert.deepEqual(bench.steps, ["open a", "close"]);
    assert.equal(bench.lane.owned.lost.aborted, true);
  });

  for (const [where, parts] of [
    ["opening the partition", { open: () => Promise.reject(new Error("broken")) }],
    ["looking up a range", { positions: [["a", 1]], findRange: () => Promise.reject(new Error("broken")) }],
    ["the handler", { handler: () => Promise.reject(new Error("broken")) }],
  ] as readonly (readonly [string, LaneParts])[]) {
    test(`reports a failure in ${where}, and closes all the same`, async () => {
      const { lane, steps, errors } = openLane(parts);
      await lane.closed;
      assert.deepEqual(errors.map(String), ["Error: broken"]);
      assert.equal(steps.at(-1), "close");
    });
  }

  test("reports input that cannot be read", async () => {
    const { lane, errors } = openLane({ positions: [["a", 7]], ranges: { a: range } });
    await lane.closed;
    lane.owned.targets[0].fail(new Error("broken"));
    assert.match(String(errors), /topic a could not be read: broken$/);
  });
});
