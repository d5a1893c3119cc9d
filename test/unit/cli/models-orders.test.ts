import assert from "node:assert/strict";
import { test } from "node:test";
import type { ModelEventRecord } from "../../../src/log/codec/schemas.generated.ts";
import type { Log } from "../../../src/log/log.ts";
import { orderKey } from "../../../src/retrain/requests/model-keys.ts";
import { ModelsFixture, nowMs, topics } from "./models-fixture.ts";

async function openFleet(t: Parameters<typeof ModelsFixture.open>[0]): Promise<ModelsFixture> {
  const fleet = await ModelsFixture.open(t);
  await fleet.putSeries(2, "pump");
  await fleet.putModel(2, { key: "pump", version: "v1" });
  return fleet;
}

test("a retraining is asked for where the series lives, and told from request to promotion", async (t) => {
  const fleet = await openFleet(t);
  const answered = fleet.answer(
    { kind: "REQUESTED", fromVersion: "v1", reason: "manual" },
    { kind: "DRIFTED", reason: "no answer to anybody" },
    {
      ...{ kind: "PROMOTED", fromVersion: "v1", toVersion: "v2", reason: "better by 20 %" },
      numbers: { challengerMase: 0.4, championMase: 0.5 },
    },
  );
  const { code, out, err } = await fleet.run(["retrain", "pump"]);
  const { partition, order } = await answered;
  assert.deepEqual([code, err, partition], [0, "", 2]);
  const { id, ...asked } = order;
  assert.deepEqual(asked, {
    ...{ modelKey: "pump", kind: "RETRAIN", record: null, skipsGate: false, askedAt: nowMs },
  });
  assert.deepEqual(out.split("\n"), [
    `asked to retrain pump: order ${id} in partition 2, waiting up to 60 s`,
    "2026-01-02 03:04:05Z  requested    v1:  manual",
    "2026-01-02 03:04:05Z  promoted     v1 → v2:  better by 20 %",
    "                      challengerMase 0.4, championMase 0.5",
  ]);
});

const refusals: readonly (readonly [string, Partial<ModelEventRecord>])[] = [
  ["retrain", { kind: "REFUSED", toVersion: "v2", reason: "the champion is better" }],
  ["retrain", { kind: "FAILED", reason: "too little history" }],
  ["retrain", { kind: "RETIRED", reason: "seasonal-naive is best" }],
  ["rollback", { kind: "REFUSED", reason: "there is nothing to roll back" }],
];
for (const [action, event] of refusals) {
  test(`a ${action} that ends with ${event.kind} returns 1 and says why`, async (t) => {
    const fleet = await openFleet(t);
    const answered = fleet.answer(event);
    const { code, out } = await fleet.run([action, "pump"]);
    await answered;
    assert.equal(code, 1);
    assert.ok(out.endsWith(event.reason as string));
  });
}

test("a rollback does not take the end of a training under way for its answer", async (t) => {
  const fleet = await openFleet(t);
  const answered = fleet.answer(
    { kind: "REFUSED", toVersion: "v9", reason: "a challenger" },
    { kind: "FAILED", reason: "a training" },
    { kind: "ROLLED_BACK", fromVersion: "v1", toVersion: "v0", reason: "by hand" },
  );
  const { code, out } = await fleet.run(["rollback", "pump"]);
  assert.equal((await answered).order.kind, "ROLL_BACK");
  assert.equal(code, 0);
  assert.deepEqual(out.split("\n").slice(1), ["2026-01-02 03:04:05Z  rolled back  v1 → v0:  by hand"]);
});

test("what was decided before the order was placed is no answer to it", async (t) => {
  const fleet = await openFleet(t);
  await fleet.putEvent("pump", { kind: "ROLLED_BACK", reason: "last week" });
  const answered = fleet.answer({ kind: "REFUSED", reason: "not again" });
  const { code, out } = await fleet.run(["rollback", "pump"]);
  await answered;
  assert.deepEqual([code, out.includes("last week")], [1, false]);
});

test("an answer to another model is none", async (t) => {
  const fleet = await openFleet(t);
  const told = fleet.answer().then(async () => {
    await fleet.putEvent("pump2", { kind: "ROLLED_BACK", reason: "another" });
    await fleet.putEvent("pump", { kind: "REFUSED", reason: "this one" });
  });
  const { code, out } = await fleet.run(["rollback", "pump"]);
  await told;
  assert.deepEqual([code, out.includes("another")], [1, false]);
});

/** The fixture's log; `then` happens before whoever appends hears that it is done. */
function thenAtOnce({ log }: ModelsFixture, then: () => Promise<void>): Log {
  return {
    describeTopics: (names) => log.describeTopics(names),
    createTopics: (specs) => log.createTopics(specs),
    join: (subscription, lane) => log.join(subscription, lane),
    append: (records) => log.append(records).then(then),
    follow: (topic, from, signal) => log.follow(topic, from, signal),
    read: (topic, signal) => log.read(topic, signal),
    close: () => log.close(),
  };
}

test("a worker that answers before anybody listens is heard all the same", async (t) => {
  const fleet = await openFleet(t);
  const log = thenAtOnce(fleet, () => fleet.putEvent("pump", { kind: "ROLLED_BACK", reason: "by hand" }));
  const { code, out } = await fleet.run(["rollback", "pump"], log);
  assert.equal(code, 0);
  assert.match(out, /by hand$/);
});

test("no answer in time returns 1, and says that the order stays", async (t) => {
  const fleet = await openFleet(t);
  const { code, err } = await fleet.run(["rollback", "pump", "--timeout=0.01"]);
  assert.equal(code, 1);
  assert.match(err, /^no answer in time: the order stays until [^\n]*$/);
  assert.match((await fleet.run(["show", "pump"])).out, /waiting +ROLL_BACK asked for 2026-01-02 03:04:05Z/);
});

test("a training that takes longer than one waits for goes on, and that is said", async (t) => {
  const fleet = await openFleet(t);
  const log = thenAtOnce(fleet, () => fleet.putEvent("pump", { kind: "REQUESTED", reason: "manual" }));
  const { code, err } = await fleet.run(["retrain", "pump", "--timeout=0.5"], log);
  assert.equal(code, 1);
  assert.match(err, /^no answer in time: the training goes on; /);
});

test("whoever stops waiting leaves the order where it is", async (t) => {
  const fleet = await openFleet(t);
  const stopping = new AbortController();
  const answered = fleet.answer().then(() => stopping.abort());
  const { code, err } = await fleet.run(["retrain", "pump"], fleet.log, stopping.signal);
  await answered;
  assert.equal(code, 1);
  assert.match(err, /^stopped waiting: the order stays/);
});

test("an order that nobody waits for is placed, and that is all", async (t) => {
  const fleet = await openFleet(t);
  const { code, out } = await fleet.run(["retrain", "pump", "--no-wait"]);
  assert.equal(code, 0);
  assert.match(out, /^asked to retrain pump: order \S+ in partition 2$/);
});

test("an earlier order that still waits is replaced, and that is said", async (t) => {
  const fleet = await openFleet(t);
  await fleet.run(["retrain", "pump", "--no-wait"]);
  const second = await fleet.run(["rollback", "pump", "--no-wait"]);
  assert.match(second.out, /^an order of 2026-01-02 03:04:05Z was still waiting; this one takes its place\n/);
  await fleet.put(topics.models, 2, orderKey("pump"), null);
  assert.match((await fleet.run(["retrain", "pump", "--no-wait"])).out, /^asked to retrain/);
});

test("a cohort hears of it where its state lies, or else at its home", async (t) => {
  const fleet = await openFleet(t);
  for (const partition of [0, 1, 2]) await fleet.putModel(partition, { key: "cohort:a" });
  for (const partition of [0, 1, 2]) await fleet.putModel(partition, { key: "cohort:b" });
  await fleet.putSeries(2, "cohort:b");
  for (const [key, expected] of [
    ["cohort:a", 1],
    ["cohort:b", 2],
  ] as const) {
    const answered = fleet.answer({ kind: "ROLLED_BACK", reason: "by hand" });
    assert.equal((await fleet.run(["rollback", key])).code, 0);
    assert.equal((await answered).partition, expected);
  }
});

test("a series that moved is found where it lives now", async (t) => {
  const fleet = await openFleet(t);
  await fleet.putSeries(0, "pump");
  const answered = fleet.answer({ kind: "REFUSED", reason: "no" });
  await fleet.run(["rollback", "pump"]);
  assert.equal((await answered).partition, 0);
});

test("an order about an unknown series is never placed", async (t) => {
  const fleet = await openFleet(t);
  const { code, err } = await fleet.run(["retrain", "punp"]);
  assert.equal(code, 1);
  assert.match(err, /^no series or cohort punp is known: did you mean pump\?$/);
  const rows = await fleet.run(["list", "--json"]);
  assert.equal(JSON.parse(rows.out).length, 1);
});

test("a log that takes no order is an error of one line", async (t) => {
  const fleet = await openFleet(t);
  const refusing = thenAtOnce(fleet, async () => {
    fleet.log.setOutage("gone fishing");
    await fleet.log.append([]);
  });
  const { code, err } = await fleet.run(["retrain", "pump"], refusing);
  assert.deepEqual([code, err], [1, "the embedded log is out: gone fishing"]);
});
