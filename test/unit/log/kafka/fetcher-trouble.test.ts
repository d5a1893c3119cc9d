// How a fetcher handles partitions, topics and brokers that fail.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { partitionName } from "../../../../src/log/kafka/cluster-link.ts";
import { giveOne, has, openFetcher, Reader } from "./fetch-reader.ts";
import { makeDelaysInstant, turns } from "./instant-delays.ts";
import { failure, fetched, never, refused, ScriptedBrokers } from "./scripted-brokers.ts";

makeDelaysInstant();

describe("a fetcher that has trouble with a partition", () => {
  test("fetches a partition that has moved from its new leader", async () => {
    const brokers = new ScriptedBrokers((asked, n) => {
      if (asked.nodeId === "1" && n === 2) {
        brokers.leaderByName.set("t/0", "2");
        return [...asked.offsets.keys()].map((name) => refused(name, 6));
      }
      return giveOne(asked, n);
    });
    const reader = new Reader("t/0");
    const fetcher = openFetcher(brokers);
    fetcher.add(reader);
    await reader.until(has(5));
    await fetcher.close();
    assert.deepEqual(reader.taken.slice(0, 5), [0, 1, 2, 3, 4]);
    assert.equal(brokers.asked.at(-1)?.nodeId, "2");
    assert.ok(brokers.refreshes > 0);
  });

  test("does not delay the other partitions of the same broker", async () => {
    const brokers = new ScriptedBrokers(({ offsets }) =>
      [...offsets].map(([name, offset]) =>
        name === "t/0" ? refused(name, 56) : fetched(name, [offset], { stable: offset + 1 }),
      ),
    );
    const [broken, sound] = [new Reader("t/0"), new Reader("t/1")];
    const fetcher = openFetcher(brokers);
    for (const reader of [broken, sound]) fetcher.add(reader);
    await sound.until(has(50));
    await fetcher.close();
    const inVain = brokers.asked.filter(({ offsets }) => offsets.has("t/1")).length - sound.taken.length;
    assert.ok(inVain <= 2, `${inVain} answers for the sound partition were thrown away`);
  });

  test("fails only the partition with a permanent error", async () => {
    const brokers = new ScriptedBrokers(({ offsets }) =>
      [...offsets].map(([name, offset]) =>
        name === "t/0" ? refused(name, 29) : fetched(name, [offset], { stable: offset + 1 }),
      ),
    );
    const [refusedReader, sound] = [new Reader("t/0"), new Reader("t/1")];
    const fetcher = openFetcher(brokers);
    for (const reader of [refusedReader, sound]) fetcher.add(reader);
    await refusedReader.until(({ failures }) => failures.length > 0);
    await sound.until(has(5));
    await fetcher.close();
    assert.match(
      String(refusedReader.failures[0]),
      /Fetch of t\/0 from offset 0 .*TOPIC_AUTHORIZATION_FAILED/,
    );
    assert.deepEqual(sound.failures, []);
  });

  test("passes the range to a partition that is out of range, and fetches from where it chooses", async () => {
    const brokers = new ScriptedBrokers(({ offsets }) =>
      [...offsets].map(([name, offset]) =>
        offset < 40 ? refused(name, 1) : fetched(name, [offset], { stable: offset + 1 }),
      ),
    );
    brokers.rangeByName.set("t/0", { first: 40, end: 60 });
    const reader = new Reader("t/0", 9);
    const fetcher = openFetcher(brokers);
    fetcher.add(reader);
    await reader.until(has(2));
    await fetcher.close();
    assert.deepEqual(reader.ranges, [{ first: 40, end: 60 }]);
    assert.deepEqual(reader.taken.slice(0, 2), [40, 41]);
  });

  test("passes no range to a partition that was removed meanwhile", async () => {
    const brokers = new ScriptedBrokers(({ offsets }) => [...offsets.keys()].map((name) => refused(name, 1)));
    const reader = new Reader("t/0", 9);
    const fetcher = openFetcher(brokers);
    brokers.onRange = () => fetcher.remove(reader);
    fetcher.add(reader);
    while (brokers.rangesAsked < 2) await turns(1);
    await turns();
    await fetcher.close();
    assert.deepEqual(reader.ranges, []);
  });

  for (const code of [6, -1]) {
    test(`asks for the range of a partition again after code ${code}`, async () => {
      const brokers = new ScriptedBrokers(({ offsets }) =>
        [...offsets].map(([name, offset]) =>
          offset < 40 ? refused(name, 1) : fetched(name, [offset], { stable: offset + 1 }),
        ),
      );
      brokers.rangeByName.set("t/0", { first: 40, end: 60 });
      let questions = 0;
      brokers.onRange = () => {
        if (questions++ < 2) throw failure(code);
      };
      const reader = new Reader("t/0", 9);
      const fetcher = openFetcher(brokers);
      fetcher.add(reader);
      await reader.until(({ taken, failures }) => taken.length + failures.length > 0);
      await fetcher.close();
      assert.deepEqual([reader.taken[0], reader.failures], [40, []]);
    });
  }

  test("warns of a partition that its broker cannot read, and fetches it when the broker can", async () => {
    const brokers = new ScriptedBrokers((asked, n) =>
      n < 10 ? [...asked.offsets.keys()].map((name) => refused(name, -1)) : giveOne(asked, n),
    );
    const reader = new Reader("t/0");
    const fetcher = openFetcher(brokers);
    fetcher.add(reader);
    await reader.until(({ taken, failures }) => taken.length + failures.length > 0);
    await fetcher.close();
    assert.deepEqual([reader.taken[0], reader.failures, brokers.warned.length], [0, [], 1]);
    assert.match(brokers.warned[0], /log did not answer, trying again .*UNKNOWN_SERVER_ERROR/);
  });

  test("fetches a partition without a leader when it has one, warns of the wait, and fetches the others meanwhile", async () => {
    const brokers = new ScriptedBrokers(giveOne);
    brokers.leaderByName.set("t/0", "none");
    const [orphan, sound] = [new Reader("t/0"), new Reader("t/1")];
    const fetcher = openFetcher(brokers);
    for (const reader of [orphan, sound]) fetcher.add(reader);
    await sound.until(has(3));
    while (brokers.warned.length === 0) await turns(1);
    assert.equal(brokers.warned[0], 'log did not answer, trying again {"reason":"t/0 has no leader"}');
    brokers.leaderByName.set("t/0", "2");
    await orphan.until(has(1));
    await fetcher.close();
  });
});

describe("a fetcher that has trouble with a topic", () => {
  /** Reads two topics. From the third fetch on, the lookup of one fails with `code`, and the other has moved. */
  function breakTopic(code: number) {
    let isBroken = false;
    const brokers = new ScriptedBrokers((asked, n) => {
      if (n === 2) {
        isBroken = true;
        brokers.leaderByName.set("broken/0", "none").set("sound/0", "2");
      }
      if (asked.nodeId === "2" || !isBroken) return giveOne(asked, n);
      return [...asked.offsets.keys()].map((name) => refused(name, 6));
    });
    brokers.connect = async (topics) => {
      if (isBroken && topics.includes("broken")) throw failure(code);
    };
    const [broken, sound] = [new Reader("broken/0"), new Reader("sound/0")];
    const fetcher = openFetcher(brokers);
    for (const reader of [broken, sound]) fetcher.add(reader);
    const mend = () => {
      isBroken = false;
      brokers.leaderByName.set("broken/0", "2");
    };
    return { brokers, broken, sound, fetcher, mend };
  }

  test("looks up the leaders of other topics although one was deleted", async () => {
    const { brokers, broken, sound, fetcher, mend } = breakTopic(3);
    await sound.until(has(10));
    const links = brokers.linksOpened;
    await sound.until(has(30));
    assert.equal(brokers.linksOpened, links, "the link is replaced although the others can be read");
    assert.deepEqual([broken.failures, sound.failures], [[], []]);
    const before = broken.taken.length;
    mend();
    await broken.until(has(before + 1));
    await fetcher.close();
  });

  test("fails only the targets of a topic that it may no longer look up, once", async () => {
    const { broken, sound, fetcher } = breakTopic(29);
    await broken.until(({ failures }) => failures.length > 0);
    await sound.until(has(30));
    await fetcher.close();
    assert.deepEqual(broken.failures.map(String), [
      "BrokerError: Fetch was answered with TOPIC_AUTHORIZATION_FAILED",
    ]);
    assert.deepEqual(sound.failures, []);
  });

  test("warns of its only topic being deleted, and reads it when it exists again", async () => {
    const brokers = new ScriptedBrokers(giveOne);
    let isDeleted = true;
    brokers.connect = async () => {
      if (isDeleted) throw failure(3);
    };
    const reader = new Reader("t/0");
    const fetcher = openFetcher(brokers);
    fetcher.add(reader);
    while (brokers.warned.length === 0) await turns(1);
    assert.match(brokers.warned[0], /log did not answer, trying again .*UNKNOWN_TOPIC_OR_PARTITION/);
    isDeleted = false;
    await reader.until(has(1));
    await fetcher.close();
  });
});

describe("a partition that its broker does not know", () => {
  /** Reads two partitions of one topic and one of another. The third fetch is refused for those of the first topic. */
  async function loseTopic(describeTopic: ScriptedBrokers["describe"]) {
    const brokers = new ScriptedBrokers(async (asked, n) => {
      const given = await giveOne(asked, n);
      return given.map((one) => (n === 2 && one.topic === "t" ? refused(partitionName(one), 3) : one));
    });
    brokers.describe = describeTopic;
    const readers = ["t/0", "t/1", "other/0"].map((name) => new Reader(name));
    for (const reader of readers) reader.topicId = describeTopic === null ? null : `id of ${reader.topic}`;
    const fetcher = openFetcher(brokers);
    for (const reader of readers) fetcher.add(reader);
    await readers[2].until(has(50));
    const { refreshes } = brokers;
    await fetcher.close();
    return { readers, refreshes, replacements: readers.map((reader) => reader.replacements) };
  }

  for (const [title, describeTopic] of [
    ["is looked up again if the brokers are too old for topic ids", null],
    ["is looked up again if its topic has no id", () => ({ errorCode: 0, topicId: null })],
    ["is looked up again if its topic is the same", (topic) => described(topic, 0)],
    ["is looked up again if its topic cannot be described now", (topic) => described(topic, 5)],
  ] as readonly [string, ScriptedBrokers["describe"]][]) {
    test(title, async () => {
      const { readers, refreshes, replacements } = await loseTopic(describeTopic);
      assert.deepEqual(replacements, [0, 0, 0]);
      for (const { taken, failures } of readers)
        assert.ok(
          taken.length > 10 && failures.length === 0,
          `${taken.length} taken, ${failures.length} failures`,
        );
      assert.ok(refreshes > 0);
    });
  }

  for (const [title, describeTopic] of [
    [
      "is reported as replaced, with all others of its topic, if the topic does not exist",
      (topic) => described(topic, 3),
    ],
    [
      "is reported as replaced, with all others of its topic, if the topic is another one",
      () => ({ errorCode: 0, topicId: "new" }),
    ],
  ] as readonly [string, ScriptedBrokers["describe"]][]) {
    test(title, async () => {
      const { readers, replacements } = await loseTopic(describeTopic);
      assert.deepEqual(
        replacements.map((count) => count > 0),
        [true, true, false],
      );
      assert.deepEqual(
        readers.map(({ failures }) => failures),
        [[], [], []],
      );
    });
  }

  function described(topic: string, errorCode: number) {
    return { errorCode, topicId: errorCode === 0 ? `id of ${topic}` : null };
  }
});

describe("a fetcher that has trouble with a broker", () => {
  test("asks a silent broker again, and polls the others meanwhile", async () => {
    let isSilent = true;
    const brokers = new ScriptedBrokers(async (asked, n) => {
      if (asked.nodeId === "2" && isSilent) throw failure(7);
      return giveOne(asked, n);
    });
    brokers.leaderByName.set("t/1", "2");
    const [sound, silent] = [new Reader("t/0"), new Reader("t/1")];
    const fetcher = openFetcher(brokers);
    for (const reader of [sound, silent]) fetcher.add(reader);
    await sound.until(has(20));
    assert.deepEqual(silent.taken, []);
    isSilent = false;
    await silent.until(has(2));
    await fetcher.close();
    assert.deepEqual(silent.taken.slice(0, 2), [0, 1]);
  });

  test("asks a broker again after an internal failure", async () => {
    const brokers = new ScriptedBrokers(async (asked, n) => {
      if (n < 3) throw failure(-1);
      return giveOne(asked, n);
    });
    const reader = new Reader("t/0");
    const fetcher = openFetcher(brokers);
    fetcher.add(reader);
    await reader.until(({ taken, failures }) => taken.length + failures.length > 0);
    await fetcher.close();
    assert.deepEqual([reader.taken[0], reader.failures], [0, []]);
  });

  test("is not delayed by a broker that never answers", async () => {
    const brokers = new ScriptedBrokers((asked, n) => (asked.nodeId === "2" ? never() : giveOne(asked, n)));
    brokers.leaderByName.set("t/1", "2");
    const [sound, silent] = [new Reader("t/0"), new Reader("t/1")];
    const fetcher = openFetcher(brokers);
    for (const reader of [sound, silent]) fetcher.add(reader);
    await sound.until(has(20));
    await fetcher.close();
    assert.deepEqual(silent.taken, []);
  });

  test("warns of a lasting failure from time to time", async () => {
    const brokers = new ScriptedBrokers(async (asked, n) => {
      if (n < 20) throw failure(7);
      return giveOne(asked, n);
    });
    const reader = new Reader("t/0");
    const fetcher = openFetcher(brokers);
    fetcher.add(reader);
    await reader.until(has(1));
    await fetcher.close();
    assert.equal(brokers.warned.length, 2);
    assert.match(brokers.warned[0], /log did not answer, trying again .*REQUEST_TIMED_OUT/);
  });

  test("replaces its link when no broker can be connected to", async () => {
    const brokers = new ScriptedBrokers(giveOne);
    let connects = 0;
    brokers.connect = async () => {
      if (connects++ < 3) throw failure(15);
    };
    const reader = new Reader("t/0");
    const fetcher = openFetcher(brokers);
    fetcher.add(reader);
    await reader.until(has(1));
    assert.deepEqual([brokers.linksOpened, brokers.openLinks.size], [4, 1]);
    await fetcher.close();
    assert.equal(brokers.openLinks.size, 0);
  });

  test("fails all targets after a permanent failure, and still serves later ones", async () => {
    let isRefusing = true;
    const brokers = new ScriptedBrokers(async (asked, n) => {
      if (isRefusing) throw failure(35);
      return giveOne(asked, n);
    });
    const [first, later] = [new Reader("t/0"), new Reader("t/1")];
    const fetcher = openFetcher(brokers);
    fetcher.add(first);
    await first.until(({ failures }) => failures.length > 0);
    isRefusing = false;
    fetcher.remove(first);
    await turns();
    fetcher.add(later);
    await later.until(has(1));
    await fetcher.close();
  });
});
