import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { Outgoing } from "../../../../src/domain.ts";
import { cutRequests, largestRecordError } from "../../../../src/log/kafka/produce-requests.ts";

const LIMIT = 2_000;
const findTopic = async (topic: string) => ({
  topic,
  partitions: 3,
  compacted: false,
  maxMessageBytes: topic === "roomy" ? 16_000_000 : LIMIT,
});

const record = (topic: string, partition: number, bytes: number, name = ""): Outgoing => ({
  topic,
  partition,
  key: Buffer.from(name),
  value: Buffer.alloc(bytes),
});

const records = fc.array(
  fc
    .tuple(fc.constantFrom("x", "y"), fc.nat(2), fc.nat(1_800))
    .map(([topic, partition, bytes]) => record(topic, partition, bytes)),
  { maxLength: 60 },
);

describe("cutting records into requests", () => {
  test("keeps every record, in order within its partition, and every batch below its topic's limit", async () => {
    await fc.assert(
      fc.asyncProperty(records, async (given) => {
        const named = given.map((item, i) => ({ ...item, key: Buffer.from(String(i)) }));
        const requests = await cutRequests(named, findTopic);
        for (const topic of ["x", "y"]) {
          for (const partition of [0, 1, 2]) {
            const isHere = (item: { partition?: number }) => item.partition === partition;
            const batches = requests.map((request) =>
              request.filter((part) => part.topic === topic).flatMap((part) => part.messages.filter(isHere)),
            );
            const bytesOf = (batch: (typeof batches)[number]) =>
              batch.reduce((sum, { key, value }) => sum + (key?.length ?? 0) + (value?.length ?? 0), 0);
            assert.ok(batches.every((batch) => bytesOf(batch) <= LIMIT));
            const wanted = named.filter((item) => item.topic === topic && isHere(item));
            assert.deepEqual(
              batches.flat().map(({ key }) => String(key)),
              wanted.map(({ key }) => String(key)),
            );
          }
        }
      }),
      { numRuns: 50 },
    );
  });

  test("needs one request for what fits, whatever the number of topics and partitions", async () => {
    const requests = await cutRequests(
      [record("x", 0, 1_500), record("x", 1, 1_500), record("y", 0, 1_500)],
      findTopic,
    );
    assert.deepEqual(
      requests.map((request) => request.map(({ topic, messages }) => [topic, messages.length])),
      [
        [
          ["x", 2],
          ["y", 1],
        ],
      ],
    );
    assert.deepEqual(await cutRequests([], findTopic), []);
  });

  test("cuts small records of a roomy topic at a modest size, but lets a large one through alone", async () => {
    const small = Array.from({ length: 20 }, () => record("roomy", 0, 100_000));
    const sizes = (await cutRequests([...small, record("roomy", 0, 5_000_000)], findTopic)).map((request) =>
      request[0].messages.reduce((sum, { value }) => sum + (value?.length ?? 0), 0),
    );
    assert.deepEqual(sizes, [800_000, 800_000, 400_000, 5_000_000]);
  });

  test("passes keys, values and headers on as they are", async () => {
    const headers = { why: "bad-time" };
    const given: Outgoing = { topic: "x", partition: 2, key: null, value: null, headers };
    const [[{ messages }]] = await cutRequests([given], findTopic);
    assert.deepEqual(messages, [given]);
  });
});

describe("a record that cannot be sent", () => {
  test("is named with its topic, size and the limit when it is too large, its headers counted", async () => {
    await assert.rejects(cutRequests([record("x", 0, 10), record("x", 0, 2_000, "a#0")], findTopic), {
      code: "RECORD_TOO_LARGE",
      message: /topic x has \d+ bytes, the topic takes 2000: raise its max\.message\.bytes/,
      context: { topic: "x", bytes: 2_103, limit: 2_000, key: "a#0" },
    });
    const heavy = { ...record("x", 0, 10), headers: { detail: "d".repeat(2_000) } };
    await assert.rejects(cutRequests([heavy], findTopic), { code: "RECORD_TOO_LARGE" });
  });

  test("is refused when its partition does not exist", async () => {
    await assert.rejects(cutRequests([record("x", 3, 1)], findTopic), {
      code: "TOPIC_UNFIT",
      message: "a record is bound for partition 3 of topic x, which has 3: add partitions to it",
    });
  });

  test("is taken to be the largest when only the broker noticed", async () => {
    const cause = new Error("MESSAGE_TOO_LARGE");
    const error = await largestRecordError(
      [record("x", 0, 5), record("y", 0, 9), record("x", 0, 7)],
      findTopic,
      cause,
    );
    assert.deepEqual([error.code, error.context.topic, error.cause], ["RECORD_TOO_LARGE", "y", cause]);
  });
});
