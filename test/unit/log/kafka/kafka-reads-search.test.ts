import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { PartitionRead } from "../../../../src/log/kafka/kafka-reads.ts";
import { OffsetRanges } from "../../../../src/log/kafka/offset-ranges.ts";
import { encodeRecordBatch } from "../../../../src/log/kafka/producer.ts";
import type { StoredRecord } from "../../../../src/log/log.ts";
import { makeDelaysInstant } from "./instant-delays.ts";
import { failure, fetched, ScriptedBrokers } from "./scripted-brokers.ts";
import { plain, record, stored } from "./wire/batch-bytes.ts";

makeDelaysInstant();
const unfired = new AbortController().signal;

describe("the newest record of a key", () => {
  const KEY = Buffer.from("wanted");

  /** A partition whose records at these offsets have the key. */
  function brokersWithKeyAt(end: number, at: readonly number[], first = 0): ScriptedBrokers {
    const brokers = new ScriptedBrokers(({ offsets }) => {
      const from = offsets.get("t/0") ?? 0;
      return [fetched("t/0", [from], { stable: end }, at.includes(from) ? KEY : undefined)];
    });
    brokers.rangeByName.set("t/0", { first, end });
    return brokers;
  }

  test("is found at the end with few fetches", async () => {
    const brokers = brokersWithKeyAt(1_000, [900, 990]);
    const found = await brokers.reads().newestOf("t", 0, KEY, unfired);
    assert.equal(found?.offset, 990);
    assert.equal(brokers.asked[0].offsets.get("t/0"), 1_000 - 64);
    assert.equal(brokers.asked.length, 64);
  });

  test("is searched further and further back, and each offset is read once", async () => {
    const brokers = brokersWithKeyAt(1_000, [5]);
    const found = await brokers.reads().newestOf("t", 0, KEY, unfired);
    assert.equal(found?.offset, 5);
    const looked = brokers.asked.map(({ offsets }) => offsets.get("t/0"));
    assert.equal(new Set(looked).size, looked.length);
    assert.equal(looked.length, 1_000);
    assert.equal(brokers.openLinks.size, 0);
  });

  test("is null if no record has the key, or there is no record", async () => {
    assert.equal(await brokersWithKeyAt(300, [], 120).reads().newestOf("t", 0, KEY, unfired), null);
    assert.equal(await brokersWithKeyAt(0, []).reads().newestOf("t", 0, KEY, unfired), null);
  });

  test("is searched after an open transaction, which is awaited", async () => {
    let asked = 0;
    const brokers = brokersWithKeyAt(3, [2]);
    const { answer } = brokers;
    brokers.answer = (question, n) =>
      question.offsets.get("t/0") === 2 && asked++ < 5
        ? [fetched("t/0", [], { stable: 2, written: 3 })]
        : answer(question, n);
    const found = await brokers.reads().newestOf("t", 0, KEY, unfired);
    assert.deepEqual([found?.offset, asked], [2, 6]);
  });

  /** Damages the batch at this offset. */
  function damageAt(brokers: ScriptedBrokers, at: number, damage: (batch: Buffer) => void): void {
    const { answer } = brokers;
    const recordSet = stored(encodeRecordBatch([record("value")], plain), BigInt(at));
    damage(recordSet);
    brokers.answer = (question, n) =>
      question.offsets.get("t/0") === at
        ? [{ ...fetched("t/0", [], { stable: 1_000 }), recordSet }]
        : answer(question, n);
  }

  for (const [what, damage] of [
    ["content", (batch) => batch.writeUInt8(0xff, batch.length - 1)],
    ["end", (batch) => batch.writeInt32BE(1_000_000, 23)],
  ] as readonly [string, (batch: Buffer) => void][]) {
    test(`may be in a batch whose ${what} is damaged, so no older one is returned`, async () => {
      const brokers = brokersWithKeyAt(1_000, [5, 990]);
      damageAt(brokers, 995, damage);
      await assert.rejects(brokers.reads().newestOf("t", 0, KEY, unfired), {
        code: "STATE_CORRUPT",
        message: /^the record batch at offset 995 cannot be read: the checksum/,
      });
    });
  }

  test("is found after a batch that cannot be read", async () => {
    const brokers = brokersWithKeyAt(1_000, [990]);
    damageAt(brokers, 985, (batch) => batch.writeUInt8(0xff, batch.length - 1));
    assert.equal((await brokers.reads().newestOf("t", 0, KEY, unfired))?.offset, 990);
  });

  test("does not count as missing if the search was interrupted", async () => {
    const abort = new AbortController();
    const brokers = brokersWithKeyAt(1_000, [5]);
    const { answer } = brokers;
    brokers.answer = (question, n) => {
      if (n === 100) abort.abort(new Error("lost"));
      return answer(question, n);
    };
    await assert.rejects(brokers.reads().newestOf("t", 0, KEY, abort.signal), { message: "lost" });
  });
});

makeDelaysInstant();
const MIB = 1024 * 1024;

function recordAt(offset: number, valueBytes: number): StoredRecord {
  return { offset, timestampMs: 0, key: null, value: Buffer.alloc(valueBytes), headers: [] };
}

function take(read: PartitionRead, ...records: readonly StoredRecord[]): void {
  const nextOffset = (records.at(-1)?.offset ?? -1) + 1;
  read.take({ records, nextOffset, highWatermark: nextOffset, lastStableOffset: nextOffset });
}

function openRead(to: number | null = null): PartitionRead {
  return new PartitionRead("t", 0, { from: 0, to }, () => undefined);
}

describe("a partition that is read", () => {
  test("wants nothing while 16 MiB wait for its reader, and continues when they are taken", () => {
    const read = openRead();
    for (let offset = 0; offset < 3; offset++) take(read, recordAt(offset, 5 * MIB));
    assert.equal(read.wanted, 3);
    take(read, recordAt(3, MIB));
    assert.equal(read.wanted, null);
    assert.equal(read.drain().length, 4);
    assert.equal(read.wanted, 4);
    take(read, recordAt(4, 5 * MIB));
    assert.equal(read.wanted, 5, "what was taken still counts");
  });

  test("yields records before its end, and a damaged batch wherever it claims to end", () => {
    const read = openRead(2);
    const damaged = { ...recordAt(900, 10), unreadable: "damaged" };
    take(read, recordAt(0, 10), recordAt(2, 10), damaged);
    assert.deepEqual(
      read.drain().flatMap(({ records }) => records.map(({ offset }) => offset)),
      [0, 900],
    );
    assert.equal(read.isComplete, true);
  });
});

describe("the range of a partition", () => {
  const { signal } = new AbortController();

  test("is requested again after an internal failure of the broker, with a warning", async () => {
    const brokers = new ScriptedBrokers(() => []);
    brokers.rangeByName.set("t/0", { first: 3, end: 9 });
    let asked = 0;
    brokers.onRange = () => {
      if (asked++ < 16) throw failure(-1); // of both ends, eight times
    };
    const ranges = await new OffsetRanges(brokers).find("t", [0], signal);
    assert.deepEqual(ranges.get(0), { first: 3, end: 9 });
    assert.equal(brokers.warned.length, 1);
    assert.match(brokers.warned[0], /log did not answer, trying again .*UNKNOWN_SERVER_ERROR/);
    assert.equal(brokers.openLinks.size, 0);
  });
});
