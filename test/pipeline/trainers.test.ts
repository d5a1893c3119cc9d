// Trainers on the embedded log: whatever happens to them, every request is answered once.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ForecastnetError } from "../../src/runtime/errors.ts";
import { encodeRequest } from "../../src/training/request-codec.ts";
import { randomModel } from "../rig/random-model.ts";
import { trainedModel, trainingTask } from "../rig/training-task.ts";
import { hang, type Script, succeed } from "./support/scripted-trainer.ts";
import { type Member, TrainerFleet } from "./support/trainer-fleet.ts";
import { until } from "./support/turns.ts";

const isTraining = ({ scripted }: Member) => scripted.asked.length > 0;
const keysOf = (outcomes: readonly { readonly modelKey: string }[]) =>
  outcomes.map(({ modelKey }) => modelKey).sort();

/** Succeeds once `finish` is called. */
function onceTold(): { readonly script: Script; finish(): void } {
  let finish = () => {};
  const told = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const script: Script = async (task, signal) => {
    await told;
    return succeed(task, signal);
  };
  return { script, finish };
}

describe("a request", () => {
  test("is answered on its own partition, and its attempts are deleted", async (t) => {
    const fleet = await TrainerFleet.openFor(t, { partitions: 3 });
    fleet.start();
    await fleet.ask(2, "a");
    const [{ partition, requestId, result, endedAtMs }] = await fleet.untilAnswered(1);
    assert.deepEqual([partition, requestId, result.outcome], [2, "request for a", "trained"]);
    assert.equal(endedAtMs, Date.UTC(2024, 5, 1));
    assert.deepEqual(await fleet.attempts(), {});
  });

  test("whose training fails is answered with the reason", async (t) => {
    const fleet = await TrainerFleet.openFor(t);
    fleet.start(() => ({ outcome: "failed", reason: "too flat" }));
    await fleet.ask(0, "a");
    const [{ result }] = await fleet.untilAnswered(1);
    assert.deepEqual(result, { outcome: "failed", reason: "too flat" });
    assert.deepEqual(await fleet.deadLetters(), []);
  });

  test("that waits with others is trained and answered together with them", async (t) => {
    const fleet = await TrainerFleet.openFor(t);
    await fleet.ask(0, "a", "b", "c");
    const { scripted } = fleet.start();
    assert.deepEqual(keysOf(await fleet.untilAnswered(3)), ["a", "b", "c"]);
    assert.deepEqual(scripted.asked, [["a", "b", "c"]]);
  });

  test("that is written twice in a row is trained once", async (t) => {
    const fleet = await TrainerFleet.openFor(t);
    await fleet.ask(0, "a", "a", "b");
    const { scripted } = fleet.start();
    assert.deepEqual(keysOf(await fleet.untilAnswered(2)), ["a", "b"]);
    assert.deepEqual(scripted.asked, [["a", "b"]]);
  });

  test("that was answered is not trained again by the next trainer", async (t) => {
    const fleet = await TrainerFleet.openFor(t);
    const first = fleet.start();
    await fleet.ask(0, "a");
    await fleet.untilAnswered(1);
    first.trainer.stop("the test says so");
    await first.trainer.done;
    const second = fleet.start();
    await fleet.ask(0, "b");
    assert.deepEqual(keysOf(await fleet.untilAnswered(2)), ["a", "b"]);
    assert.deepEqual(second.scripted.asked, [["b"]]);
  });
});

describe("a request that cannot be trained", () => {
  test("becomes a dead letter with the reason, and delays no other request", async (t) => {
    const fleet = await TrainerFleet.openFor(t);
    const scribble = Buffer.from("train this");
    const badPlan = encodeRequest(
      trainingTask({ modelKey: "x", plan: { ...trainingTask().plan, horizon: 0 } }),
    );
    await fleet.ask(0, "a");
    await fleet.write(0, [scribble, null, badPlan]);
    await fleet.ask(0, "b");
    fleet.start();
    const outcomes = await fleet.untilAnswered(3);
    assert.deepEqual(keysOf(outcomes), ["a", "b", "x"]);
    const reason = "bad-request: horizon: 0; give a whole number of 1 or more";
    const told = outcomes.find(({ modelKey }) => modelKey === "x")?.result;
    assert.deepEqual(told, { outcome: "failed", reason }, "the worker that asked gets an answer");
    const letters = await fleet.deadLetters();
    assert.deepEqual(
      letters.map(({ reason, offset, value }) => [reason, offset, value]),
      [
        ["undecodable", 1, scribble],
        ["undecodable", 2, null],
        ["bad-request", 3, badPlan],
      ],
    );
  });

  test("becomes a dead letter even if no other request waits", async (t) => {
    const fleet = await TrainerFleet.openFor(t);
    fleet.start();
    await fleet.write(0, [encodeRequest(trainingTask({ histories: [] }))]);
    const [{ result }] = await fleet.untilAnswered(1);
    assert.deepEqual(result.outcome, "failed");
    assert.equal((await fleet.deadLetters()).length, 1);
  });

  test("because its model is too large for the topic is answered, and delays no other request", async (t) => {
    const fleet = await TrainerFleet.openFor(t);
    const large: Script = (task, signal) => {
      if (task.modelKey !== "large") return succeed(task, signal);
      const model = randomModel({ key: "large", spec: { inputLength: 400_000 } });
      return { outcome: "trained", challengers: [trainedModel({ model })] };
    };
    fleet.start(large);
    await fleet.ask(0, "a", "large", "b");
    const outcomes = await fleet.untilAnswered(3);
    const resultOf = (key: string) => outcomes.find(({ modelKey }) => modelKey === key)?.result;
    assert.deepEqual([resultOf("a")?.outcome, resultOf("b")?.outcome], ["trained", "trained"]);
    const result = resultOf("large");
    assert.ok(result?.outcome === "failed");
    assert.match(
      result.reason,
      /^the trained model cannot be written: a record for topic forecastnet\.models has/,
    );
  });
});

describe("a trainer that dies while it trains", () => {
  test("loses no request: the next trainer starts it again, and there is one answer", async (t) => {
    const fleet = await TrainerFleet.openFor(t);
    const first = fleet.start(hang);
    await fleet.ask(0, "a", "b");
    await until(() => isTraining(first), "the training to start");
    await fleet.crash(first);
    assert.deepEqual(await fleet.outcomes(), []);
    assert.deepEqual(await fleet.attempts(), { "request for a": 1, "request for b": 1 });
    const second = fleet.start();
    await fleet.ask(0, "c");
    assert.deepEqual(keysOf(await fleet.untilAnswered(3)), ["a", "b", "c"]);
    assert.deepEqual(
      second.scripted.asked.slice(0, 2),
      [["a"], ["b"]],
      "requests started before train alone",
    );
    assert.deepEqual(await fleet.attempts(), {});
  });

  test("of the same request every time gives it up after the configured attempts, and no other request with it", async (t) => {
    const fleet = await TrainerFleet.openFor(t, { partitions: 2, attempts: 3 });
    const deadly: Script = (task, signal) => (task.modelKey === "poison" ? hang : succeed)(task, signal);
    await fleet.ask(0, "before", "poison", "after");
    await fleet.ask(1, "elsewhere");
    for (let victims = 0; victims < 3; victims++) {
      // The first trainer dies with all requests in progress; the later ones isolate the poison.
      const member = fleet.start(victims === 0 ? hang : deadly);
      await until(() => member.scripted.asked.some((keys) => keys.includes("poison")), "the poison to start");
      assert.deepEqual(await fleet.deadLetters(), []);
      await fleet.crash(member);
    }
    fleet.start(deadly);
    const outcomes = await fleet.untilAnswered(4);
    assert.deepEqual(keysOf(outcomes), ["after", "before", "elsewhere", "poison"]);
    for (const { modelKey, result } of outcomes) {
      assert.equal(result.outcome, modelKey === "poison" ? "failed" : "trained", modelKey);
    }
    const [letter, ...others] = await fleet.deadLetters();
    assert.deepEqual([letter.reason, others], ["poisoned-request", []]);
    assert.match(letter.detail ?? "", /request for poison was started 3 times and never ended/);
    assert.deepEqual(letter.value, encodeRequest(trainingTask({ modelKey: "poison" })));
    assert.deepEqual(await fleet.attempts(), {});
  });

  test("because its engine broke says so, and loses no request", async (t) => {
    const fleet = await TrainerFleet.openFor(t);
    const broken = new ForecastnetError("ENGINE_FAILED", "the thread ended");
    const first = fleet.start(() => Promise.reject(broken));
    await fleet.ask(0, "a");
    await assert.rejects(first.trainer.done, broken);
    fleet.start();
    assert.deepEqual(keysOf(await fleet.untilAnswered(1)), ["a"]);
  });
});

describe("a trainer that loses its partition while it trains", () => {
  test("cancels the training and writes nothing, and the training is repeated", async (t) => {
    const fleet = await TrainerFleet.openFor(t);
    let cancelled = 0;
    const slowAtFirst: Script = async (task, signal) => {
      if (cancelled > 0) return succeed(task, signal);
      const result = await hang(task, signal);
      cancelled++;
      return result;
    };
    const member = fleet.start(slowAtFirst);
    await fleet.ask(0, "a");
    await until(() => isTraining(member), "the training to start");
    fleet.log.fence(0);
    const outcomes = await fleet.untilAnswered(1);
    assert.deepEqual([outcomes.length, cancelled, member.scripted.asked], [1, 1, [["a"], ["a"]]]);
  });

  test("without noticing cannot write an answer", async (t) => {
    const fleet = await TrainerFleet.openFor(t);
    let wake = () => {};
    const asleep = new Promise<void>((resolve) => {
      wake = resolve;
    });
    const zombie = fleet.start(async (task, signal) => {
      await asleep;
      return { outcome: "failed", reason: `a zombie trained ${task.modelKey}, ${signal.aborted}` };
    });
    await fleet.ask(0, "a");
    await until(() => isTraining(zombie), "the training to start");
    await zombie.connection.evict();
    fleet.start();
    await fleet.untilAnswered(1);
    wake();
    zombie.trainer.stop("the test says so");
    await Promise.allSettled([zombie.trainer.done]);
    const outcomes = await fleet.outcomes();
    assert.deepEqual(
      outcomes.map(({ result }) => result.outcome),
      ["trained"],
    );
  });
});

describe("a trainer that is stopped while it trains", () => {
  test("answers requests whose training ends in time", async (t) => {
    const fleet = await TrainerFleet.openFor(t);
    const { script, finish } = onceTold();
    const member = fleet.start(script);
    await fleet.ask(0, "a");
    await until(() => isTraining(member), "the training to start");
    member.trainer.stop("SIGTERM");
    await fleet.ask(0, "b");
    finish();
    await member.trainer.done;
    assert.deepEqual(keysOf(await fleet.outcomes()), ["a"]);
    assert.deepEqual(member.scripted.asked, [["a"]], "no other training starts");
  });

  test("skips no request that it has read and not started", async (t) => {
    const fleet = await TrainerFleet.openFor(t);
    await fleet.ask(0, "a", "b");
    const first = fleet.start(hang);
    await until(() => isTraining(first), "the training to start");
    await fleet.crash(first); // From now on a and b train alone.
    await fleet.write(0, [Buffer.from("scribble")]);
    const { script, finish } = onceTold();
    const second = fleet.start(script);
    await until(() => isTraining(second), "a to be started again");
    second.trainer.stop("SIGTERM");
    finish();
    await second.trainer.done;
    assert.deepEqual([keysOf(await fleet.outcomes()), await fleet.deadLetters()], [["a"], []]);
    fleet.start();
    assert.deepEqual(keysOf(await fleet.untilAnswered(2)), ["a", "b"]);
  });

  test("cancels trainings that do not end in time, stops cleanly, and does not count the attempt", async (t) => {
    const fleet = await TrainerFleet.openFor(t);
    const member = fleet.start((task, signal) => (task.modelKey === "b" ? hang : succeed)(task, signal));
    await fleet.ask(0, "a", "b", "c");
    await until(() => isTraining(member), "the training to start");
    await fleet.stop(member);
    assert.deepEqual(keysOf(await fleet.outcomes()), ["a"]);
    assert.deepEqual(await fleet.attempts(), {});
    const next = fleet.start();
    assert.deepEqual(keysOf(await fleet.untilAnswered(3)), ["a", "b", "c"]);
    assert.deepEqual(next.scripted.asked, [["b", "c"]], "the cancelled requests train together again");
  });
});

test("an unreadable attempt record does not prevent a trainer from starting", async (t) => {
  const fleet = await TrainerFleet.openFor(t);
  const place = { topic: "forecastnet.attempts", partition: 0, key: Buffer.from("request for a") };
  await fleet.log.append([{ ...place, value: Buffer.from("scribble") }]);
  fleet.start();
  await fleet.ask(0, "a");
  assert.deepEqual(keysOf(await fleet.untilAnswered(1)), ["a"]);
});
