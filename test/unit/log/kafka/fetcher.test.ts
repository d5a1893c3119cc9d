import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { giveOne, has, openFetcher, Reader } from "./fetch-reader.ts";
import { makeDelaysInstant, turns } from "./instant-delays.ts";
import { fetched, ScriptedBrokers } from "./scripted-brokers.ts";

makeDelaysInstant();

describe("a fetcher", () => {
  test("sends one poll per broker, for all partitions that it leads", async () => {
    let underWay = 0;
    let most = 0;
    const brokers = new ScriptedBrokers(async (asked, n) => {
      most = Math.max(most, ++underWay);
      await turns(2);
      underWay--;
      return giveOne(asked, n);
    });
    for (const partition of [2, 3]) brokers.leaderByName.set(`t/${partition}`, "2");
    const readers = [0, 1, 2, 3].map((partition) => new Reader(`t/${partition}`));
    const fetcher = openFetcher(brokers);
    for (const reader of readers) fetcher.add(reader);
    await Promise.all(readers.map((reader) => reader.until(has(5))));
    await fetcher.close();
    assert.equal(most, 2);
    const whole = brokers.asked.slice(4);
    for (const { nodeId, offsets } of whole)
      assert.deepEqual([...offsets.keys()].sort(), nodeId === "1" ? ["t/0", "t/1"] : ["t/2", "t/3"]);
  });

  test("passes each partition its records in order, with its end", async () => {
    const brokers = new ScriptedBrokers(giveOne);
    const reader = new Reader("t/0", 7);
    const fetcher = openFetcher(brokers);
    fetcher.add(reader);
    await reader.until(has(4));
    await fetcher.close();
    assert.deepEqual(reader.taken, [7, 8, 9, 10]);
    assert.deepEqual([reader.last?.highWatermark, reader.last?.lastStableOffset], [30, 20]);
  });

  test("lets a broker wait for new data as configured, and waits longer before it gives up on the broker", async () => {
    const brokers = new ScriptedBrokers(giveOne);
    const reader = new Reader("t/0");
    const fetcher = openFetcher(brokers);
    fetcher.add(reader);
    await reader.until(has(1));
    await fetcher.close();
    assert.deepEqual([brokers.asked[0].waitMs, brokers.asked[0].answerMs], [100, 10_100]);
  });

  test("gives each partition its turn although the answers have room for one only", async () => {
    const brokers = new ScriptedBrokers(({ offsets }) =>
      [...offsets].map(([name, offset], i) => fetched(name, i === 0 ? [offset] : [], { stable: 100 })),
    );
    const readers = [0, 1, 2].map((partition) => new Reader(`t/${partition}`));
    const fetcher = openFetcher(brokers);
    for (const reader of readers) fetcher.add(reader);
    await readers[2].until(has(10));
    await fetcher.close();
    for (const { partition, taken } of readers)
      assert.ok(
        Math.abs(taken.length - 10) <= 1,
        `partition ${partition} got ${taken.length} records, not 10`,
      );
  });

  test("lets a broker wait longer and longer while nothing comes, and briefly after that", async () => {
    const brokers = new ScriptedBrokers((asked, n) =>
      n === 6 ? giveOne(asked, n) : [fetched("t/0", [], { stable: 0 })],
    );
    const reader = new Reader("t/0");
    const fetcher = openFetcher(brokers);
    fetcher.add(reader);
    while (brokers.asked.length < 9) await turns(1);
    await fetcher.close();
    const waits = brokers.asked.slice(0, 9).map(({ waitMs }) => waitMs);
    assert.deepEqual(waits, [100, 200, 400, 800, 1_000, 1_000, 1_000, 100, 200]);
  });

  test("lets a broker wait briefly while a partition is full, which would have to wait as well", async () => {
    const brokers = new ScriptedBrokers(() => [fetched("t/0", [], { stable: 0 })]);
    const [idle, full] = [new Reader("t/0"), new Reader("t/1", null)];
    const fetcher = openFetcher(brokers);
    for (const reader of [idle, full]) fetcher.add(reader);
    while (brokers.asked.length < 5) await turns(1);
    await fetcher.close();
    assert.ok(brokers.asked.every(({ waitMs }) => waitMs === 100));
  });

  test("serves several readers of a partition, the one furthest behind first, and never asks for it twice", async () => {
    const brokers = new ScriptedBrokers(giveOne);
    const [behind, ahead] = [new Reader("t/0", 2), new Reader("t/0", 6)];
    const fetcher = openFetcher(brokers);
    for (const reader of [ahead, behind]) fetcher.add(reader);
    await ahead.until(has(3));
    await fetcher.close();
    const offsets = brokers.asked.slice(0, 7).map((asked) => asked.offsets.get("t/0"));
    assert.deepEqual(offsets, [2, 3, 4, 5, 6, 7, 8]);
    assert.deepEqual(behind.taken.slice(0, 7), [2, 3, 4, 5, 6, 7, 8]);
    assert.deepEqual(ahead.taken.slice(0, 3), [6, 7, 8]);
  });

  test("polls a partition of a known topic without another lookup", async () => {
    const brokers = new ScriptedBrokers(giveOne);
    const fetcher = openFetcher(brokers);
    const [first, second] = [new Reader("t/0"), new Reader("t/1")];
    fetcher.add(first);
    await first.until(has(1));
    const { refreshes } = brokers;
    fetcher.add(second);
    await second.until(has(1));
    await fetcher.close();
    assert.deepEqual([brokers.refreshes, brokers.linksOpened], [refreshes, 1]);
  });

  test("has a link while it has targets, and opens another one for later ones", async () => {
    const brokers = new ScriptedBrokers(giveOne);
    const fetcher = openFetcher(brokers);
    assert.equal(brokers.linksOpened, 0);
    for (const round of [1, 2, 3]) {
      const reader = new Reader("t/0");
      fetcher.add(reader);
      await reader.until(has(1));
      fetcher.remove(reader);
      await turns();
      assert.deepEqual([brokers.linksOpened, brokers.openLinks.size], [round, 0]);
    }
    await fetcher.close();
  });

  test("reads a partition that is added just when the last target goes", async () => {
    for (let after = 0; after < 12; after++) {
      const brokers = new ScriptedBrokers(giveOne);
      const [first, second] = [new Reader("t/0"), new Reader("u/0")];
      const fetcher = openFetcher(brokers);
      fetcher.add(first);
      for (let tick = 0; tick < after; tick++) await Promise.resolve();
      fetcher.remove(first);
      fetcher.add(second);
      for (let turn = 0; turn < 50 && second.taken.length === 0; turn++) await turns(1);
      assert.ok(second.taken.length > 0, `added after ${after} ticks, it is never read`);
      await fetcher.close();
      assert.equal(brokers.openLinks.size, 0);
    }
  });

  test("leaves out targets that want nothing, sends no empty request, and continues when woken", async () => {
    const brokers = new ScriptedBrokers(giveOne);
    const [paused, eager] = [new Reader("t/0", null), new Reader("t/1")];
    const fetcher = openFetcher(brokers);
    fetcher.add(paused);
    fetcher.add(eager);
    await eager.until(has(3));
    eager.wanted = null;
    await turns();
    assert.ok(brokers.asked.every(({ offsets }) => !offsets.has("t/0")));
    const asked = brokers.asked.length;
    await turns();
    assert.equal(brokers.asked.length, asked, "it asks although nothing is wanted");
    paused.wanted = 40;
    fetcher.wake();
    await paused.until(has(1));
    assert.equal(paused.taken[0], 40);
    await fetcher.close();
  });

  test("drops records for a position that the target has left meanwhile", async () => {
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const brokers = new ScriptedBrokers(async (asked, n) => {
      if (n === 0) await held;
      return giveOne(asked, n);
    });
    const reader = new Reader("t/0", 5);
    const fetcher = openFetcher(brokers);
    fetcher.add(reader);
    while (brokers.asked.length === 0) await turns(1);
    reader.wanted = 70;
    release();
    await reader.until(has(1));
    await fetcher.close();
    assert.equal(reader.taken[0], 70);
  });

  test("fetches nothing for a removed target, and continues with the others", async () => {
    const brokers = new ScriptedBrokers(giveOne);
    const [removed, kept] = [new Reader("t/0"), new Reader("t/1")];
    const fetcher = openFetcher(brokers);
    for (const reader of [removed, kept]) fetcher.add(reader);
    await Promise.all([removed.until(has(1)), kept.until(has(1))]);
    fetcher.remove(removed);
    const [taken, asked] = [removed.taken.length, brokers.asked.length];
    await kept.until(has(kept.taken.length + 3));
    await fetcher.close();
    assert.equal(removed.taken.length, taken);
    assert.ok(brokers.asked.slice(asked + 1).every(({ offsets }) => !offsets.has("t/0")));
  });

  test("does not remove the successor of a target together with its predecessor", async () => {
    const brokers = new ScriptedBrokers(giveOne);
    const [predecessor, successor] = [new Reader("t/0"), new Reader("t/0", 50)];
    const fetcher = openFetcher(brokers);
    fetcher.add(predecessor);
    fetcher.add(successor);
    fetcher.remove(predecessor);
    await successor.until(has(1));
    assert.equal(successor.taken[0], 50);
    await fetcher.close();
  });

  test("delivers and requests nothing after it was closed, and closes its link", async () => {
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const brokers = new ScriptedBrokers(async (asked, n) => {
      await held;
      return giveOne(asked, n);
    });
    const reader = new Reader("t/0");
    const fetcher = openFetcher(brokers);
    fetcher.add(reader);
    while (brokers.asked.length === 0) await turns(1);
    await fetcher.close();
    release();
    await turns();
    assert.deepEqual([reader.taken, reader.failures, brokers.asked.length], [[], [], 1]);
    assert.equal(brokers.openLinks.size, 0);
  });

  test("reads a partition that is added just when leaders have been found", async () => {
    for (let after = 0; after < 12; after++) {
      const brokers = new ScriptedBrokers(giveOne);
      const [first, second] = [new Reader("t/0"), new Reader("t/1")];
      const fetcher = openFetcher(brokers);
      fetcher.add(first);
      for (let tick = 0; tick < after; tick++) await Promise.resolve();
      fetcher.add(second);
      for (let turn = 0; turn < 50 && second.taken.length === 0; turn++) await turns(1);
      assert.ok(second.taken.length > 0, `added after ${after} ticks, it is never read`);
      await fetcher.close();
    }
  });
});

describe("a fetcher whose leader is cut off from its peers", () => {
  /** Broker 1 never has records for the first partition, and no error. Broker 3 always leads the second one. */
  async function cutOff() {
    const clock = { ms: 1_000_000, nowMs: () => clock.ms };
    const [underWay, most] = [new Map<string, number>(), new Map<string, number>()];
    const brokers = new ScriptedBrokers(async (asked, n) => {
      const { nodeId } = asked;
      underWay.set(nodeId, (underWay.get(nodeId) ?? 0) + 1);
      most.set(nodeId, Math.max(most.get(nodeId) ?? 0, underWay.get(nodeId) ?? 0));
      await turns(2);
      underWay.set(nodeId, (underWay.get(nodeId) ?? 0) - 1);
      return nodeId === "1" ? [fetched("t/0", [], { stable: 0 })] : giveOne(asked, n);
    });
    brokers.leaderByName.set("t/1", "3");
    const [stuck, sound] = [new Reader("t/0"), new Reader("t/1")];
    const fetcher = openFetcher(brokers, clock);
    for (const reader of [stuck, sound]) fetcher.add(reader);
    await sound.until(has(5));
    return { brokers, clock, stuck, sound, fetcher, most };
  }

  test("looks up leaders every half minute, and finds the new one without disturbing other polls", async () => {
    const { brokers, clock, stuck, sound, fetcher, most } = await cutOff();
    brokers.leaderByName.set("t/0", "2");
    const before = brokers.refreshes;
    clock.ms += 29_999;
    await turns(50);
    assert.deepEqual([stuck.taken, brokers.refreshes], [[], before]);
    clock.ms += 1;
    await turns(50);
    assert.ok(stuck.taken.length > 0, "it stands still");
    assert.equal(brokers.refreshes, before + 1);
    const taken = sound.taken.length;
    await sound.until(has(taken + 5));
    await fetcher.close();
    assert.deepEqual([...most.values()], [1, 1, 1], "a broker is polled twice at a time");
    assert.equal(brokers.linksOpened, 1);
    assert.deepEqual(
      sound.taken,
      sound.taken.map((_, n) => n),
    );
    clock.ms += 60_000;
    await turns();
    assert.equal(brokers.refreshes, before + 1, "it looks leaders up although it is closed");
  });

  test("asks a broker that it is not connected to, for all its topics", async () => {
    const { brokers, clock, stuck, fetcher } = await cutOff();
    const asked: string[][] = [];
    brokers.onLearn = (topics) => {
      asked.push([...topics]);
      brokers.leaderByName.set("t/0", "2");
    };
    clock.ms += 30_000;
    await turns(50);
    await fetcher.close();
    assert.deepEqual(asked, [["t"]]);
    assert.ok(stuck.taken.length > 0, "it stands still");
  });

  test("asks a connected broker when the other one does not answer", async () => {
    const { brokers, clock, stuck, fetcher } = await cutOff();
    brokers.leaderByName.set("t/0", "2");
    brokers.onLearn = () => Promise.reject(new Error("broker 2 is down"));
    clock.ms += 30_000;
    await turns(50);
    await fetcher.close();
    assert.ok(stuck.taken.length > 0, "it stands still");
    assert.deepEqual(stuck.failures, []);
  });
});
