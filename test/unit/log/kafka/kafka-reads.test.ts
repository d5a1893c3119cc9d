// Reads against a cluster that answers as a test tells it: what a real broker does only in a race or an outage.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { StoredBatch, StoredRecord } from "../../../../src/log/log.ts";
import { fakeReads, fetched } from "./fake-cluster.ts";

const failure = (type: string) => Object.assign(new Error(type), { type });
const never = () => new Promise<never>(() => undefined);

/** Offsets in the order they came; `onRecords` may fire the signal. */
async function offsetsOf(
  source: AsyncIterable<readonly StoredRecord[] | StoredBatch>,
  onRecords: (count: number) => void = () => undefined,
): Promise<number[]> {
  const offsets: number[] = [];
  for await (const item of source) {
    const records = "records" in item ? item.records : item;
    offsets.push(...records.map(({ offset }) => offset));
    onRecords(offsets.length);
  }
  return offsets;
}

/** Turns of the event loop, enough for whatever could end to have ended. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
}

describe("a tail", () => {
  test("asks with a long wait, from the offset given, and goes on after what it got", async () => {
    const abort = new AbortController();
    const fake = fakeReads(({ offsets }) => [fetched(0, [offsets.get(0) ?? 0], { stable: 100 })]);
    const heard = await offsetsOf(fake.reads.tail("t", 0, 7, abort.signal), (count) => {
      if (count === 3) abort.abort();
    });
    assert.deepEqual(heard, [7, 8, 9]);
    assert.deepEqual(
      fake.asked.map(({ waitMs, offsets }) => [waitMs, offsets.get(0)]),
      [
        [1_000, 7],
        [1_000, 8],
        [1_000, 9],
      ],
    );
  });

  for (const [where, fake] of [
    ["while a broker keeps it waiting", () => fakeReads(never)],
    ["while it cannot connect", () => fakeReads(never, { connect: never })],
  ] as const) {
    test(`ends at once when told, ${where}`, async () => {
      const abort = new AbortController();
      const ended = offsetsOf(fake().reads.tail("t", 0, 0, abort.signal));
      await turns();
      abort.abort();
      assert.deepEqual(await ended, []);
    });
  }

  test("closes its connection once the answer it no longer waits for has come", async () => {
    const abort = new AbortController();
    let answerLate: (answer: readonly object[]) => void = () => undefined;
    const fake = fakeReads(
      () =>
        new Promise<readonly object[]>((resolve) => {
          answerLate = resolve;
        }),
    );
    const ended = offsetsOf(fake.reads.tail("t", 0, 0, abort.signal));
    await turns();
    abort.abort();
    await ended;
    assert.equal(fake.disconnects, 0, "closing it now would only wait for the answer");
    answerLate([]);
    await turns();
    assert.equal(fake.disconnects, 1);
    assert.equal(fake.asked.length, 1);
  });

  test("sits out a broker that fails, wherever it fails, and misses nothing", async () => {
    const abort = new AbortController();
    let connects = 0;
    const connect = async () => {
      if (connects++ === 0) throw failure("COORDINATOR_NOT_AVAILABLE");
    };
    const fake = fakeReads(
      ({ offsets }, n) => {
        if (n === 1 || n === 2) throw failure("NETWORK_EXCEPTION");
        return [fetched(0, [offsets.get(0) ?? 0], { stable: 100 })];
      },
      { connect },
    );
    const heard = await offsetsOf(fake.reads.tail("t", 0, 0, abort.signal), (count) => {
      if (count === 2) abort.abort();
    });
    assert.deepEqual(heard, [0, 1]);
    assert.equal(connects, 2);
  });

  for (const [title, earliest, latest] of [
    ["begins where the partition begins when that lies later", 40, 50],
    ["begins anew when the topic was made anew and ends before", 2, 5],
  ] as const) {
    test(title, async () => {
      const abort = new AbortController();
      const fake = fakeReads(
        ({ offsets }) => {
          const offset = offsets.get(0) ?? 0;
          if (offset < earliest || offset > latest) throw failure("OFFSET_OUT_OF_RANGE");
          return [fetched(0, [offset], { stable: latest })];
        },
        { earliest, latest },
      );
      assert.deepEqual(await offsetsOf(fake.reads.tail("t", 0, 9, abort.signal), () => abort.abort()), [
        earliest,
      ]);
    });
  }

  test("refuses a partition that the topic does not have", async () => {
    const fake = fakeReads(never, { partitions: 2 });
    const { signal } = new AbortController();
    await assert.rejects(offsetsOf(fake.reads.tail("t", 2, 0, signal)), { code: "TOPIC_UNFIT" });
    await turns();
    assert.equal(fake.disconnects, 1);
  });

  test("tells what no waiting mends", async () => {
    const fake = fakeReads(() => {
      throw failure("TOPIC_AUTHORIZATION_FAILED");
    });
    const { signal } = new AbortController();
    await assert.rejects(offsetsOf(fake.reads.tail("t", 0, 0, signal)), {
      code: "NOT_AUTHORIZED",
      message: "topic t could not be read: TOPIC_AUTHORIZATION_FAILED: the user needs Read on topic t",
    });
  });

  test("leaves no listener on its signal behind, however often it asks", async () => {
    const abort = new AbortController();
    let listeners = 0;
    const { addEventListener, removeEventListener } = abort.signal;
    abort.signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
      listeners++;
      addEventListener.apply(abort.signal, args);
    };
    abort.signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
      listeners--;
      removeEventListener.apply(abort.signal, args);
    };
    let most = 0;
    const fake = fakeReads((_, n) => {
      most = Math.max(most, listeners);
      return n < 200 ? [fetched(0, [], { stable: 0 })] : [fetched(0, [0], { stable: 1 })];
    });
    await offsetsOf(fake.reads.tail("t", 0, 0, abort.signal), () => abort.abort());
    assert.ok(most <= 2, `${most} listeners at once`);
  });
});

describe("a read", () => {
  const { signal } = new AbortController();

  test("does not lose what one broker gave while another failed", async () => {
    const fake = fakeReads(
      ({ offsets }, n, leader) => {
        if (n < 2 && leader === "2") throw failure("NETWORK_EXCEPTION");
        return [...offsets].map(([partition, offset]) => fetched(partition, [offset], { stable: 2 }));
      },
      { partitions: 2, leaders: ["1", "2"] },
    );
    const seen: string[] = [];
    for await (const { partition, records } of fake.reads.read("t", signal))
      seen.push(...records.map(({ offset }) => `${partition}/${offset}`));
    assert.deepEqual(seen.sort(), ["0/0", "0/1", "1/0", "1/1"]);
  });

  test("waits for a transaction that was open when it was asked, and for no later one", async () => {
    const answers = [
      fetched(0, [0, 1], { stable: 2, written: 4 }),
      fetched(0, [], { stable: 2, written: 6 }),
      fetched(0, [2, 3, 4], { stable: 5, written: 6 }),
    ];
    const fake = fakeReads((_, n) => [answers[n]]);
    assert.deepEqual(await offsetsOf(fake.reads.read("t", signal)), [0, 1, 2, 3]);
    assert.equal(fake.asked.length, 3);
    assert.deepEqual([fake.asked[0].waitMs, fake.asked[1].waitMs > 0], [0, true]);
  });

  test("asks no more for a partition that it has read", async () => {
    const fake = fakeReads(
      ({ offsets }) =>
        [...offsets].map(([partition, offset]) =>
          fetched(partition, [offset], { stable: 1 + 2 * partition }),
        ),
      { partitions: 2 },
    );
    await offsetsOf(fake.reads.read("t", signal));
    assert.deepEqual(
      fake.asked.map(({ offsets }) => [...offsets.keys()]),
      [[0, 1], [1], [1]],
    );
  });

  test("steps over a batch that compaction emptied, and over nothing behind it", async () => {
    // Partition 0 has an emptied batch at 0; partition 1's first record did not fit into the answer with it.
    const answers = [
      [fetched(0, [], { stable: 2 }), fetched(1, [], { stable: 1 })],
      [fetched(0, [1], { stable: 2 }), fetched(1, [0], { stable: 1 })],
    ];
    const fake = fakeReads((_, n) => answers[n], { partitions: 2 });
    assert.deepEqual(await offsetsOf(fake.reads.read("t", signal)), [1, 0]);
    assert.deepEqual(
      [...fake.asked[1].offsets],
      [
        [0, 1],
        [1, 0],
      ],
    );
  });
});

describe("a restore", () => {
  test("waits for a transaction whose end the partition does not know yet: it may be the last owner's", async () => {
    const answers = [
      fetched(0, [0, 1], { stable: 2, written: 4 }),
      fetched(0, [], { stable: 2, written: 4 }),
      fetched(0, [2, 3], { stable: 4 }),
    ];
    const fake = fakeReads(() => [answers.shift() ?? fetched(0, [], { stable: 4 })]);
    assert.deepEqual(await offsetsOf(fake.reads.restore("t", 0, new AbortController().signal)), [0, 1, 2, 3]);
    assert.equal(fake.disconnects, 1);
  });

  test("that waits for long tells for which transaction, now and then", async () => {
    const fake = fakeReads(({ offsets }, n) => {
      const from = offsets.get(0) ?? 0;
      return [
        n < 90
          ? fetched(0, from === 0 ? [0] : [], { stable: 1, written: 3 })
          : fetched(0, [1, 2], { stable: 3 }),
      ];
    });
    assert.deepEqual(await offsetsOf(fake.reads.restore("t", 0, new AbortController().signal)), [0, 1, 2]);
    const told = 'waiting for a transaction to end {"topic":"t","partition":0,"offset":1,"goal":3}';
    assert.deepEqual(fake.warned, [told, told]);
  });

  test("from a broker that does not answer tells why, now and then", { timeout: 60_000 }, async () => {
    const fake = fakeReads((_, n) => {
      if (n < 8) throw failure("REQUEST_TIMED_OUT");
      return [fetched(0, [0], { stable: 1 })];
    });
    assert.deepEqual(await offsetsOf(fake.reads.restore("t", 0, new AbortController().signal)), [0]);
    assert.deepEqual(fake.warned, [
      'log did not answer, trying again {"topic":"t","reason":"REQUEST_TIMED_OUT"}',
    ]);
  });
});
