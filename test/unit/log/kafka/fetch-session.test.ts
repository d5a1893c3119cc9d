import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { FetchSession, isSessionLost } from "../../../../src/log/kafka/fetch-session.ts";
import type { FetchFrom } from "../../../../src/log/kafka/wire/protocol.ts";
import { giveOne, has, openFetcher, Reader } from "./fetch-reader.ts";
import { makeDelaysInstant, turns } from "./instant-delays.ts";
import { fetched, ScriptedBrokers } from "./scripted-brokers.ts";

makeDelaysInstant();

function places(offsets: Readonly<Record<number, number>>): ReadonlyMap<string, FetchFrom> {
  return new Map(
    Object.entries(offsets).map(([partition, offset]) => [
      `t/${partition}`,
      { topic: "t", partition: Number(partition), offset, maxBytes: 100 },
    ]),
  );
}

function told(session: FetchSession, offsets: Readonly<Record<number, number>>) {
  const { sessionId, epoch, places: changed, forgotten } = session.changesTo(places(offsets));
  const named = changed.map(({ partition, offset }) => `${partition}@${offset}`);
  return [sessionId, epoch, named, forgotten.map(({ partition }) => partition)];
}

describe("a fetch session", () => {
  test("begins with all places and goes on with what has changed", () => {
    const session = new FetchSession();
    assert.deepEqual(told(session, { 0: 5, 1: 7 }), [0, 0, ["0@5", "1@7"], []]);
    session.confirm(42);
    assert.deepEqual(told(session, { 0: 5, 1: 8, 2: 0 }), [42, 1, ["1@8", "2@0"], []]);
    session.confirm(42);
    assert.deepEqual(told(session, { 1: 8 }), [42, 2, [], [0, 2]]);
    session.confirm(42);
    assert.deepEqual(told(session, { 0: 5, 1: 8 }), [42, 3, ["0@5"], []]);
  });

  test("asks for all places again after an error, and ends the session that the broker may still have", () => {
    const session = new FetchSession();
    session.changesTo(places({ 0: 5 }));
    session.confirm(42);
    session.changesTo(places({ 0: 6 }));
    session.restart();
    assert.deepEqual(told(session, { 0: 6, 1: 1 }), [42, 0, ["0@6", "1@1"], []]);
  });

  test("sends whole requests to a broker that keeps none", () => {
    const session = new FetchSession();
    for (let poll = 0; poll < 2; poll++) {
      assert.deepEqual(told(session, { 0: 5, 1: 7 }), [0, 0, ["0@5", "1@7"], []]);
      session.confirm(0);
    }
  });

  test("is lost by two codes only", () => {
    assert.deepEqual([0, 69, 70, 71, 72].filter(isSessionLost), [70, 71]);
  });
});

describe("a fetcher with sessions", () => {
  test("goes on where it was when the broker has forgotten the session", async () => {
    const brokers = new ScriptedBrokers(giveOne);
    const readers = [new Reader("t/0"), new Reader("t/1", 3)];
    const fetcher = openFetcher(brokers);
    for (const reader of readers) fetcher.add(reader);
    await Promise.all(readers.map((reader) => reader.until(has(3))));
    brokers.sessions.evict();
    await Promise.all(readers.map((reader) => reader.until(has(6))));
    await fetcher.close();
    assert.deepEqual(readers[0].taken.slice(0, 6), [0, 1, 2, 3, 4, 5]);
    assert.deepEqual(readers[1].taken.slice(0, 6), [3, 4, 5, 6, 7, 8]);
    assert.deepEqual(brokers.warned, []);
  });

  test("gets an answer for a new target at a place of which the broker has no news", async () => {
    const brokers = new ScriptedBrokers(async ({ offsets }) => {
      await turns(1);
      return [...offsets.keys()].map((name) => fetched(name, [], { stable: 9 }));
    });
    const fetcher = openFetcher(brokers);
    const first = new Reader("t/0", 9);
    fetcher.add(first);
    await first.until(() => first.last !== null);
    fetcher.remove(first);
    const second = new Reader("t/0", 9);
    fetcher.add(second);
    await second.until(() => second.last !== null);
    await fetcher.close();
    assert.equal(second.last?.highWatermark, 9);
  });
});
