import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type GatherHistories,
  MostUrgent,
  TrainingBacklog,
  taskFor,
} from "../../../src/lifecycle/training-backlog.ts";
import type { TrainingReason } from "../../../src/training/training-task.ts";
import { dawnMs, LifecycleFixture } from "./lifecycle-fixture.ts";

function open(gather: GatherHistories = async () => []) {
  const fixture = new LifecycleFixture({ settings: () => ({ family: "linear", form: "cFN" }) });
  const signal = new AbortController().signal;
  const clock = { nowMs: () => 77 };
  const ask = (modelKey: string, reason: TrainingReason) =>
    taskFor(
      { lifecycle: fixture.lifecycle, modelKey, reason, family: "linear", urgency: 0 },
      { settings: { effort: "quick", members: 2 }, clock, gather, signal },
    );
  return { fixture, ask };
}

test("a task carries the history and says how to train", async () => {
  const { fixture, ask } = open();
  fixture.place("a");
  fixture.live("a", { phase: "drifting", driftSinceMs: dawnMs });
  assert.deepEqual(await ask("a", "drift"), {
    ...{ id: "a/77", modelKey: "a", reason: "drift", requestedAtMs: 77 },
    histories: [fixture.histories.get("a")],
    plan: {
      ...{ family: "linear", horizon: 3, season: 4, form: "cFN", effort: "quick", members: 2 },
      ...{ holdBack: 9, recentFromMs: dawnMs },
    },
  });
});

test("the seasons of a series are decided anew before its task is made", async () => {
  const { fixture, ask } = open();
  fixture.place("a");
  await ask("a", "age");
  assert.deepEqual(fixture.reconsidered, ["a"]);
});

test("a cohort is trained with the settings of a member that is in the partition", async () => {
  const members = new LifecycleFixture();
  for (const id of ["elsewhere", "here"]) members.place(id);
  const fixture = new LifecycleFixture({ settings: (id) => ({ season: id === "here" ? 24 : 5 }) });
  fixture.place("here");
  const task = await taskFor(
    { lifecycle: fixture.lifecycle, modelKey: "cohort:pumps", reason: "age", family: "linear", urgency: 0 },
    {
      settings: { effort: "quick", members: 2 },
      clock: { nowMs: () => 77 },
      gather: async () => [...members.histories.values()],
      signal: new AbortController().signal,
    },
  );
  assert.equal(task?.plan.season, 24);
});

test("there is no task without a history", async () => {
  const { ask } = open();
  for (const reason of ["new", "manual"] as const) assert.equal(await ask("a", reason), null);
});

test("a first model needs history enough, one that is ordered by hand takes what there is", async () => {
  const { fixture, ask } = open();
  fixture.place("a", 50, 39);
  assert.equal(await ask("a", "new"), null);
  assert.equal((await ask("a", "manual"))?.histories.length, 1);
  fixture.place("a", 50, 40);
  assert.notEqual(await ask("a", "new"), null);
});

test("a cohort is trained on all its members, of which one must be old enough", async () => {
  const asked: string[] = [];
  const members = new LifecycleFixture();
  members.place("a", 50, 20);
  const { ask } = open(async (cohort) => {
    asked.push(cohort);
    return [...members.histories.values()];
  });
  assert.equal(await ask("cohort:pumps", "new"), null);
  members.place("b", 50, 40);
  const task = await ask("cohort:pumps", "new");
  assert.deepEqual(
    task?.histories.map(({ seriesId }) => seriesId),
    ["a", "b"],
  );
  assert.deepEqual(
    [asked, task?.modelKey, task?.plan.recentFromMs],
    [["pumps", "pumps"], "cohort:pumps", null],
  );
});

test("the most urgent of those that are due come first, whenever they were added", () => {
  const { lifecycle, ...fixture } = new LifecycleFixture();
  const now = { ms: 0 };
  const backlog = new TrainingBacklog({ clock: { nowMs: () => now.ms }, jitterMs: 0, random: () => 0 });
  const add = (modelKey: string, reason: TrainingReason, urgency: number) => {
    fixture.scoreStore.of(modelKey);
    backlog.add({ lifecycle, modelKey, reason, family: "linear", urgency });
  };
  const take = (places: number, busy = "") =>
    backlog.takeDue(places, ({ modelKey }) => modelKey !== busy).map(({ modelKey }) => modelKey);
  add("old", "age", 9);
  add("new", "new", 1);
  add("newer", "new", 2);
  assert.deepEqual(take(0), []);
  assert.deepEqual(take(1, "newer"), ["new"], "the other one is busy");
  add("stale", "drift", 1);
  add("next", "new", 3);
  assert.deepEqual(take(2), ["stale", "next"]);
  add("old", "manual", 0);
  assert.deepEqual([take(3), backlog.size], [["old", "newer"], 0], "what was planned before is replaced");
});

test("what was planned for a series that is forgotten meanwhile is dropped, free places or not", () => {
  const { lifecycle, scoreStore } = new LifecycleFixture();
  const backlog = new TrainingBacklog({ clock: { nowMs: () => 0 }, jitterMs: 0, random: () => 0 });
  backlog.add({ lifecycle, modelKey: "gone", reason: "new", family: "linear", urgency: 1 });
  scoreStore.of("here");
  backlog.add({ lifecycle, modelKey: "here", reason: "new", family: "linear", urgency: 0 });
  assert.deepEqual(
    backlog.takeDue(0, () => true),
    [],
  );
  assert.deepEqual([backlog.has("gone"), backlog.has("here")], [false, true]);
});

test("a backlog of thousands drops what is forgotten in a few calls, and plans it anew at once", () => {
  const { lifecycle, scoreStore } = new LifecycleFixture();
  const backlog = new TrainingBacklog({ clock: { nowMs: () => 0 }, jitterMs: 0, random: () => 0 });
  const needOf = (modelKey: string, urgency = 0) =>
    ({ lifecycle, modelKey, reason: "new", family: "linear", urgency }) as const;
  for (let i = 0; i < 2_000; i++) {
    scoreStore.of(`s${i}`);
    backlog.add(needOf(`s${i}`, i));
  }
  for (let i = 0; i < 1_000; i++) scoreStore.forget(`s${i}`);
  assert.equal(backlog.has("s0"), false, "also before it is dropped");
  for (let call = 0; call < 5; call++) backlog.takeDue(0, () => true);
  assert.equal(backlog.size, 1_000);
  scoreStore.of("s0");
  backlog.add(needOf("s0", 5_000));
  assert.deepEqual(
    backlog.takeDue(2, () => true).map(({ modelKey }) => modelKey),
    ["s0", "s1999"],
  );
});

test("of very many needs the most urgent are chosen, and of equals the first", () => {
  const { lifecycle } = new LifecycleFixture();
  const mostUrgent = new MostUrgent(3);
  const offer = (modelKey: string, reason: TrainingReason, urgency: number) =>
    mostUrgent.offer({ lifecycle, modelKey, reason, family: "linear", urgency });
  offer("old", "age", 9);
  for (const modelKey of ["a", "b", "c"]) offer(modelKey, "new", 1);
  offer("stale", "drift", 0);
  assert.deepEqual(
    mostUrgent.needs().map(({ modelKey }) => modelKey),
    ["a", "b", "stale"],
  );
  assert.equal(mostUrgent.offered, 5);
});
