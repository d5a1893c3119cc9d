import assert from "node:assert/strict";
import { test } from "node:test";
import { orderKey } from "../../../../src/log/codec/model-keys.ts";
import type { ModelEventRecord } from "../../../../src/log/codec/schemas.generated.ts";
import type { Log } from "../../../../src/log/log.ts";
import { ModelsFixture, nowMs, topics } from "./models-fixture.ts";

async function openFleet(t: Parameters<typeof ModelsFixture.open>[0]): Promise<ModelsFixture> {
  const fleet = await ModelsFixture.open(t);
  await fleet.putSeries(2, "pump");
  await fleet.putModel(2, { key: "pump", version: "v1" });
  return fleet;
}

test("retrain sends its order to the series' partition and prints the events from request to promotion", async (t) => {
  const fleet = await openFleet(t);
  const answered = fleet.answer(
    { kind: "REQUESTED", fromVersion: "v1", reason: "manual" },
    { kind: "DRIFTED", reason: "about something else" },
    {
      kind: "PROMOTED",
      fromVersion: "v1",
      toVersion: "v2",
      reason: "better by 20 %",
      numbers: { challengerMase: 0.4, championMase: 0.5 },
    },
  );
  const { code, out, err } = await fleet.run(["retrain", "pump"]);
  const { partition, order } = await answered;
  assert.deepEqual([code, err, partition], [0, "", 2]);
  const { id, ...asked } = order;
  assert.deepEqual(asked, {
    modelKey: "pump",
    kind: "RETRAIN",
    record: null,
    skipsGate: false,
    askedAt: nowMs,
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
  test(`a ${action} that ends with ${event.kind} returns 1 and prints the reason`, async (t) => {
    const fleet = await openFleet(t);
    const answered = fleet.answer(event);
    const { code, out } = await fleet.run([action, "pump"]);
    await answered;
    assert.equal(code, 1);
    assert.ok(out.endsWith(event.reason as string));
  });
}

test("rollback does not take the result of a running training for its answer", async (t) => {
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

test("a decision made before the order was sent is not its answer", async (t) => {
  const fleet = await openFleet(t);
  await fleet.putEvent("pump", { kind: "ROLLED_BACK", reason: "last week" });
  const answered = fleet.answer({ kind: "REFUSED", reason: "not again" });
  const { code, out } = await fleet.run(["rollback", "pump"]);
  await answered;
  assert.deepEqual([code, out.includes("last week")], [1, false]);
});

test("an event about another model is not an answer", async (t) => {
  const fleet = await openFleet(t);
  const answered = fleet.answer().then(async () => {
    await fleet.putEvent("pump2", { kind: "ROLLED_BACK", reason: "another" });
    await fleet.putEvent("pump", { kind: "REFUSED", reason: "this one" });
  });
  const { code, out } = await fleet.run(["rollback", "pump"]);
  await answered;
  assert.deepEqual([code, out.includes("another")], [1, false]);
});

/** The fixture's log, which calls `then` after an append and before the append resolves. */
function thenAtOnce({ log }: ModelsFixture, then: () => Promise<void>): Log {
  return {
    describeTopics: (names) => log.describeTopics(names),
    createTopics: (specs) => log.createTopics(specs),
    addPartitions: (topic, partitions) => log.addPartitions(topic, partitions),
    join: (subscription, lane) => log.join(subscription, lane),
    append: (records) => log.append(records).then(then),
    follow: (topic, from, signal) => log.follow(topic, from, signal),
    read: (topic, signal) => log.read(topic, signal),
    close: () => log.close(),
  };
}

test("an answer that comes before the command follows the topic is still received", async (t) => {
  const fleet = await openFleet(t);
  const log = thenAtOnce(fleet, () => fleet.putEvent("pump", { kind: "ROLLED_BACK", reason: "by hand" }));
  const { code, out } = await fleet.run(["rollback", "pump"], log);
  assert.equal(code, 0);
  assert.match(out, /by hand$/);
});

test("without an answer in time the command returns 1 and says that the order stays", async (t) => {
  const fleet = await openFleet(t);
  const { code, err } = await fleet.run(["rollback", "pump", "--timeout=0.01"]);
  assert.equal(code, 1);
  assert.match(err, /^no answer in time: the order stays until [^\n]*$/);
  assert.match((await fleet.run(["show", "pump"])).out, /pending order +ROLL_BACK of 2026-01-02 03:04:05Z/);
});

test("a training that outlasts the timeout continues, and the command says so", async (t) => {
  const fleet = await openFleet(t);
  const log = thenAtOnce(fleet, () => fleet.putEvent("pump", { kind: "REQUESTED", reason: "manual" }));
  const { code, err } = await fleet.run(["retrain", "pump", "--timeout=0.5"], log);
  assert.equal(code, 1);
  assert.match(err, /^no answer in time: the training continues; /);
});

test("an interrupted wait leaves the order pending", async (t) => {
  const fleet = await openFleet(t);
  const stopping = new AbortController();
  const answered = fleet.answer().then(() => stopping.abort());
  const { code, err } = await fleet.run(["retrain", "pump"], fleet.log, stopping.signal);
  await answered;
  assert.equal(code, 1);
  assert.match(err, /^stopped waiting: the order stays/);
});

test("with --no-wait the command returns once the order is sent", async (t) => {
  const fleet = await openFleet(t);
  const { code, out } = await fleet.run(["retrain", "pump", "--no-wait"]);
  assert.equal(code, 0);
  assert.match(out, /^asked to retrain pump: order \S+ in partition 2$/);
});

test("a new order replaces a pending one, and the command says so", async (t) => {
  const fleet = await openFleet(t);
  await fleet.run(["retrain", "pump", "--no-wait"]);
  const second = await fleet.run(["rollback", "pump", "--no-wait"]);
  assert.match(second.out, /^an order of 2026-01-02 03:04:05Z was still pending; this one replaces it\n/);
  await fleet.put(topics.models, 2, orderKey("pump"), null);
  assert.match((await fleet.run(["retrain", "pump", "--no-wait"])).out, /^asked to retrain/);
});

test("an order for a cohort goes to the partition of its state, or else to its home partition", async (t) => {
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

test("an order for a series that changed its partition goes to the new one", async (t) => {
  const fleet = await openFleet(t);
  await fleet.putSeries(0, "pump");
  const answered = fleet.answer({ kind: "REFUSED", reason: "no" });
  await fleet.run(["rollback", "pump"]);
  assert.equal((await answered).partition, 0);
});

test("an order for an unknown series is not sent", async (t) => {
  const fleet = await openFleet(t);
  const { code, err } = await fleet.run(["retrain", "punp"]);
  assert.equal(code, 1);
  assert.match(err, /^no series or cohort punp is known: did you mean pump\?$/);
  const rows = await fleet.run(["list", "--json"]);
  assert.equal(JSON.parse(rows.out).length, 1);
});

test("a log that refuses the order causes an error of one line", async (t) => {
  const fleet = await openFleet(t);
  const refusing = thenAtOnce(fleet, async () => {
    fleet.log.setOutage("gone fishing");
    await fleet.log.append([]);
  });
  const { code, err } = await fleet.run(["retrain", "pump"], refusing);
  assert.deepEqual([code, err], [1, "the embedded log is out: gone fishing"]);
});
