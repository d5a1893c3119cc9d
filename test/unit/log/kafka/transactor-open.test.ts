// Taking over a partition: the positions of its inputs, and contradictions between group and state.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type PositionRule, reconcile, toPositionsRecord } from "../../../../src/log/kafka/positions.ts";
import { makeDelaysInstant } from "./instant-delays.ts";
import type { Fault, Step } from "./scripted-link.ts";
import { GROUP, INPUT, STATE, storedIn, TRANSACTIONAL_ID, TransactorRig } from "./transactor-rig.ts";

const { clock } = makeDelaysInstant();
const PLACE = { topic: INPUT, partition: 0 };

function rigWith(stored: number | null, group: number | null, positionRule: PositionRule = "agree") {
  const rig = new TransactorRig({ clock, positionRule });
  if (stored !== null) store(rig, stored);
  if (group !== null) rig.cluster.model.setGroupOffset(GROUP, PLACE, group);
  return rig;
}

function store(rig: TransactorRig, position: number, topicId: string | null = null): void {
  const positions = {
    ...{ commitId: "1-0-0", positionByTopic: new Map([[INPUT, position]]) },
    ...{ topicIdByTopic: new Map([[INPUT, topicId]]), stateTopicId: `id of ${STATE}` },
  };
  rig.cluster.model.append(toPositionsRecord(positions, STATE, 0));
}

describe("a partition starts", () => {
  for (const [title, stored, group, rule, expected] of [
    ["as configured if nothing was ever committed", null, null, "agree", null],
    ["at the group's offset if the state has no record", null, 40, "agree", 40],
    ["at the recorded position if the group's offset is gone", 50, null, "agree", 50],
    ["at the position on which record and group agree", 50, 50, "agree", 50],
    ["at the recorded position if the rule is to trust the state", 50, 40, "state", 50],
    ["at the group's offset if the rule is to trust the group", 50, 40, "group", 40],
    ["at the group's offset without a record if the rule is to trust the state", null, 40, "state", 40],
    [
      "at the recorded position without a group offset if the rule is to trust the group",
      50,
      null,
      "group",
      50,
    ],
    ["at 0 if that was committed", 0, 0, "agree", 0],
  ] as const) {
    test(title, async () => {
      const rig = rigWith(stored, group, rule);
      assert.deepEqual([...(await rig.open())], [[INPUT, expected]]);
      assert.deepEqual(rig.contradictions, [null]);
      await rig.commit(9);
      rig.assertOrderly();
      assert.equal(rig.cluster.model.groupOffset(GROUP, PLACE), 100);
      assert.equal(storedIn(rig.cluster)?.positionByTopic.get(INPUT), 100);
    });
  }

  test("with its own position for each input, and a commit keeps the positions of the others", async () => {
    const rig = rigWith(50, 50);
    assert.deepEqual(
      [...(await rig.open([INPUT, "weather"]))],
      [
        [INPUT, 50],
        ["weather", null],
      ],
    );
    await rig.transactor.commit({ records: [], topic: "weather", nextOffset: 7 });
    assert.deepEqual(
      [...(storedIn(rig.cluster)?.positionByTopic ?? [])],
      [
        [INPUT, 50],
        ["weather", 7],
      ],
    );
  });

  test("only after every earlier owner was fenced, and before anything is committed", async () => {
    const rig = rigWith(50, 50);
    await rig.open();
    const steps = rig.cluster.trace.map(({ step }) => step);
    const fencedAt = steps.indexOf("InitProducerId");
    assert.equal(rig.readAt.length, 1);
    assert.ok(fencedAt < (rig.readAt[0] as number));
    assert.ok(fencedAt < steps.indexOf("OffsetFetch"));
  });

  for (const [title, before, now, expected] of [
    ["from scratch if its topic was recreated, whatever the group says", "old", "new", [null, true]],
    ["at its stored position if its topic is the same", "same", "same", [50, false]],
    ["at its stored position if the record has no topic id", null, "new", [50, false]],
    ["at its stored position if the brokers have no topic id", "old", null, [50, false]],
  ] as const) {
    test(title, async () => {
      const rig = new TransactorRig({ clock });
      store(rig, 50, before);
      const { model } = rig.cluster;
      model.setGroupOffset(GROUP, PLACE, before === "old" && now !== null ? 99 : 50);
      model.hasTopicIds = now !== null;
      model.topicIds.set(INPUT, now ?? "");
      const opened = (await rig.openTopics()).get(INPUT);
      assert.deepEqual([opened?.position, opened?.isRecreated], expected);
      await rig.commit(9);
      assert.equal(storedIn(rig.cluster)?.topicIdByTopic.get(INPUT), now);
    });
  }

  test("at its stored position on a mirrored cluster, where the state topic has another id, too", async () => {
    const rig = new TransactorRig({ clock });
    store(rig, 50, "old");
    rig.cluster.model.topicIds.set(INPUT, "new").set(STATE, "mirror");
    const opened = (await rig.openTopics()).get(INPUT);
    assert.deepEqual([opened?.position, opened?.isRecreated], [50, false]);
  });

  test("with an open, and refuses a commit before that", () => {
    assert.rejects(new TransactorRig({ clock }).commit(0), /open\(\) comes before the first commit/);
  });
});

describe("positions that contradict each other", () => {
  test("are checked again silently, then reported, awaited, and used when they agree", async () => {
    const rig = rigWith(50, 40);
    let looks = 0;
    rig.onRead = () => {
      if (++looks === 7) rig.cluster.model.setGroupOffset(GROUP, PLACE, 50);
    };
    assert.deepEqual([...(await rig.open())], [[INPUT, 50]]);
    assert.equal(looks, 8);
    assert.equal(rig.contradictions.length, 4, "reported at checks 5, 6 and 7, and at the end");
    assert.equal(rig.contradictions.at(-1), null);
    const [told] = rig.contradictions;
    assert.equal(told?.code, "POSITIONS_CONTRADICT");
    assert.match(told?.message ?? "", /sensors: group g is at 40, the state in state is at 50/);
    assert.equal(rig.cluster.openLinks.size, 1);
  });

  test("are not reported if they agree after a few checks", async () => {
    const rig = rigWith(50, 40);
    let looks = 0;
    rig.onRead = () => {
      if (++looks === 5) store(rig, 40);
    };
    assert.deepEqual([...(await rig.open())], [[INPUT, 40]]);
    assert.deepEqual(rig.contradictions, [null]);
  });

  test("are awaited only while the partition is ours", async () => {
    const rig = rigWith(50, 40);
    rig.onRead = () => {
      if (rig.contradictions.length > 2) rig.lost.abort();
    };
    await assert.rejects(rig.open(), { code: "PARTITION_LOST" });
    assert.equal(rig.cluster.openLinks.size, 0);
  });

  test("are only those of the topics that differ", () => {
    const stored = new Map([
      ["a", 1],
      ["b", 2],
      ["c", 3],
    ]);
    const group = new Map([
      ["a", 1],
      ["b", 9],
      ["c", null],
    ]);
    const found = reconcile(["a", "b", "c", "d"], stored, group, "agree");
    assert.deepEqual(found.contradictions, [{ topic: "b", stored: 2, group: 9 }]);
    assert.equal(found.positionByTopic.get("d"), null);
  });
});

describe("opening a partition", () => {
  const steps = [
    "Connect",
    "FindCoordinator",
    "InitProducerId",
    "OffsetFetch",
    "Metadata",
  ] as const satisfies readonly Step[];
  const passing = [3, 14, 15, 16, 7, 47, 49, 90];
  for (const step of steps) {
    for (const code of passing) {
      test(`is retried when ${step} is refused with code ${code}`, async () => {
        await opensThrough(step, { kind: "refused", code });
      });
    }
    for (const kind of ["request lost", "answer lost"] as const)
      test(`is retried when ${step} meets this: ${kind}`, async () => {
        await opensThrough(step, { kind });
      });
  }

  test("asks again in the same session while the coordinator completes the previous transaction", async () => {
    const rig = await opensThrough("InitProducerId", { kind: "refused", code: 51 });
    assert.equal(rig.cluster.linksOpened, 1);
    assert.equal(rig.troubles.length, 0);
  });

  test("keeps retrying while the coordinator is busy for long", async () => {
    const rig = rigWith(50, 50);
    for (let nth = 0; nth < 400; nth++)
      rig.cluster.script({ step: "InitProducerId", nth, fault: { kind: "refused", code: 51 } });
    assert.deepEqual([...(await rig.open())], [[INPUT, 50]]);
    assert.match(rig.troubles[0], /InitProducerId: the previous transaction does not end/);
  });

  for (const [step, code, told, right] of [
    ["InitProducerId", 53, "NOT_AUTHORIZED", /Write on transactional ids that start with g-/],
    ["FindCoordinator", 30, "NOT_AUTHORIZED", /Read on group g/],
    ["OffsetFetch", 30, "NOT_AUTHORIZED", /Read on group g/],
    ["InitProducerId", 50, "LOG_FAILED", /INVALID_TRANSACTION_TIMEOUT/],
    ["OffsetFetch", -1, "LOG_FAILED", /partition 0 could not be opened/],
  ] as const) {
    test(`fails with ${told} when ${step} is refused with code ${code}, and leaves no link open`, async () => {
      const rig = rigWith(50, 50);
      rig.cluster.script({ step, nth: 0, fault: { kind: "refused", code } });
      await assert.rejects(rig.open(), { code: told, message: right });
      assert.equal(rig.cluster.openLinks.size, 0);
    });
  }

  for (const [what, answer] of [
    ["leaves the partition out", { errorCode: 0, offsets: [] }],
    ["gives another one", { errorCode: 0, offsets: [{ topic: "x", partition: 0, errorCode: 0, offset: 1 }] }],
    ["refuses it alone", { errorCode: 0, offsets: [{ ...PLACE, errorCode: 3, offset: -1 }] }],
  ] as const) {
    test(`asks again when the group's answer ${what}: that is not "nothing committed"`, async () => {
      const rig = rigWith(null, 50);
      const { model } = rig.cluster;
      const apply = model.apply.bind(model);
      let offsetFetches = 0;
      model.apply = (nodeId, request) =>
        request.api === "OffsetFetch" && offsetFetches++ < 3 ? answer : apply(nodeId, request);
      assert.deepEqual([...(await rig.open())], [[INPUT, 50]]);
      assert.equal(offsetFetches, 4);
      assert.equal(rig.troubles.length, 3);
    });
  }

  test("takes a new epoch each time, so that an earlier attempt has ended", async () => {
    const rig = rigWith(50, 50);
    for (const nth of [0, 1])
      rig.cluster.script({ step: "OffsetFetch", nth, fault: { kind: "answer lost" } });
    await rig.open();
    assert.equal(rig.cluster.model.epochOf(TRANSACTIONAL_ID), 2);
  });
});

async function opensThrough(step: Step, fault: Fault): Promise<TransactorRig> {
  const rig = rigWith(50, 50);
  rig.cluster.script({ step, nth: 0, fault });
  assert.deepEqual([...(await rig.open())], [[INPUT, 50]]);
  await rig.commit(9);
  rig.assertOrderly();
  assert.equal(rig.cluster.openLinks.size, 1);
  return rig;
}
