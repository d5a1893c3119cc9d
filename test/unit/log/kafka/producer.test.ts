import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { Outgoing } from "../../../../src/domain.ts";
import {
  deliver,
  encodeRecordBatch,
  type FindTopic,
  largestRecordError,
  planRounds,
} from "../../../../src/log/kafka/producer.ts";
import { decodeRecordSet } from "../../../../src/log/kafka/wire/fetched-records.ts";
import { ScriptedCluster } from "./scripted-link.ts";
import { topicFacts } from "./topic-facts.ts";
import { plain, LIMIT as READ_LIMIT } from "./wire/batch-bytes.ts";

const LIMIT = 2_000;
const findTopic = async (topic: string) =>
  topicFacts(topic, { maxMessageBytes: topic === "roomy" ? 16_000_000 : LIMIT });

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

describe("planning rounds", () => {
  test("keeps every record, in order within its partition, and every batch within its topic's limit", async () => {
    await fc.assert(
      fc.asyncProperty(records, async (given) => {
        const named = given.map((item, i) => ({ ...item, key: Buffer.from(String(i)) }));
        const batches = (await planRounds(named, findTopic)).flat();
        for (const batch of batches) assert.ok(encodeRecordBatch(batch.records, plain).length <= LIMIT);
        for (const topic of ["x", "y"]) {
          for (const partition of [0, 1, 2]) {
            const isHere = (item: { topic: string; partition: number }) =>
              item.topic === topic && item.partition === partition;
            const planned = batches.filter(isHere).flatMap((batch) => batch.records);
            assert.deepEqual(
              planned.map(({ key }) => String(key)),
              named.filter(isHere).map(({ key }) => String(key)),
            );
          }
        }
      }),
      { numRuns: 50 },
    );
  });

  test("puts at most one batch per partition into a round, and all partitions into the first", async () => {
    await fc.assert(
      fc.asyncProperty(records, async (given) => {
        const rounds = await planRounds(given, findTopic);
        const places = rounds.map((round) => round.map(({ topic, partition }) => `${topic}/${partition}`));
        for (const round of places) assert.equal(new Set(round).size, round.length);
        const first = new Set(places[0]);
        assert.ok(places.flat().every((place) => first.has(place)));
        assert.ok(rounds.every((round) => round.length > 0));
      }),
      { numRuns: 50 },
    );
  });

  test("needs one round for records that fit, whatever the number of topics and partitions", async () => {
    const given = [record("x", 0, 1_500), record("x", 1, 1_500), record("y", 0, 1_500)];
    const rounds = await planRounds(given, findTopic);
    assert.deepEqual(
      rounds.map((round) => round.map(({ topic, partition }) => [topic, partition])),
      [
        [
          ["x", 0],
          ["x", 1],
          ["y", 0],
        ],
      ],
    );
    assert.deepEqual(await planRounds([], findTopic), []);
  });

  test("cuts small records of a topic with a high limit at a modest size, but sends a large one alone", async () => {
    const small = Array.from({ length: 20 }, () => record("roomy", 0, 100_000));
    const rounds = await planRounds([...small, record("roomy", 0, 5_000_000)], findTopic);
    const sizes = rounds.map(([batch]) =>
      batch.records.reduce((sum, { value }) => sum + (value?.length ?? 0), 0),
    );
    assert.deepEqual(sizes, [800_000, 800_000, 400_000, 5_000_000]);
  });

  test("passes on keys, values and headers unchanged", async () => {
    const headers = [
      { key: "why", value: Buffer.from("bad-time") },
      { key: "why", value: null },
    ];
    const given: Outgoing = { topic: "x", partition: 2, key: null, value: null, headers };
    const [[batch]] = await planRounds([given], findTopic);
    assert.deepEqual(batch.records, [given]);
    const [{ records: read }] = decodeRecordSet(encodeRecordBatch(batch.records, plain), READ_LIMIT);
    assert.deepEqual([read[0].key, read[0].value, read[0].headers], [null, null, headers]);
  });
});

describe("a record that cannot be sent", () => {
  test("because it is too large is named with its topic, its size including headers, and the limit", async () => {
    await assert.rejects(planRounds([record("x", 0, 10), record("x", 0, 2_000, "a#0")], findTopic), {
      code: "RECORD_TOO_LARGE",
      message: /topic x has \d+ bytes, the topic takes 2000: raise its max\.message\.bytes/,
      context: { topic: "x", bytes: 2_077, limit: 2_000, key: "a#0" },
    });
    const headers = [{ key: "detail", value: Buffer.alloc(2_000) }];
    await assert.rejects(planRounds([{ ...record("x", 0, 10), headers }], findTopic), {
      code: "RECORD_TOO_LARGE",
    });
  });

  test("is sent after all if the topic accepts more by now, which is looked up once per topic", async () => {
    const asked: string[] = [];
    const grown = new Set<string>();
    const look: FindTopic = async (topic, { refresh = false } = {}) => {
      asked.push(refresh ? `${topic} refresh` : topic);
      if (refresh) grown.add(topic);
      return topicFacts(topic, { maxMessageBytes: grown.has(topic) ? 3_000 : LIMIT });
    };
    const large = [0, 1, 1, 2].map((partition) => record("x", partition, 2_500));
    const small = [0, 1, 2].map((partition) => record("x", partition, 10));
    const rounds = await planRounds([...small, ...large, record("y", 0, 2_500)], look);
    assert.deepEqual(
      rounds.flat().map(({ records }) => records.length),
      [2, 2, 2, 1, 1],
    );
    assert.deepEqual(asked, ["x", "x", "x", "x refresh", "y", "y refresh"]);
    await assert.rejects(planRounds([record("x", 0, 10), record("x", 0, 3_000)], look), {
      code: "RECORD_TOO_LARGE",
      message: /the topic takes 3000/,
    });
  });

  test("is refused if its partition does not exist", async () => {
    await assert.rejects(planRounds([record("x", 3, 1)], findTopic), {
      code: "TOPIC_UNFIT",
      message: "a record is addressed to partition 3 of topic x, which has 3 partitions: add partitions",
    });
  });

  test("is assumed to be the largest if only the broker noticed", async () => {
    const cause = new Error("MESSAGE_TOO_LARGE");
    const error = await largestRecordError(
      [record("x", 0, 5), record("y", 0, 9), record("x", 0, 7)],
      findTopic,
      cause,
    );
    assert.deepEqual([error.code, error.context.topic, error.cause], ["RECORD_TOO_LARGE", "y", cause]);
  });
});

describe("delivering a round", () => {
  const batches = ["x/0", "x/1", "x/2", "y/0"].map((name) => {
    const [topic, number] = name.split("/") as [string, string];
    const identity = { ...plain, producerId: 7, producerEpoch: 0, firstSequence: 0 };
    return {
      ...{ topic, partition: Number(number) },
      bytes: encodeRecordBatch([{ key: null, value: Buffer.from(name) }], identity),
    };
  });

  /** By partition: the offset of the batch, or why it was not written. */
  async function deliverTo(cluster: ScriptedCluster): Promise<Readonly<Record<string, string>>> {
    const deliveries = await deliver(cluster.openLink(), null, batches);
    const told = deliveries.map((delivery) => [
      `${delivery.batch.topic}/${delivery.batch.partition}`,
      "error" in delivery ? (delivery.error as Error).message : `at ${delivery.baseOffset}`,
    ]);
    assert.equal(told.length, batches.length, "one word about each batch");
    return Object.fromEntries(told);
  }

  test("asks each leader once, for all its partitions, and returns the first offset of each batch", async () => {
    const cluster = new ScriptedCluster();
    cluster.model.append({ topic: "x", partition: 1, key: null, value: null });
    assert.deepEqual(await deliverTo(cluster), {
      "x/0": "at 0",
      "x/1": "at 1",
      "x/2": "at 0",
      "y/0": "at 0",
    });
    assert.deepEqual(
      cluster.asked("Produce").map(({ nodeId, request }) => [nodeId, request?.facts.places]),
      [
        ["1", [place("x", 0), place("y", 0)]],
        ["2", [place("x", 1)]],
        ["3", [place("x", 2)]],
      ],
    );
  });

  const place = (topic: string, partition: number) => ({ topic, partition });

  test("asks all leaders at the same time", async () => {
    const cluster = new ScriptedCluster();
    let most = 0;
    let underWay = 0;
    cluster.onAsk = async () => {
      most = Math.max(most, ++underWay);
      await new Promise(setImmediate);
      underWay--;
    };
    await deliverTo(cluster);
    assert.equal(most, 3);
  });

  test("returns an error for the batches of a leader that does not answer, and the answers of the others", async () => {
    const cluster = new ScriptedCluster();
    cluster.script({ step: "Produce", nth: 0, fault: { kind: "answer lost" } });
    const lost = "Produce to broker 1 was not answered within 10000 ms";
    assert.deepEqual(await deliverTo(cluster), { "x/0": lost, "x/1": "at 0", "x/2": "at 0", "y/0": lost });
  });

  test("returns the error code of each batch", async () => {
    const cluster = new ScriptedCluster();
    cluster.script({ step: "Produce", nth: 0, fault: { kind: "refused", code: 19, only: "last" } });
    const told = await deliverTo(cluster);
    assert.equal(told["x/0"], "at 0");
    assert.equal(told["y/0"], "Produce to y/0 was answered with NOT_ENOUGH_REPLICAS");
  });

  for (const [kind, times] of [
    ["partial", 0],
    ["twice", 2],
  ] as const) {
    test(`treats an answer that names a batch ${times} times as none`, async () => {
      const cluster = new ScriptedCluster();
      cluster.script({ step: "Produce", nth: 0, fault: { kind } });
      const told = await deliverTo(cluster);
      assert.equal(told["x/0"], `Produce to x/0 was answered for ${times} times`);
      assert.equal(told["y/0"], "at 0");
    });
  }

  test("ignores an answer for a partition that was not asked", async () => {
    const cluster = new ScriptedCluster();
    cluster.script({ step: "Produce", nth: 0, fault: { kind: "unasked" } });
    assert.equal((await deliverTo(cluster))["x/0"], "at 0");
  });

  test("returns an error for a partition without a leader, and writes the others", async () => {
    const cluster = new ScriptedCluster();
    cluster.model.leaderByName.set("x/1", "none");
    const told = await deliverTo(cluster);
    assert.equal(told["x/1"], "x/1 has no leader");
    assert.equal(told["x/2"], "at 0");
  });
});
