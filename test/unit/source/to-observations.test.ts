import assert from "node:assert/strict";
import { test } from "node:test";
import {
  defaultFields,
  jsonObservations,
  type ObservationCodec,
} from "../../../src/log/codec/observation-codec.ts";
import { fromDeadLetterHeaders, toDeadLetter } from "../../../src/log/dead-letter.ts";
import type { Commit, OwnedPartition, StoredBatch, StoredRecord } from "../../../src/log/log.ts";
import { type SourceParts, toObservations } from "../../../src/source/to-observations.ts";
import { untimed } from "../../rig/untimed.ts";

const NOW_MS = Date.UTC(2024, 0, 2);
const json = jsonObservations(defaultFields, { maxRecordBytes: 1000, maxIdLength: 10, maxChannels: 8 });

const stored = (offset: number, body: unknown, timestampMs = NOW_MS): StoredRecord => ({
  ...{ offset, timestampMs, key: Buffer.from("k"), headers: [] },
  value: Buffer.from(typeof body === "string" ? body : JSON.stringify(body)),
});

/** Runs one batch through the stage. */
async function readOne(
  records: readonly StoredRecord[],
  changes: Partial<SourceParts> = {},
  commitFailure: Error | null = null,
) {
  const counted: string[] = [];
  const commits: Commit[] = [];
  const parts: SourceParts = {
    codecByTopic: new Map([["in", json]]),
    deadLetters: { topic: "dead", partitions: 2, maxBytes: 1_000_000 },
    futureToleranceMs: 1000,
    maxBatchRecords: 3,
    behindAfterMs: 60_000,
    clock: { nowMs: () => NOW_MS },
    metrics: {
      ...untimed,
      batch: (count) => counted.push(`batch ${count}`),
      failedBatch: () => {},
      deadLetter: (reason) => counted.push(reason),
    },
    ...changes,
  };
  const batch: StoredBatch = { topic: "in", partition: 3, records, nextOffset: 70 };
  const owned: Partial<OwnedPartition> = {
    partition: 3,
    async *batches() {
      yield batch;
    },
    commit: async (commit) => {
      if (commitFailure !== null) throw commitFailure;
      commits.push(commit);
    },
  };
  for await (const result of toObservations(owned as OwnedPartition, parts))
    return { result, counted, commits };
  throw new Error("the stage swallowed the batch");
}

test("readable records become observations with their record, the others dead letters of the same batch", async () => {
  const records = [
    stored(7, { seriesId: "a", time: 5, value: [1, 2] }),
    stored(8, "?"),
    stored(9, { time: 5 }),
  ];
  const { result, counted } = await readOne(records);
  const place = { topic: "in", partition: 3, record: records[0] };
  assert.deepEqual(result.items, [{ seriesId: "a", timeMs: 5, values: [1, 2], place }]);
  assert.deepEqual(
    result.records.map(({ topic, partition, value }) => [topic, partition, value]),
    [
      ["dead", 1, records[1].value],
      ["dead", 1, records[2].value],
    ],
  );
  assert.deepEqual(counted, ["batch 3"]);
});

test("dead letters of all stages are counted when they are committed, and not before", async () => {
  const records = [stored(8, "?"), stored(9, { time: 5 })];
  const failed = await readOne(records, {}, new Error("no"));
  await assert.rejects(failed.result.settle(failed.result.records), /no/);
  assert.deepEqual(failed.counted, ["batch 2"]);
  const { result, counted } = await readOne(records);
  const place = { topic: "in", partition: 3, record: stored(10, "x") };
  const to = { topic: "dead", partitions: 2, maxBytes: 1_000_000 };
  const later = toDeadLetter(place, { reason: "wrong-channels", detail: "two" }, to);
  await result.settle([...result.records, { topic: "out", partition: 0, key: null, value: null }, later]);
  assert.deepEqual(counted, ["batch 2", "undecodable", "missing-series", "wrong-channels"]);
});

test("a record whose codec throws becomes a dead letter, and the other records are read", async () => {
  const codec: ObservationCodec = {
    prepare: () => undefined,
    decode: (record) => {
      if (record.value?.includes("boom")) throw new RangeError("out of its depth");
      return json.decode(record);
    },
  };
  const body = { seriesId: "a", time: 5, value: 1 };
  const records = [stored(0, body), stored(1, "boom"), stored(2, body)];
  const { result } = await readOne(records, { codecByTopic: new Map([["in", codec]]) });
  assert.equal(result.items.length, 2);
  const { reason, detail, offset } = fromDeadLetterHeaders(result.records[0].headers ?? []) ?? {};
  assert.deepEqual([reason, offset], ["undecodable", 1]);
  assert.equal(detail, "the record cannot be read: out of its depth");
});

test("settling commits the given records and the position after the batch", async () => {
  const { result, commits } = await readOne([stored(69, { seriesId: "a", time: 5, value: 1 })]);
  await result.settle(result.records);
  assert.deepEqual(commits, [{ records: [], topic: "in", nextOffset: 70 }]);
});

test("a time is future-dated only beyond the tolerance", async () => {
  const at = (timeMs: number) => stored(0, { seriesId: "a", time: timeMs, value: 1 });
  const { result } = await readOne([at(NOW_MS + 1000), at(NOW_MS + 1001)]);
  assert.deepEqual(
    result.items.map(({ timeMs }) => timeMs),
    [NOW_MS + 1000],
  );
  const { reason, detail } = fromDeadLetterHeaders(result.records[0].headers ?? []) ?? {};
  assert.equal(reason, "future-time");
  assert.equal(detail, "the time 2024-01-02T00:00:01.001Z is more than 1000 ms ahead of the clock");
});

test("a batch is behind by its oldest record, has arrived with its newest, and is never behind if that is turned off", async () => {
  const body = { seriesId: "a", time: 5, value: 1 };
  const records = [stored(0, body, NOW_MS - 60_001), stored(1, body, NOW_MS - 10)];
  const { result } = await readOne(records);
  assert.deepEqual([result.isBehind, result.arrivedMs], [true, NOW_MS - 10]);
  assert.equal((await readOne(records.slice(1))).result.isBehind, false);
  assert.equal((await readOne([stored(0, body, NOW_MS - 60_000)])).result.isBehind, false);
  assert.equal((await readOne(records, { behindAfterMs: 0 })).result.isBehind, false);
});

test("records without a time and unreadable batches do not decide when a batch arrived or whether it is behind", async () => {
  const body = { seriesId: "a", time: 5, value: 1 };
  const unreadable = { ...stored(1, "?", 1), unreadable: "the checksum does not match" };
  const good = stored(2, body, NOW_MS - 10);
  for (const odd of [unreadable, stored(1, body, 0), stored(1, body, -1)]) {
    for (const records of [
      [odd, good],
      [good, odd],
    ]) {
      const { isBehind, arrivedMs } = (await readOne(records)).result;
      assert.deepEqual([isBehind, arrivedMs], [false, NOW_MS - 10]);
    }
    const { isBehind, arrivedMs } = (await readOne([odd])).result;
    assert.deepEqual([isBehind, arrivedMs], [false, null]);
  }
});

test("the event time of a batch is that of its newest observation, whatever else it holds", async () => {
  const at = (offset: number, time: number) => stored(offset, { seriesId: "a", time, value: 1 });
  assert.equal((await readOne([at(0, 5), at(1, 9), at(2, 7)])).result.eventMs, 9);
  assert.equal((await readOne([stored(0, "?")])).result.eventMs, null);
});

test("a format that must fetch a schema first is awaited", async () => {
  const events: string[] = [];
  const codec: ObservationCodec = {
    prepare: async () => void events.push("prepared"),
    decode: (record) => {
      events.push("decoded");
      return json.decode(record);
    },
  };
  await readOne([stored(0, "?")], { codecByTopic: new Map([["in", codec]]) });
  assert.deepEqual(events, ["prepared", "decoded"]);
});

test("a batch of a topic without a configured format throws", async () => {
  await assert.rejects(
    readOne([], { codecByTopic: new Map() }),
    /no input format is configured for topic in/,
  );
});
