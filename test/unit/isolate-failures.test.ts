import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { Outgoing } from "../../src/domain.ts";
import { type Attempt, isolateFailures, Quarantine, WorkFailed } from "../../src/isolate-failures.ts";
import { fromDeadLetterHeaders } from "../../src/log/dead-letter.ts";
import type { Commit, OwnedPartition, StoredBatch, StoredRecord } from "../../src/log/log.ts";
import { ForecastnetError, PartitionLostError } from "../../src/runtime/errors.ts";

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

function batch(firstOffset: number, values: readonly string[], topic = "in"): StoredBatch {
  const records = values.map(
    (value, i): StoredRecord => ({
      ...{ offset: firstOffset + 2 * i, timestampMs: 0, key: null, value: Buffer.from(value), headers: [] },
    }),
  );
  return { topic, partition: 0, records, nextOffset: firstOffset + 2 * values.length };
}

/** A log that yields these batches, and a lane that writes each record back and throws on some. */
function stage(batches: readonly StoredBatch[], fault: (text: string) => Error | null) {
  const lost = new AbortController();
  const committed: Commit[] = [];
  const attempts: Attempt[] = [];
  const sizes: number[][] = [];
  const tailed = { opened: 0 };
  let opened = 0;
  const owned: OwnedPartition = {
    partition: 0,
    lag: null,
    lost: lost.signal,
    async *restore() {},
    async *tail() {
      tailed.opened++;
      yield batch(0, ["m0", "m1"]).records;
    },
    async *batches() {
      opened++;
      yield* batches;
    },
    commit: async (commit) => void committed.push(commit),
    write: async () => {},
  };
  const work = async (attempt: Attempt) => {
    attempts.push(attempt);
    const taken: number[] = [];
    sizes.push(taken);
    for await (const { topic, records, nextOffset } of attempt.batches()) {
      taken.push(records.length);
      const outgoing = records.map(({ value }): Outgoing => {
        const error = fault(String(value));
        if (error !== null) throw error;
        return { topic: "out", partition: 0, key: null, value };
      });
      await attempt.commit({ records: outgoing, topic, nextOffset });
    }
  };
  const run = (lane: (attempt: Attempt) => Promise<void> = work) =>
    isolateFailures(
      owned,
      {
        deadLetters: { topic: "dead", partitions: 1, maxBytes: 10_000 },
        clock: { nowMs: () => 0 },
        logger: silent,
        metrics: { deadLetter: () => {}, failedBatch: () => {} },
      },
      (attempt) => lane(attempt).catch((error: unknown) => Promise.reject(new WorkFailed(error))),
    );
  const written = (topic: string) =>
    committed.flatMap(({ records }) => records.filter((record) => record.topic === topic));
  return {
    ...{ owned, lost, committed, attempts, sizes, tailed, run, work },
    opened: () => opened,
    outcome: () => written("out").map(({ value }) => String(value)),
    letters: () =>
      written("dead").map(({ value, headers }) => {
        const { reason, offset, detail } = fromDeadLetterHeaders(headers ?? []) ?? {};
        return [String(value), reason, offset, detail];
      }),
  };
}

const numbered = (count: number, bad: readonly number[] = []) =>
  Array.from({ length: count }, (_, n) => (bad.includes(n) ? `bad${n}` : `v${n}`));
const throwsOnBad = (text: string) => (text.startsWith("bad") ? new TypeError(`cannot do ${text}`) : null);

describe("a batch that a stage throws on", () => {
  test("is cut until the failing record is alone, and all others are committed once, in order", async () => {
    const { run, outcome, letters, committed, opened, sizes } = stage(
      [batch(0, numbered(3)), batch(100, numbered(100, [37])), batch(1000, ["w0", "w1"])],
      throwsOnBad,
    );
    await run();
    const good = numbered(100).filter((text) => text !== "v37");
    assert.deepEqual(outcome(), [...numbered(3), ...good, "w0", "w1"]);
    assert.deepEqual(letters(), [["bad37", "failed", 174, "cannot do bad37"]]);
    const positions = committed.map(({ nextOffset }) => nextOffset);
    assert.deepEqual(
      positions,
      [...positions].sort((a, b) => a - b),
    );
    assert.equal(positions.at(-1), 1004, "the last piece ends where its batch ended");
    assert.equal(opened(), 1, "the log is not asked to go back");
    assert.deepEqual(sizes[0], [3, 100]);
    assert.equal(Math.max(...sizes[1]), 4);
    assert.equal(sizes.at(-1)?.at(-1), 2, "the next batch is whole again");
  });

  test("with several failing records loses each of them and no other", async () => {
    const bad = [0, 1, 50, 98, 99];
    const { run, outcome, letters } = stage([batch(0, numbered(100, bad))], throwsOnBad);
    await run();
    assert.deepEqual(
      outcome(),
      numbered(100).filter((_, n) => !bad.includes(n)),
    );
    assert.deepEqual(
      letters().map(([, , offset]) => offset),
      bad.map((n) => 2 * n),
    );
  });

  test("that succeeds after it was cut loses no record", async () => {
    let failures = 1;
    const { run, outcome, letters } = stage([batch(0, numbered(10))], () =>
      failures-- > 0 ? new RangeError("out of memory") : null,
    );
    await run();
    assert.deepEqual([outcome(), letters()], [numbered(10), []]);
  });

  test("ends the run of its lane, whose later commits are refused, and the next run sees the search", async () => {
    const { run, attempts, outcome, work } = stage([batch(0, ["v0", "bad", "v2"])], throwsOnBad);
    const isSearching: boolean[] = [];
    await run((attempt) => {
      isSearching.push(attempt.isSearching);
      return work(attempt);
    });
    assert.deepEqual(isSearching, [false, true, true]);
    const [first] = attempts;
    assert.ok(first.lost.aborted);
    await assert.rejects(first.commit({ records: [], topic: "in", nextOffset: 2 }), PartitionLostError);
    await assert.rejects(first.write([]), PartitionLostError);
    assert.deepEqual(outcome(), ["v0", "v2"]);
  });

  test("is not cut when too many records in a row fail", async () => {
    const { run, letters } = stage([batch(0, numbered(50))], () => new TypeError("a bug of ours"));
    await assert.rejects(run(), /a bug of ours/);
    assert.equal(letters().length, 19);
  });
});

describe("a failure that no record causes ends the lane", () => {
  const failure = new ForecastnetError("LOG_FAILED", "no");

  test("when the log cannot commit", async () => {
    const { run, owned, letters } = stage([batch(0, numbered(4))], () => null);
    owned.commit = () => Promise.reject(new TypeError("inside the client"));
    await assert.rejects(run(), /inside the client/);
    assert.deepEqual(letters(), []);
  });

  test("when the log cannot read", async () => {
    const { run, owned, committed } = stage([], () => null);
    owned.batches = async function* () {
      yield batch(0, ["v0"]);
      throw new TypeError("inside the client");
    };
    await assert.rejects(run(), /inside the client/);
    assert.equal(committed.length, 1);
  });

  test("when our own error states another cause", async () => {
    const { run } = stage([batch(0, numbered(4))], () => failure);
    await assert.rejects(run(), failure);
  });

  test("when it occurs before a batch was given out, or outside the processing", async () => {
    const { run, owned } = stage([batch(0, numbered(4))], () => null);
    await assert.rejects(
      run(() => Promise.reject(new TypeError("while restoring"))),
      /while restoring/,
    );
    const parts = { deadLetters: { topic: "dead", partitions: 1, maxBytes: 1 }, clock: { nowMs: () => 0 } };
    const metrics = { deadLetter: () => {}, failedBatch: () => {} };
    const beside = isolateFailures(owned, { ...parts, metrics, logger: silent }, async (attempt) => {
      await attempt.batches()[Symbol.asyncIterator]().next();
      throw new TypeError("beside the work");
    });
    await assert.rejects(beside, /beside the work/);
  });

  test("when a decision could not be written", async () => {
    const { run, owned } = stage([batch(0, numbered(4))], () => null);
    owned.write = () => Promise.reject(new ForecastnetError("RECORD_TOO_LARGE", "a model"));
    const lane = async (attempt: Attempt) => {
      await attempt.batches()[Symbol.asyncIterator]().next();
      await attempt.write([]);
    };
    await assert.rejects(run(lane), /a model/);
  });

  test("when the partition is lost meanwhile", async () => {
    const { run, lost, letters } = stage([batch(0, ["bad"])], (text) => {
      lost.abort();
      return throwsOnBad(text);
    });
    await assert.rejects(run(), /cannot do bad/);
    assert.deepEqual(letters(), []);
  });
});

test("a record too large for its topic is found, too", async () => {
  const { run, owned, committed, letters, outcome } = stage([batch(0, numbered(9, [4]))], () => null);
  owned.commit = async (commit) => {
    const isLarge = commit.records.some(({ topic, value }) => topic === "out" && value?.includes("bad"));
    if (isLarge) throw new ForecastnetError("RECORD_TOO_LARGE", "too large");
    committed.push(commit);
  };
  await run();
  assert.deepEqual(letters(), [["bad4", "failed", 8, "too large"]]);
  assert.equal(outcome().length, 8);
});

describe("records that fail one after another", () => {
  const tooLarge = () => new ForecastnetError("RECORD_TOO_LARGE", "too large");

  test("are all set aside if the error code blames the data", async () => {
    const { run, letters } = stage([batch(0, numbered(50))], tooLarge);
    await run();
    assert.equal(letters().length, 50);
  });

  test("end the lane at the twentieth unexpected error, however many known ones are between", async () => {
    const values = Array.from({ length: 40 }, (_, n) => (n % 2 === 0 ? "large" : "bad"));
    const { run, letters } = stage([batch(0, values)], (text) =>
      text === "large" ? tooLarge() : throwsOnBad(text),
    );
    await assert.rejects(run(), /cannot do bad/);
    const count = (wanted: string) => letters().filter(([text]) => text === wanted).length;
    assert.deepEqual([count("large"), count("bad")], [20, 19]);
  });
});

test("a batch that arrives while its lane fails goes to the next run, whichever microtask it arrives in", async () => {
  for (let microtasks = 0; microtasks < 20; microtasks++) {
    const { run, owned, work, outcome, letters, committed } = stage([], throwsOnBad);
    let open = () => {};
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    const openAfter = async (count: number) => {
      for (let i = 0; i < count; i++) await Promise.resolve();
      open();
    };
    owned.batches = async function* () {
      yield batch(0, ["bad", "v0"]);
      await opened;
      yield batch(4, ["v1"]);
      yield batch(6, ["v2"]);
    };
    let lives = 0;
    await run(async (attempt) => {
      if (lives++ > 0) {
        await setImmediate(); // Takes as long as restoring a lane.
        return work(attempt);
      }
      const batches = attempt.batches()[Symbol.asyncIterator]();
      await batches.next();
      void batches.next();
      await setImmediate();
      void openAfter(microtasks);
      throw new TypeError("cannot do bad");
    });
    const label = `after ${microtasks} microtasks`;
    assert.deepEqual(outcome(), ["v0", "v1", "v2"], label);
    assert.equal(letters().length, 1, label);
    assert.deepEqual(
      committed.map(({ nextOffset }) => nextOffset),
      [1, 4, 6, 8],
      label,
    );
  }
});

test("a tail continues across the runs of a lane, without records that were restored meanwhile", async () => {
  const { run, tailed, work } = stage([batch(0, ["v0", "bad"])], throwsOnBad);
  const heard: string[][] = [];
  await run(async (attempt) => {
    const mine: string[] = [];
    heard.push(mine);
    // The later runs have restored the first of two records of the topic.
    const follow = (async () => {
      for await (const records of attempt.tail("models", heard.length > 1 ? 1 : 0)) {
        mine.push(...records.map(({ value }) => String(value)));
      }
    })();
    if (heard.length > 1) await setImmediate();
    await work(attempt);
    await follow;
  });
  assert.equal(tailed.opened, 1);
  assert.deepEqual(
    heard.flat().filter((text) => text === "m1"),
    ["m1"],
  );
});

test("a series is set aside after its third failure, for an hour after the last one", () => {
  let nowMs = 0;
  const quarantine = new Quarantine({ nowMs: () => nowMs });
  for (const why of ["first", "second"]) {
    quarantine.failed("a", why);
    assert.equal(quarantine.refusalOf("a"), null);
  }
  nowMs = 1_000;
  quarantine.failed("a", "third");
  const { reason, detail } = quarantine.refusalOf("a") ?? {};
  assert.equal(reason, "failed");
  assert.match(detail ?? "", /^3 observations of the series failed, .*: third$/);
  assert.equal(quarantine.refusalOf("b"), null);
  nowMs = 3_601_000;
  assert.notEqual(quarantine.refusalOf("a"), null);
  nowMs = 3_601_001;
  assert.equal(quarantine.refusalOf("a"), null);
  quarantine.failed("a", "fourth");
  assert.equal(quarantine.refusalOf("a"), null, "it begins to count anew");
});

test("failures that no longer count are dropped when another series fails", () => {
  let nowMs = 0;
  const quarantine = new Quarantine({ nowMs: () => nowMs });
  for (const seriesId of ["a", "b", "c"]) quarantine.failed(seriesId, "first");
  nowMs = 1;
  quarantine.failed("a", "second");
  nowMs = 3_600_001;
  quarantine.failed("d", "first");
  assert.equal(quarantine.size, 2, "a, whose last failure still counts, and d");
  nowMs = 3_600_002;
  quarantine.failed("a", "third");
  assert.equal(quarantine.size, 2);
  assert.equal(quarantine.refusalOf("a"), null, "it begins to count anew");
});

test("a series is set aside when each of three failures comes within an hour of the previous one", () => {
  let nowMs = 0;
  const quarantine = new Quarantine({ nowMs: () => nowMs });
  for (const atMs of [0, 3_600_000, 7_200_000]) {
    nowMs = atMs;
    quarantine.failed("a", "why");
  }
  assert.notEqual(quarantine.refusalOf("a"), null);
});
