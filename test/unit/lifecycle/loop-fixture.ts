// The loop with a scripted trainer, lifecycles written by hand and a clock moved by hand.

import type { TestContext } from "node:test";
import { Retrainer } from "../../../src/lifecycle/retrainer.ts";
import type { RetrainSettings } from "../../../src/lifecycle/rules.ts";
import type { GatherHistories } from "../../../src/lifecycle/training-backlog.ts";
import { createFamilies } from "../../../src/models/families.ts";
import type { Engine } from "../../../src/models/forecastnet/engine.ts";
import { silentLogger } from "../../../src/runtime/logging.ts";
import type { TrainingResult } from "../../../src/training/training-task.ts";
import { openIdleEngine } from "../../pipeline/support/idle-engine.ts";
import { type Script, ScriptedTrainer } from "../../pipeline/support/scripted-trainer.ts";
import { turns } from "../../pipeline/support/turns.ts";
import { Counts, dawnMs, LifecycleFixture, type LifecycleOptions } from "./lifecycle-fixture.ts";

export const minuteMs = 60_000;

export interface LoopOptions extends Omit<LifecycleOptions, "now" | "counts"> {
  readonly loop?: Partial<RetrainSettings>;
  readonly script?: Script;
  readonly engine?: Engine;
  readonly random?: () => number;
  readonly cohorts?: readonly string[];
  readonly gather?: GatherHistories;
}

export const failing: Script = () => ({ outcome: "failed", reason: "too flat" });

export class LoopFixture {
  readonly now = { ms: dawnMs };
  readonly counts = new Counts();
  readonly trainer: ScriptedTrainer;
  readonly retrainer: Retrainer;
  readonly lifecycles: LifecycleFixture[] = [];
  readonly #options: LifecycleOptions;

  private constructor(options: LoopOptions, engine: Engine) {
    const { loop, script = failing, random = () => 0, cohorts = [], gather = async () => [] } = options;
    this.#options = options;
    this.trainer = new ScriptedTrainer(script);
    this.addPartition();
    const settings: RetrainSettings = {
      ...{ where: "worker", schedule: "*/5 * * * *", jitterMs: 0, perCycle: 10, inFlight: 10 },
      ...{ timeoutMs: 60 * minuteMs, effort: "quick", members: 1, cpuSecondsPerHour: 0, leastGain: 0.01 },
      ...loop,
    };
    this.retrainer = new Retrainer({
      families: createFamilies(engine),
      ...{ settings, cohorts, gather, random, logger: silentLogger, metrics: this.counts },
      lifecycles: () => this.lifecycles.map(({ lifecycle }) => lifecycle),
      trainer: settings.where === "worker" ? this.trainer : null,
      clock: { nowMs: () => this.now.ms },
    });
  }

  static async openFor(t: TestContext, options: LoopOptions = {}): Promise<LoopFixture> {
    const fixture = new LoopFixture(options, options.engine ?? (await openIdleEngine()));
    t.after(() => fixture.retrainer.stop());
    return fixture;
  }

  /** The lifecycle of the first partition. */
  get lifecycle(): LifecycleFixture {
    return this.lifecycles[0];
  }

  addPartition(): LifecycleFixture {
    const { now, counts } = this;
    const lifecycle = new LifecycleFixture({
      ...this.#options,
      now,
      counts,
      partition: this.lifecycles.length,
    });
    lifecycle.lifecycle.onPending = () => this.retrainer.check();
    this.lifecycles.push(lifecycle);
    return lifecycle;
  }

  /** Cold series with history enough, each with the live MASE that its name is given. */
  addCold(maseById: Readonly<Record<string, number>>, lifecycle = this.lifecycle): void {
    for (const [seriesId, mase] of Object.entries(maseById)) {
      lifecycle.place(seriesId);
      lifecycle.score(seriesId, "seasonal-naive-2", mase);
    }
  }

  /** Checks, and lets happen what needs no more than turns of the event loop. */
  async check(laterMs = 0): Promise<void> {
    this.now.ms += laterMs;
    this.retrainer.check();
    await turns(5);
  }

  /** The schedule comes round. */
  turn(): Promise<void> {
    return this.check(5 * minuteMs);
  }

  /** The next batch of every lane. */
  apply() {
    return this.lifecycles.flatMap(({ lifecycle }) => [...lifecycle.apply()]);
  }

  /** The keys that were trained, in the order in which that began. */
  get trained(): readonly string[] {
    return this.trainer.asked.flat();
  }
}

/** Histories that are never found. */
export const gatherInVain: GatherHistories = (_, signal) =>
  new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });

/** Trainings that end when the test says so. */
export class Trainings {
  readonly #endByKey = new Map<string, (result: TrainingResult) => void>();

  readonly script: Script = ({ modelKey }, signal) =>
    new Promise((resolve) => {
      this.#endByKey.set(modelKey, resolve);
      signal.addEventListener("abort", () => resolve({ outcome: "cancelled" }), { once: true });
    });

  async end(modelKey: string): Promise<void> {
    this.#endByKey.get(modelKey)?.({ outcome: "failed", reason: "too flat" });
    await turns(5);
  }
}
