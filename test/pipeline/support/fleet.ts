// Drives true workers on one embedded log, with a clock moved by hand, from a script: records to write, and words
// for what happens to the fleet meanwhile. Nothing waits between two steps unless the script says so, so faults
// meet the pipeline wherever it happens to be.

import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import type { Engine } from "../../../src/engine/engine.ts";
import { decodeForecast } from "../../../src/log/codec/forecast-codec.ts";
import type { ForecastRecord } from "../../../src/log/codec/schemas.generated.ts";
import type { StoredRecord } from "../../../src/log/log.ts";
import { createMemoryLog, type MemoryLog } from "../../../src/log/memory-log.ts";
import type { ModelTrainer } from "../../../src/retrain/training-task.ts";
import { loadConfig } from "../../../src/runtime/config/load.ts";
import type { Logger } from "../../../src/runtime/logging.ts";
import type { Metrics } from "../../../src/runtime/metric-groups.ts";
import { createMetrics } from "../../../src/runtime/metrics.ts";
import { Worker } from "../../../src/worker.ts";
import { Connection } from "./connection.ts";
import { openIdleEngine } from "./idle-engine.ts";
import { inputRecord, type Written } from "./readings.ts";
import { turns, until } from "./turns.ts";

/** What may happen to a fleet. */
export type Word =
  | "crash" //            the oldest worker is gone without a word, and another takes its place
  | "zombie" //           the oldest worker freezes, another takes its place, and then it wakes
  | "restart" //          the oldest worker stops as asked, and another takes its place
  | "join" //             one more worker
  | "leave" //            the oldest worker stops as asked; the last one stays
  | "rebalance" //        every partition is fenced from its owner
  | "outage" //           the log stops answering
  | "recovery" //         and answers again
  | "commit lost before" // the next commit fails before it took effect; the log tries again
  | "commit lost after" //  or after it took effect
  | "fenced before" //      the owner of the next commit is fenced before it took effect
  | "fenced after" //       or after
  | "pause" //            a few turns of the event loop
  | "turn" //             the schedule comes round: models are looked at, and what that leads to has ended
  | "settle"; //          wait until everything written is settled

export type Step = Written | Word | { readonly laterMs: number };

export interface FleetOptions {
  /** Settings by dotted key; what is not given has the value of `usual` below or its default. */
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly partitions?: number;
  readonly inputs?: readonly string[];
  readonly metrics?: Metrics;
  /** What runs the models, for each worker anew; by default one that refuses, since most fleets have none. */
  readonly openEngine?: () => Promise<Engine>;
  /** Who trains; by default threads, should a test let them. */
  readonly openTrainer?: () => Promise<ModelTrainer>;
}

export interface LogLine {
  readonly level: keyof Logger;
  readonly message: string;
  readonly facts: Readonly<Record<string, unknown>>;
}

const usual = {
  "worker.host": "127.0.0.1",
  "worker.port": 0,
  "topics.inputs": [{ topic: "sensors", format: "json" }],
  "pipeline.behindAfterMs": 0,
  "series.interval": "PT1H",
  "series.horizon": 3,
  "series.season": 4,
  "series.history": 64,
  "retrain.where": "off",
  "retrain.jitterMs": 0,
};

/** The default schedule: every five minutes. */
const turnMs = 5 * 60_000;

interface Member {
  readonly worker: Worker;
  readonly connection: Connection;
}

export class Fleet {
  readonly log: MemoryLog;
  readonly logged: LogLine[] = [];
  readonly #partitions: number;
  readonly #metrics: Metrics;
  readonly #openEngine: () => Promise<Engine>;
  readonly #openTrainer: (() => Promise<ModelTrainer>) | undefined;
  readonly #members: Member[] = [];
  #settings: Readonly<Record<string, unknown>>;
  #nowMs = Date.UTC(2024, 5, 1);
  #unwritten: Written[] = [];

  private constructor(options: FleetOptions) {
    const {
      settings = {},
      partitions = 1,
      metrics = createMetrics("test"),
      openEngine = openIdleEngine,
    } = options;
    // Hardly any patience with a lane that was lost: what protects from it is fencing, not waiting.
    this.log = createMemoryLog({ clock: { nowMs: () => this.#nowMs }, revokeMs: 5 });
    this.#settings = settings;
    this.#partitions = partitions;
    this.#metrics = metrics;
    this.#openEngine = openEngine;
    this.#openTrainer = options.openTrainer;
  }

  /** A fleet of one worker, which reads the topics given. */
  static async open(options: FleetOptions = {}): Promise<Fleet> {
    const fleet = await Fleet.openEmpty(options);
    fleet.start();
    return fleet;
  }

  /** The input topics and no worker yet. */
  static async openEmpty(options: FleetOptions = {}): Promise<Fleet> {
    const fleet = new Fleet(options);
    const { inputs = ["sensors"], partitions = 1 } = options;
    await fleet.log.createTopics(inputs.map((topic) => ({ topic, partitions, compacted: false })));
    return fleet;
  }

  static async openFor(t: TestContext, options: FleetOptions = {}): Promise<Fleet> {
    const fleet = await Fleet.open(options);
    t.after(() => fleet.close());
    return fleet;
  }

  /** The oldest worker. */
  get worker(): Worker {
    return this.#oldest().worker;
  }

  get connection(): Connection {
    return this.#oldest().connection;
  }

  /** Adds a worker, with the settings given from now on. */
  start(changes: Readonly<Record<string, unknown>> = {}): Worker {
    this.#settings = { ...this.#settings, ...changes };
    const given = { ...usual, ...this.#settings };
    const argv = Object.entries(given).map(([key, value]) => `--${key}=${asFlag(value)}`);
    const connection = new Connection(this.log);
    const worker = new Worker({
      config: loadConfig({ argv, env: {} }),
      openLog: async () => connection,
      openEngine: this.#openEngine,
      ...(this.#openTrainer && { openTrainer: this.#openTrainer }),
      clock: { nowMs: () => this.#nowMs },
      logger: this.#logger(),
      metrics: this.#metrics,
    });
    this.#members.push({ worker, connection });
    return worker;
  }

  async play(...script: readonly Step[]): Promise<void> {
    for (const step of script) {
      if (typeof step === "object" && "value" in step) {
        this.#unwritten.push(step);
        continue;
      }
      await this.#write();
      if (typeof step === "string") await this.#words[step]();
      else this.#nowMs += step.laterMs;
    }
    await this.#write();
  }

  async forecasts(): Promise<ForecastRecord[]> {
    return (await this.read("forecasts")).map(({ value }) => decodeForecast(value as Buffer));
  }

  /** All records of a topic so far, partition after partition. */
  async read(topic: string): Promise<StoredRecord[]> {
    const byPartition: StoredRecord[][] = [];
    const enough = new AbortController();
    const reading = (async () => {
      for await (const { partition, records } of this.log.follow(topic, "earliest", enough.signal)) {
        byPartition[partition] = [...(byPartition[partition] ?? []), ...records];
      }
    })();
    for (let seen = -1; seen < byPartition.flat().length; ) {
      seen = byPartition.flat().length;
      await turns(3);
    }
    enough.abort();
    await reading;
    return byPartition.flat();
  }

  /** Fetches a page of the oldest worker. */
  async page(path: string): Promise<{ readonly status: number; readonly body: string }> {
    const response = await fetch(`http://127.0.0.1:${this.worker.port}${path}`);
    return { status: response.status, body: await response.text() };
  }

  async close(): Promise<void> {
    this.log.setOutage(null);
    for (const { worker, connection } of this.#members) {
      await connection.cut();
      worker.stop("the test is over");
      await Promise.allSettled([worker.done]);
    }
    await this.log.close();
  }

  readonly #words: Readonly<Record<Word, () => void | Promise<void>>> = {
    crash: async () => {
      const { connection } = this.#retire();
      await connection.cut();
      this.start();
    },
    zombie: async () => {
      const { connection } = this.#retire();
      await until(() => connection.hasJoined, "the worker to join before it freezes");
      const wake = connection.hold("commit");
      await connection.evict();
      this.start();
      await until(() => this.#isReading(), "the others to take over from the zombie");
      wake();
    },
    restart: async () => {
      await this.#stopOldest();
      this.start();
    },
    join: () => void this.start(),
    leave: async () => {
      if (this.#members.length > 1) await this.#stopOldest();
    },
    rebalance: () => {
      for (let partition = 0; partition < this.#partitions; partition++) this.log.fence(partition);
    },
    outage: () => this.log.setOutage("the test says so"),
    recovery: () => this.log.setOutage(null),
    "commit lost before": () => this.log.failNextCommits(1, "before"),
    "commit lost after": () => this.log.failNextCommits(1, "after"),
    "fenced before": () => this.log.failNextCommits(1, "before", "fence"),
    "fenced after": () => this.log.failNextCommits(1, "after", "fence"),
    pause: () => turns(5),
    turn: async () => {
      this.#nowMs += turnMs;
      for (const { worker } of this.#members) {
        worker.retrainer?.poke();
        await worker.retrainer?.settled();
      }
    },
    settle: () => until(() => this.#isIdle(), "the fleet to settle what was written"),
  };

  /** True when every partition has an owner that is past restoring. */
  #isReading(): boolean {
    const owned = this.#members.flatMap(({ connection }) => connection.partitions);
    return owned.length === this.#partitions && this.#members.every(({ connection }) => connection.isReading);
  }

  #isIdle(): boolean {
    return this.#isReading() && this.#members.every(({ connection }) => connection.isIdle);
  }

  async #stopOldest(): Promise<void> {
    const { worker } = this.#retire();
    worker.stop("the test says so");
    await worker.done;
  }

  #retire(): Member {
    const member = this.#oldest();
    this.#members.shift();
    return member;
  }

  #oldest(): Member {
    const [member] = this.#members;
    assert.ok(member, "the fleet has no worker");
    return member;
  }

  async #write(): Promise<void> {
    const records = this.#unwritten.map((written) => inputRecord(written, this.#partitions));
    this.#unwritten = [];
    if (records.length > 0) await this.log.append(records);
  }

  #logger(): Logger {
    const at = (level: keyof Logger) => (facts: LogLine["facts"], message: string) =>
      void this.logged.push({ level, message, facts });
    return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
  }
}

function asFlag(value: unknown): string {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
