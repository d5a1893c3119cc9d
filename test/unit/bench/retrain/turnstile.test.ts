// What trains beside the forecasts that are timed: it must be under way when it is said to be, and gone when not.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { trainWithoutPause } from "../../../../bench/retrain/constant-training.ts";
import { Turnstile } from "../../../../bench/retrain/turnstile.ts";
import type { ModelTrainer, TrainingResult, TrainingTask } from "../../../../src/training/training-task.ts";
import { trainedModel, trainingTask } from "../../../rig/training-task.ts";

const trained: TrainingResult = { outcome: "trained", challengers: [trainedModel()] };

/** A trainer whose trainings end when the test says so, or when they are cancelled. */
class HeldTrainer implements ModelTrainer {
  readonly begun: string[] = [];
  readonly #ends: ((result: TrainingResult) => void)[] = [];

  async train([task]: readonly TrainingTask[], signal: AbortSignal): Promise<readonly TrainingResult[]> {
    this.begun.push(task.modelKey);
    return new Promise((resolve) => {
      this.#ends.push((result) => resolve([result]));
      signal.addEventListener("abort", () => resolve([{ outcome: "cancelled" }]));
      if (signal.aborted) resolve([{ outcome: "cancelled" }]);
    });
  }

  end(result: TrainingResult = trained): void {
    this.#ends.shift()?.(result);
  }

  async close(): Promise<void> {}
}

const never = new AbortController().signal;
const taskOf = (modelKey: string) => trainingTask({ modelKey });
const turn = () => new Promise<void>(setImmediate);

async function hasSettled(promise: Promise<unknown>): Promise<boolean> {
  return Promise.race([promise.then(() => true), turn().then(() => false)]);
}

describe("a turnstile", () => {
  test("holds trainings back while it is shut, and lets them in when it opens", async () => {
    const trainer = new HeldTrainer();
    const turnstile = new Turnstile(trainer);
    const training = turnstile.train([taskOf("a")], never);
    await turn();
    assert.deepEqual(trainer.begun, []);
    await turnstile.open();
    assert.deepEqual(trainer.begun, ["a"]);
    trainer.end();
    assert.deepEqual(await training, [trained]);
    assert.equal(turnstile.trained, 1);
  });

  test("has opened only once a training is under way", async () => {
    const trainer = new HeldTrainer();
    const turnstile = new Turnstile(trainer);
    const opening = turnstile.open();
    assert.equal(await hasSettled(opening), false);
    const training = turnstile.train([taskOf("a")], never);
    await opening;
    trainer.end();
    await training;
  });

  test("is shut only once those inside have ended, and what comes meanwhile waits", async () => {
    const trainer = new HeldTrainer();
    const turnstile = new Turnstile(trainer);
    const first = turnstile.train([taskOf("a")], never);
    await turnstile.open();
    const shutting = turnstile.shut();
    const stop = new AbortController();
    const second = turnstile.train([taskOf("b")], stop.signal);
    assert.equal(await hasSettled(shutting), false);
    trainer.end();
    await Promise.all([shutting, first]);
    assert.deepEqual(trainer.begun, ["a"]);
    stop.abort();
    assert.deepEqual(await second, [{ outcome: "cancelled" }]);
    assert.equal(turnstile.trained, 1);
  });
});

describe("training without pause", () => {
  test("begins the next training as soon as one has ended, until it is stopped", async () => {
    const trainer = new HeldTrainer();
    const training = trainWithoutPause(trainer, (number) => taskOf(`model-${number}`));
    trainer.end();
    await turn();
    assert.deepEqual(trainer.begun, ["model-0", "model-1"]);
    await training.stop();
    assert.deepEqual(trainer.begun, ["model-0", "model-1"]);
  });

  test("a training that fails is told when it is stopped: forecasts had nothing beside them", async () => {
    const trainer = new HeldTrainer();
    const training = trainWithoutPause(trainer, taskOf.bind(null, "a"));
    trainer.end({ outcome: "failed", reason: "too short" });
    await turn();
    await assert.rejects(training.stop(), /a training beside failed: too short/);
  });
});
