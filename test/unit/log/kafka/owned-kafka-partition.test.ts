import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { BatchPacer } from "../../../../src/log/kafka/batch-pacer.ts";
import type { FetchTarget } from "../../../../src/log/kafka/fetch-targets.ts";
import { BrokerError } from "../../../../src/log/kafka/kafka-errors.ts";
import type { TableReads } from "../../../../src/log/kafka/kafka-reads.ts";
import { OwnedKafkaPartition } from "../../../../src/log/kafka/owned-kafka-partition.ts";
import { type InputGap, positionsKey, resumePosition } from "../../../../src/log/kafka/positions.ts";
import type { Transactor } from "../../../../src/log/kafka/transactor.ts";
import type { Commit, StoredBatch, StoredRecord } from "../../../../src/log/log.ts";
import type { ForecastnetError } from "../../../../src/runtime/errors.ts";
import { turns } from "./instant-delays.ts";

function stored(offset: number, bytes = 1, key: Buffer | null = null): StoredRecord {
  return { offset, timestampMs: 0, key, value: Buffer.alloc(bytes), headers: [] };
}

function open(options: { maxBatchRecords?: number; intervalMs?: number; reads?: Partial<TableReads> } = {}) {
  const lost = new AbortController();
  const gaps: InputGap[] = [];
  const failures: unknown[] = [];
  const commits: Commit[] = [];
  let resumes = 0;
  const owned = new OwnedKafkaPartition({
    partition: 1,
    pacer: new BatchPacer(options.intervalMs ?? 0),
    maxBatchRecords: options.maxBatchRecords ?? 10,
    maxBatchBytes: 1_000_000,
    positionsTopic: "state",
    transactor: { commit: async (commit: Commit) => void commits.push(commit) } as unknown as Transactor,
    lost: lost.signal,
    reads: { restore: async function* () {}, tail: async function* () {}, ...options.reads },
    resume: () => {
      resumes++;
    },
    onGap: (gap) => void gaps.push(gap),
    onFailure: (error) => void failures.push(error),
  });
  return {
    ...{ owned, lost, gaps, failures, commits },
    get resumes() {
      return resumes;
    },
  };
}

/** Delivers the offsets from..to-1 in one answer. */
function give(target: FetchTarget, from: number, to: number, bytes = 1): void {
  const records = Array.from({ length: to - from }, (_, i) => stored(from + i, bytes));
  target.take({ records, nextOffset: to, highWatermark: to + 5, lastStableOffset: to });
}

const offsetsOf = ({ records }: StoredBatch) => records.map(({ offset }) => offset);

describe("the input of an owned partition", () => {
  test("comes in order in batches within the limit, each with its next position", async () => {
    const fetches = fc.array(fc.integer({ min: 0, max: 25 }), { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(fetches, fc.integer({ min: 1, max: 12 }), async (sizes, maxBatchRecords) => {
        const { owned } = open({ maxBatchRecords });
        owned.addInput("sensors", 100);
        const [target] = owned.targets;
        let end = 100;
        for (const size of sizes) {
          give(target, end, end + size);
          end += size;
        }
        const seen: number[] = [];
        const batches = owned.batches();
        while (seen.length < end - 100) {
          const { value } = await batches.next();
          assert.ok(value.records.length >= 1 && value.records.length <= maxBatchRecords);
          seen.push(...offsetsOf(value));
          assert.equal(value.nextOffset, (seen.at(-1) ?? 0) + 1);
        }
        assert.deepEqual(
          seen,
          Array.from({ length: end - 100 }, (_, i) => 100 + i),
        );
        owned.drain();
      }),
      { numRuns: 60 },
    );
  });

  test("of several topics is not mixed in one batch", async () => {
    const { owned } = open();
    for (const topic of ["a", "b"]) owned.addInput(topic, 0);
    const [a, b] = owned.targets;
    give(a, 0, 2);
    give(a, 2, 3);
    give(b, 0, 2);
    give(a, 3, 4);
    const batches = owned.batches();
    const taken: string[] = [];
    for (let i = 0; i < 3; i++) {
      const { value } = await batches.next();
      taken.push(`${value.topic} ${offsetsOf(value)} → ${value.nextOffset}`);
    }
    assert.deepEqual(taken, ["a 0,1,2 → 3", "b 0,1 → 2", "a 3 → 4"]);
  });

  test("waits for the interval after a batch, and what arrives meanwhile comes together", async (context) => {
    context.mock.timers.enable({ apis: ["setTimeout"] });
    const { owned } = open({ intervalMs: 20 });
    owned.addInput("sensors", 0);
    const [target] = owned.targets;
    const batches = owned.batches();
    give(target, 0, 1);
    assert.deepEqual(offsetsOf((await batches.next()).value), [0], "the first batch does not wait");
    await turns();
    const taken: StoredBatch[] = [];
    const next = batches.next().then(({ value }) => taken.push(value));
    for (const offset of [1, 2]) {
      give(target, offset, offset + 1);
      context.mock.timers.tick(9);
      await turns();
      assert.equal(taken.length, 0, "taken before the interval was over");
    }
    context.mock.timers.tick(2);
    await next;
    assert.deepEqual(taken.map(offsetsOf), [[1, 2]]);
  });

  test("does not wait when a batch is full, and not at its end", async (context) => {
    context.mock.timers.enable({ apis: ["setTimeout"] });
    const { owned } = open({ intervalMs: 20, maxBatchRecords: 2 });
    owned.addInput("sensors", 0);
    const [target] = owned.targets;
    const batches = owned.batches();
    give(target, 0, 1);
    assert.deepEqual(offsetsOf((await batches.next()).value), [0]);
    await turns();
    give(target, 1, 6);
    assert.deepEqual(offsetsOf((await batches.next()).value), [1, 2]);
    assert.deepEqual(offsetsOf((await batches.next()).value), [3, 4]);
    const last = batches.next();
    owned.drain();
    assert.equal((await last).done, true);
  });

  test("ends with an empty batch after records that do not count, so that their offsets are committed", async () => {
    const { owned } = open();
    owned.addInput("sensors", 0);
    const [target] = owned.targets;
    target.take({ records: [stored(0)], nextOffset: 7, highWatermark: 9, lastStableOffset: 9 });
    target.take({ records: [], nextOffset: 8, highWatermark: 9, lastStableOffset: 9 });
    assert.equal(target.wanted, 8);
    target.take({ records: [], nextOffset: 8, highWatermark: 9, lastStableOffset: 9 });
    const { value } = await owned.batches().next();
    assert.deepEqual([offsetsOf(value), value.nextOffset], [[0], 8], "nothing new makes no batch");
  });

  test("is awaited", async () => {
    const { owned } = open();
    owned.addInput("sensors", 0);
    assert.equal(owned.hasStarted, false);
    const next = owned.batches().next();
    assert.equal(owned.hasStarted, true);
    await turns();
    give(owned.targets[0], 0, 2);
    assert.deepEqual(offsetsOf((await next).value), [0, 1]);
  });

  test("is cut by bytes, but a record larger than the limit is a batch of its own", async () => {
    const { owned } = open({ maxBatchRecords: 100 });
    owned.addInput("sensors", 0);
    const MB = 1024 * 1024;
    give(owned.targets[0], 0, 3, 3 * MB);
    give(owned.targets[0], 3, 4, 9 * MB);
    give(owned.targets[0], 4, 5, MB);
    const batches = owned.batches();
    const taken: number[][] = [];
    for (let i = 0; i < 4; i++) taken.push(offsetsOf((await batches.next()).value));
    assert.deepEqual(taken, [[0, 1], [2], [3], [4]]);
  });

  test("is not fetched above eight batches of records, and again below half of that", async () => {
    const bench = open();
    const { owned } = bench;
    owned.addInput("sensors", 0);
    const [target] = owned.targets;
    give(target, 0, 79);
    assert.equal(target.wanted, 79);
    give(target, 79, 80);
    assert.equal(target.wanted, null);
    const batches = owned.batches();
    for (let i = 0; i < 4; i++) await batches.next();
    assert.deepEqual([target.wanted, bench.resumes], [null, 0]);
    await batches.next();
    assert.deepEqual([target.wanted, bench.resumes], [80, 1]);
  });

  test("is not fetched above 32 MiB, however few the records", async () => {
    const { owned } = open();
    owned.addInput("sensors", 0);
    const [target] = owned.targets;
    give(target, 0, 4, 8 * 1024 * 1024);
    assert.equal(target.wanted, null);
  });

  test("is not fetched when many headers fill the memory", () => {
    const { owned } = open({ maxBatchRecords: 1_000 });
    owned.addInput("sensors", 0);
    const [target] = owned.targets;
    const headers = Array.from({ length: 1_000 }, () => ({ key: "", value: null }));
    const records = Array.from({ length: 400 }, (_, i) => ({ ...stored(i, 0), headers }));
    target.take({ records, nextOffset: 400, highWatermark: 400, lastStableOffset: 400 });
    assert.equal(target.wanted, null);
  });

  test("counts as lag whether it is queued or still at the broker", async () => {
    const { owned } = open();
    for (const topic of ["a", "b"]) owned.addInput(topic, 0);
    give(owned.targets[0], 0, 3);
    assert.equal(owned.lag, null, "the other topic has not been looked at");
    give(owned.targets[1], 0, 1);
    assert.equal(owned.lag, 4 + 10);
    await owned.batches().next();
    assert.equal(owned.lag, 1 + 10);
  });

  for (const [title, end] of [
    ["ends when the member drains", ({ owned }) => owned.drain()],
    ["ends when the partition is lost", ({ lost }) => lost.abort()],
  ] as readonly (readonly [string, (bench: ReturnType<typeof open>) => void])[]) {
    test(`${title}, leaves queued input to the next owner, and is not fetched any more`, async () => {
      const bench = open();
      bench.owned.addInput("sensors", 0);
      const waiting = bench.owned.batches().next();
      await turns();
      end(bench);
      assert.equal((await waiting).done, true);
      give(bench.owned.targets[0], 0, 2);
      assert.equal((await bench.owned.batches().next()).done, true);
      assert.equal(bench.owned.targets[0].wanted, null);
    });
  }

  test("that cannot be read is reported with its topic and the cause", () => {
    const { owned, failures } = open();
    owned.addInput("sensors", 0);
    const cause = new Error("broken");
    owned.targets[0].fail(cause);
    const [failure] = failures as [ForecastnetError];
    assert.deepEqual([failure.code, failure.cause], ["LOG_FAILED", cause]);
    assert.equal(failure.message, "topic sensors could not be read: broken");
  });

  test("that may no longer be read is reported with the missing right", () => {
    const { owned, failures } = open();
    for (const topic of ["meters", "sensors"]) owned.addInput(topic, 0);
    owned.targets[1].fail(new BrokerError(29, "Fetch of sensors/1 from offset 0"));
    const [failure] = failures as [ForecastnetError];
    assert.equal(failure.code, "NOT_AUTHORIZED");
    assert.match(
      failure.message,
      /^topic sensors could not be read: .*TOPIC_AUTHORIZATION_FAILED: the user needs Read on topic sensors$/,
    );
  });
});

describe("a position that does not exist in its topic", () => {
  test("before the start resumes at the start and reports a gap", () => {
    const { owned, gaps } = open();
    owned.addInput("sensors", 3);
    const [target] = owned.targets;
    target.outOfRange({ first: 10, end: 30 });
    assert.equal(target.wanted, 10);
    const gap = { topic: "sensors", partition: 1, kind: "retention", position: 3, resumedAt: 10 };
    assert.deepEqual(gaps, [gap]);
  });

  test("beyond the end reopens the partition, because the topic is another one", () => {
    const { owned, gaps, failures } = open();
    owned.addInput("sensors", 31);
    owned.targets[0].outOfRange({ first: 10, end: 30 });
    assert.deepEqual(gaps, []);
    assert.deepEqual(failures.map(String), ["Error: topic sensors ends at 30, before the position 31"]);
  });

  for (const position of [10, 20, 30]) {
    test(`is not ${position} in [10, 30], which includes both ends`, () => {
      const place = { topic: "sensors", partition: 1 };
      const unexpected = () => assert.fail("a gap was reported");
      const opened = { position, isSameTopic: true };
      assert.equal(resumePosition(place, opened, { first: 10, end: 30 }, unexpected), position);
    });
  }
});

describe("the tables of an owned partition", () => {
  const records = [stored(0, 1, Buffer.from("a")), stored(1, 1, positionsKey), stored(2, 1, null)];
  const give = async function* () {
    yield records;
  };
  const all = async (source: AsyncIterable<readonly StoredRecord[]>) => {
    const offsets: number[] = [];
    for await (const batch of source) offsets.push(...batch.map(({ offset }) => offset));
    return offsets;
  };

  for (const kind of ["restore", "tail"] as const) {
    test(`hide the positions record from a ${kind} of its topic`, async () => {
      const { owned } = open({ reads: { [kind]: give } });
      const read = (topic: string) => (kind === "restore" ? owned.restore(topic) : owned.tail(topic, 0));
      assert.deepEqual(await all(read("state")), [0, 2]);
      assert.deepEqual(await all(read("models")), [0, 1, 2]);
    });
  }

  test("are not restored partially, because a loss throws", async () => {
    const bench = open({
      reads: {
        restore: async function* () {
          yield records;
          bench.lost.abort();
        },
      },
    });
    await assert.rejects(all(bench.owned.restore("models")), { code: "PARTITION_LOST" });
  });

  test("throw the loss if the partition was lost, and otherwise the failure", async () => {
    const failing = async function* (): AsyncGenerator<readonly StoredRecord[]> {
      yield records;
      throw new Error("not answered");
    };
    const bench = open({ reads: { restore: failing } });
    await assert.rejects(all(bench.owned.restore("models")), { message: "not answered" });
    bench.lost.abort();
    await assert.rejects(all(bench.owned.restore("models")), { code: "PARTITION_LOST" });
  });

  test("are tailed until the member drains", async () => {
    let signal: AbortSignal | undefined;
    const { owned } = open({
      reads: {
        tail: async function* (_topic, _partition, _from, told) {
          signal = told;
          yield records;
        },
      },
    });
    await all(owned.tail("models", 0));
    assert.equal(signal?.aborted, false);
    owned.drain();
    assert.equal(signal?.aborted, true);
  });
});

describe("a commit of an owned partition", () => {
  const commit: Commit = { records: [], topic: "sensors", nextOffset: 4 };

  test("goes to the transactor while the partition is ours", async () => {
    const { owned, commits } = open();
    await owned.commit(commit);
    owned.drain();
    await owned.commit(commit);
    assert.equal(commits.length, 2, "a member that drains settles what it holds");
  });

  test("is refused after the partition is lost, as is a write", async () => {
    const { owned, commits, lost } = open();
    lost.abort();
    await assert.rejects(owned.commit(commit), { code: "PARTITION_LOST" });
    await assert.rejects(owned.write([]), { code: "PARTITION_LOST" });
    assert.deepEqual(commits, []);
  });
});
