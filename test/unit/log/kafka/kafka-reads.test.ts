// Reads on scripted brokers, including what a real broker does only in a race or an outage.

import assert from "node:assert/strict";
import { describe, mock, test } from "node:test";
import { encodeRecordBatch } from "../../../../src/log/kafka/producer.ts";
import type { FetchedPartition } from "../../../../src/log/kafka/wire/protocol.ts";
import type { StoredBatch, StoredRecord } from "../../../../src/log/log.ts";
import { makeDelaysInstant, turns } from "./instant-delays.ts";
import { failure, fetched, never, refused, ScriptedBrokers } from "./scripted-brokers.ts";
import { altered, around, plain, stored } from "./wire/batch-bytes.ts";

makeDelaysInstant();

/** Collects offsets in order; `onRecords` may fire the signal. */
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

/** Answers every partition with the record at the wanted offset. */
const giveOne: ScriptedBrokers["answer"] = ({ offsets }) =>
  [...offsets].map(([name, offset]) => fetched(name, [offset], { stable: 100 }));

/** Brokers with one partition and scripted answers; the last answer repeats. */
function brokersWith(end: number, ...answers: readonly FetchedPartition[]): ScriptedBrokers {
  const brokers = new ScriptedBrokers((_, n) => [answers[Math.min(n, answers.length - 1)]]);
  brokers.rangeByName.set("t/0", { first: 0, end });
  return brokers;
}

const unfired = new AbortController().signal;

describe("a tail", () => {
  test("polls from the given offset, and continues after the records it got", async () => {
    const abort = new AbortController();
    const brokers = new ScriptedBrokers(giveOne);
    const heard = await offsetsOf(brokers.reads().tail("t", 0, 7, abort.signal), (count) => {
      if (count === 3) abort.abort();
    });
    assert.deepEqual(heard, [7, 8, 9]);
    for (const [n, { offsets }] of brokers.asked.entries()) assert.equal(offsets.get("t/0"), 7 + n);
  });

  for (const [where, prepare] of [
    ["while a broker keeps it waiting", () => new ScriptedBrokers(never)],
    [
      "while it cannot connect",
      () => Object.assign(new ScriptedBrokers(never), { connect: () => never<void>() }),
    ],
  ] as const) {
    test(`ends at once on its signal, ${where}`, async () => {
      const abort = new AbortController();
      const ended = offsetsOf(prepare().reads().tail("t", 0, 0, abort.signal));
      await turns();
      abort.abort();
      assert.deepEqual(await ended, []);
    });
  }

  test("ends at once on its signal, although records are queued", async () => {
    const abort = new AbortController();
    const brokers = new ScriptedBrokers(giveOne);
    const heard: number[] = [];
    for await (const records of brokers.reads().tail("t", 0, 0, abort.signal)) {
      heard.push(...records.map(({ offset }) => offset));
      await turns(); // more is fetched meanwhile
      if (heard.length === 2) abort.abort();
    }
    assert.deepEqual(heard, [0, 1]);
  });

  test("waits for a broker that fails at any point, and misses no record", async () => {
    const abort = new AbortController();
    const brokers = new ScriptedBrokers((asked, n) => {
      if (n === 1 || n === 2) throw failure(13);
      return n === 3 ? [refused("t/0", 6)] : giveOne(asked, n);
    });
    let connects = 0;
    brokers.connect = async () => {
      if (connects++ === 0) throw failure(15);
    };
    const heard = await offsetsOf(brokers.reads().tail("t", 0, 0, abort.signal), (count) => {
      if (count === 3) abort.abort();
    });
    assert.deepEqual(heard, [0, 1, 2]);
  });

  for (const [title, first, end] of [
    ["starts at the start of the partition if that is later", 40, 50],
    ["starts at the start of a recreated topic that ends earlier", 2, 5],
  ] as const) {
    test(title, async () => {
      const abort = new AbortController();
      const brokers = new ScriptedBrokers(({ offsets }) => {
        const offset = offsets.get("t/0") ?? 0;
        const isIn = offset >= first && offset <= end;
        return [isIn ? fetched("t/0", [offset], { stable: end }) : refused("t/0", 1)];
      });
      brokers.rangeByName.set("t/0", { first, end });
      const heard = await offsetsOf(brokers.reads().tail("t", 0, 9, abort.signal), () => abort.abort());
      assert.deepEqual(heard, [first]);
    });
  }

  test("throws a permanent failure", async () => {
    const brokers = new ScriptedBrokers(() => [refused("t/0", 29)]);
    await assert.rejects(offsetsOf(brokers.reads().tail("t", 0, 0, unfired)), {
      code: "NOT_AUTHORIZED",
      message: /^topic t could not be read: .*TOPIC_AUTHORIZATION_FAILED: the user needs Read on topic t$/,
    });
  });

  test("yields the records that came before a failure first", async () => {
    const brokers = new ScriptedBrokers((asked, n) => (n < 2 ? giveOne(asked, n) : [refused("t/0", 29)]));
    const heard: number[] = [];
    const tail = async () => {
      for await (const records of brokers.reads().tail("t", 0, 0, unfired)) {
        heard.push(...records.map(({ offset }) => offset));
        await turns();
      }
    };
    await assert.rejects(tail(), { code: "NOT_AUTHORIZED" });
    assert.deepEqual(heard, [0, 1]);
  });

  test("pauses when its reader falls behind, and continues with it", async () => {
    const many = (from: number) => Array.from({ length: 1_500 }, (_, i) => from + i);
    const brokers = new ScriptedBrokers(({ offsets }) => [
      fetched("t/0", many(offsets.get("t/0") ?? 0), { stable: 1e6 }),
    ]);
    const tail = brokers.reads().tail("t", 0, 0, unfired)[Symbol.asyncIterator]();
    assert.equal((await tail.next()).value?.length, 1_500);
    await turns(100);
    const asked = brokers.asked.length;
    assert.ok(asked <= 4, `${asked} fetches ahead of the reader`);
    for (let i = 0; i < 4; i++) await tail.next();
    await turns();
    assert.ok(brokers.asked.length > asked, "it does not go on");
    await tail.return?.(undefined);
  });

  test("shares its connections with the others, and ends without them", async () => {
    const brokers = new ScriptedBrokers(giveOne);
    const reads = brokers.reads();
    const [one, other] = [new AbortController(), new AbortController()];
    const heard = offsetsOf(reads.tail("t", 1, 0, other.signal), (count) => {
      if (count > 20) other.abort();
    });
    await offsetsOf(reads.tail("t", 0, 0, one.signal), () => one.abort());
    await heard;
    assert.equal(brokers.linksOpened, 1);
    await reads.close();
    assert.equal(brokers.openLinks.size, 0);
  });

  test("leaves no listener on its signal, however often it polls", async () => {
    const abort = new AbortController();
    let listeners = 0;
    let most = 0;
    const { addEventListener, removeEventListener } = abort.signal;
    abort.signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
      most = Math.max(most, ++listeners);
      addEventListener.apply(abort.signal, args);
    };
    abort.signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
      listeners--;
      removeEventListener.apply(abort.signal, args);
    };
    const brokers = new ScriptedBrokers(giveOne);
    await offsetsOf(brokers.reads().tail("t", 0, 0, abort.signal), (count) => {
      if (count > 200) abort.abort();
    });
    assert.ok(most <= 1, `${most} listeners at once`);
    assert.ok(listeners <= 0, `${listeners} listeners left`);
  });
});

describe("a read", () => {
  test("does not lose records of one broker while another fails", async () => {
    const brokers = new ScriptedBrokers(({ offsets, nodeId }, n) => {
      if (n < 3 && nodeId === "2") throw failure(13);
      return [...offsets].map(([name, offset]) => fetched(name, [offset], { stable: 2 }));
    });
    brokers.leaderByName.set("t/1", "2");
    for (const name of ["t/0", "t/1"]) brokers.rangeByName.set(name, { first: 0, end: 2 });
    const seen: string[] = [];
    for await (const { partition, records } of brokers.reads(2).read("t", unfired))
      seen.push(...records.map(({ offset }) => `${partition}/${offset}`));
    assert.deepEqual(seen.sort(), ["0/0", "0/1", "1/0", "1/1"]);
    assert.equal(brokers.openLinks.size, 0);
  });

  test("waits for a transaction that was open at its start, and for no later one", async () => {
    const brokers = brokersWith(
      4,
      fetched("t/0", [0, 1], { stable: 2, written: 4 }),
      fetched("t/0", [], { stable: 2, written: 6 }),
      fetched("t/0", [2, 3, 4], { stable: 5, written: 6 }),
    );
    assert.deepEqual(await offsetsOf(brokers.reads().read("t", unfired)), [0, 1, 2, 3]);
    assert.equal(brokers.asked.length, 3);
    assert.ok(brokers.asked.every(({ waitMs }) => waitMs <= 250));
  });

  test("does not poll a partition that it has read", async () => {
    const brokers = new ScriptedBrokers(giveOne);
    brokers.rangeByName.set("t/0", { first: 0, end: 1 });
    brokers.rangeByName.set("t/1", { first: 0, end: 3 });
    await offsetsOf(brokers.reads(2).read("t", unfired));
    const asked = brokers.asked.map(({ offsets }) => [...offsets.keys()].sort().join());
    assert.deepEqual(asked, ["t/0,t/1", "t/1", "t/1"]);
  });

  test("does not poll an empty topic", async () => {
    const brokers = new ScriptedBrokers(giveOne);
    brokers.rangeByName.set("t/0", { first: 9, end: 9 });
    assert.deepEqual(await offsetsOf(brokers.reads(2).read("t", unfired)), []);
    assert.equal(brokers.asked.length, 0);
  });

  test("skips a batch that compaction emptied, and nothing after it", async () => {
    const emptied = stored(
      altered(around(Buffer.alloc(0), 0), (copy) => copy.writeInt32BE(0, 23)),
      0n,
    );
    // Partition 0 has an emptied batch at 0; partition 1's first record did not fit into the answer with it.
    const answers = [
      [{ ...fetched("t/0", [], { stable: 2 }), recordSet: emptied }, fetched("t/1", [], { stable: 1 })],
      [fetched("t/0", [1], { stable: 2 }), fetched("t/1", [0], { stable: 1 })],
    ];
    const brokers = new ScriptedBrokers((_, n) => answers[n]);
    brokers.rangeByName.set("t/0", { first: 0, end: 2 });
    brokers.rangeByName.set("t/1", { first: 0, end: 1 });
    assert.deepEqual(await offsetsOf(brokers.reads(2).read("t", unfired)), [1, 0]);
    assert.deepEqual([...brokers.asked[1].offsets].sort(), [
      ["t/0", 1],
      ["t/1", 0],
    ]);
  });

  test("throws the reason of its signal, whatever else has failed", async () => {
    for (const prepare of [
      () => brokersWith(4, fetched("t/0", [0], { stable: 1, written: 4 })),
      () => Object.assign(brokersWith(4), { connect: () => Promise.reject(failure(15)) }),
    ]) {
      const abort = new AbortController();
      const brokers = prepare();
      const reading = offsetsOf(brokers.reads().read("t", abort.signal));
      await turns();
      abort.abort(new Error("enough"));
      await assert.rejects(reading, { message: "enough" });
      await turns();
      assert.equal(brokers.openLinks.size, 0);
    }
  });

  test("of a topic that the user may not read names the missing right", async () => {
    const brokers = brokersWith(4);
    brokers.onRange = () => {
      throw failure(29);
    };
    await assert.rejects(offsetsOf(brokers.reads().read("t", unfired)), { code: "NOT_AUTHORIZED" });
  });
});

describe("a restore", () => {
  test("reads a compressed record as large as our topics accept, whatever the limit of the input", async () => {
    const value = Buffer.alloc(16 * 1024 * 1024, "model");
    const bytes = encodeRecordBatch([{ key: Buffer.from("a"), value }], { ...plain, compression: "zstd" });
    const answer = { ...fetched("t/0", [], { stable: 1 }), recordSet: bytes };
    const found: StoredRecord[] = [];
    for await (const records of brokersWith(1, answer).reads().restore("t", 0, unfired))
      found.push(...records);
    assert.deepEqual(
      found.map(({ unreadable, value: read }) => [unreadable, read?.equals(value)]),
      [[undefined, true]],
    );
  });

  test("waits for a transaction whose end the partition does not know yet, because it may be the last owner's", async () => {
    const brokers = brokersWith(
      4,
      fetched("t/0", [0, 1], { stable: 2, written: 4 }),
      fetched("t/0", [], { stable: 2, written: 4 }),
      fetched("t/0", [2, 3], { stable: 4 }),
    );
    assert.deepEqual(await offsetsOf(brokers.reads().restore("t", 0, unfired)), [0, 1, 2, 3]);
    assert.equal(brokers.openLinks.size, 0);
  });

  test("that waits for long names the transaction from time to time", async () => {
    mock.timers.enable({ apis: ["setTimeout"] });
    try {
      let isEnded = false;
      const brokers = brokersWith(3);
      brokers.answer = async ({ offsets }) => {
        await turns(2);
        if (isEnded) return [fetched("t/0", [1, 2], { stable: 3 })];
        return [fetched("t/0", offsets.get("t/0") === 0 ? [0] : [], { stable: 1, written: 3 })];
      };
      const restored = offsetsOf(brokers.reads().restore("t", 0, unfired));
      for (let told = 0; told < 2; told++) {
        await turns();
        mock.timers.tick(10_000);
      }
      await turns();
      isEnded = true;
      assert.deepEqual(await restored, [0, 1, 2]);
      const told = 'waiting for a transaction to end {"topic":"t","partition":0,"offset":1,"goal":3}';
      assert.deepEqual(brokers.warned, [told, told]);
    } finally {
      mock.timers.reset();
    }
  });

  for (const [what, prepare] of [
    [
      "fetches",
      (brokers: ScriptedBrokers) => {
        brokers.answer = (_, n) => {
          if (n < 8) throw failure(7);
          return [fetched("t/0", [0], { stable: 1 })];
        };
      },
    ],
    [
      "questions for its end",
      (brokers: ScriptedBrokers) => {
        let asked = 0;
        brokers.onRange = () => {
          if (asked++ < 16) throw failure(7); // for both ends, eight times
        };
      },
    ],
  ] as const) {
    test(`from a broker that does not answer ${what} warns from time to time`, async () => {
      const brokers = brokersWith(1, fetched("t/0", [0], { stable: 1 }));
      prepare(brokers);
      assert.deepEqual(await offsetsOf(brokers.reads().restore("t", 0, unfired)), [0]);
      assert.equal(brokers.warned.length, 1);
      assert.match(brokers.warned[0], /^log did not answer, trying again .*REQUEST_TIMED_OUT/);
    });
  }

  test("ends early on its signal", async () => {
    const abort = new AbortController();
    const brokers = brokersWith(4, fetched("t/0", [0], { stable: 1, written: 4 }));
    assert.deepEqual(
      await offsetsOf(brokers.reads().restore("t", 0, abort.signal), () => abort.abort()),
      [0],
    );
    assert.equal(brokers.openLinks.size, 0);
  });
});

describe("a follow", () => {
  for (const [from, first] of [
    ["earliest", 3],
    ["latest", 9],
  ] as const) {
    test(`from the ${from} starts there in all partitions, and continues until its signal`, async () => {
      const brokers = new ScriptedBrokers(giveOne);
      for (const name of ["t/0", "t/1"]) brokers.rangeByName.set(name, { first: 3, end: 9 });
      const abort = new AbortController();
      const seen = new Set<string>();
      for await (const { partition, records } of brokers.reads(2).follow("t", from, abort.signal)) {
        for (const { offset } of records) seen.add(`${partition}/${offset}`);
        if (seen.size > 8) abort.abort();
      }
      assert.ok(seen.has(`0/${first}`) && seen.has(`1/${first}`) && !seen.has(`0/${first - 1}`));
      assert.equal(brokers.openLinks.size, 0);
    });
  }

  test("ends without an error on its signal while a broker does not answer", async () => {
    const brokers = new ScriptedBrokers(giveOne);
    brokers.connect = () => Promise.reject(failure(15));
    const abort = new AbortController();
    const following = offsetsOf(brokers.reads().follow("t", "earliest", abort.signal));
    await turns();
    abort.abort();
    assert.deepEqual(await following, []);
    assert.equal(brokers.openLinks.size, 0);
  });
});
