// The loop with a scripted trainer, desks written by hand and a clock moved by hand.

import type { TestContext } from "node:test";
import type { Engine } from "../../../src/engine/engine.ts";
import type { GatherHistories } from "../../../src/retrain/cohorts.ts";
import { Retrainer, type RetrainSettings } from "../../../src/retrain/retrainer.ts";
import type { TrainingResult } from "../../../src/retrain/training-task.ts";
import { silentLogger } from "../../../src/runtime/logging.ts";
import { openIdleEngine } from "../../pipeline/support/idle-engine.ts";
import { type Script, ScriptedTrainer } from "../../pipeline/support/scripted-trainer.ts";
import { turns } from "../../pipeline/support/turns.ts";
import { Counts, DeskFixture, type DeskOptions, dawnMs } from "./desk-fixture.ts";

export const minuteMs = 60_000;

export interface LoopOptions extends Omit<DeskOptions, "now" | "counts"> {
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
  readonly desks: DeskFixture[] = [];
  readonly #options: DeskOptions;

  private constructor(options: LoopOptions, engine: Engine) {
    const { loop, script = failing, random = () => 0, cohorts = [], gather = async () => [] } = options;
    this.#options = options;
    this.trainer = new ScriptedTrainer(script);
    this.addDesk();
    const settings: RetrainSettings = {
      ...{ where: "worker", schedule: "*/5 * * * *", jitterMs: 0, perCycle: 10, inFlight: 10 },
      ...{ timeoutMs: 60 * minuteMs, effort: "quick", members: 1 },
      ...loop,
    };
    this.retrainer = new Retrainer({
      ...{ engine, settings, cohorts, gather, random, logger: silentLogger, metrics: this.counts },
      desks: () => this.desks.map(({ desk }) => desk),
      trainer: settings.where === "worker" ? this.trainer : null,
      clock: { nowMs: () => this.now.ms },
    });
  }

  static async openFor(t: TestContext, options: LoopOptions = {}): Promise<LoopFixture> {
    const fixture = new LoopFixture(options, options.engine ?? (await openIdleEngine()));
    t.after(() => fixture.retrainer.stop());
    return fixture;
  }

  /** The desk of the first partition. */
  get desk(): DeskFixture {
    return this.desks[0];
  }

  addDesk(): DeskFixture {
    const { now, counts } = this;
    const desk = new DeskFixture({ ...this.#options, now, counts, partition: this.desks.length });
    desk.desk.onNews = () => this.retrainer.poke();
    this.desks.push(desk);
    return desk;
  }

  /** Cold series with history enough, each with the live MASE that its name is given. */
  addCold(maseById: Readonly<Record<string, number>>, desk = this.desk): void {
    for (const [seriesId, mase] of Object.entries(maseById)) {
      desk.place(seriesId);
      desk.score(seriesId, "seasonal-naive-1", mase);
    }
  }

  /** Pokes, and lets happen what needs no more than turns of the event loop. */
  async poke(laterMs = 0): Promise<void> {
    this.now.ms += laterMs;
    this.retrainer.poke();
    await turns(5);
  }

  /** The schedule comes round. */
  turn(): Promise<void> {
    return this.poke(5 * minuteMs);
  }

  /** The next batch of every lane. */
  enact() {
    return this.desks.flatMap(({ desk }) => [...desk.enact()]);
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
