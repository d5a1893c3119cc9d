// Drives workers of the product on one embedded log, with a clock moved by hand, from a script: records to write, and
// words for what happens to the fleet meanwhile. Nothing waits between two steps unless the script says so, so that
// faults meet the pipeline wherever it happens to be.

import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import type { ForecastRecord } from "../../../src/log/codec/schemas.generated.ts";
import type { StoredRecord } from "../../../src/log/log.ts";
import type { MemoryLog } from "../../../src/log/memory-log.ts";
import { EmbeddedWorkers, type WorkerOptions } from "../../../src/replay/embedded-workers.ts";
import { ManualClock } from "../../../src/replay/manual-clock.ts";
import { loadConfig } from "../../../src/runtime/config/load.ts";
import type { Logger } from "../../../src/runtime/logging.ts";
import type { Metrics } from "../../../src/runtime/metric-groups.ts";
import { createMetrics } from "../../../src/runtime/metrics.ts";
import { createRandom } from "../../../src/runtime/random.ts";
import type { Worker } from "../../../src/service/worker.ts";
import { Connection } from "./connection.ts";
import { openIdleEngine } from "./idle-engine.ts";
import { inputRecord, type Written } from "./readings.ts";
import { turns, until } from "./turns.ts";

/** What may happen to a fleet. */
export type Word =
  | "crash" //            the oldest worker is gone without a word, and another one replaces it
  | "zombie" //           the oldest worker freezes, another one replaces it, and then the first one wakes
  | "restart" //          the oldest worker stops as asked, and another one replaces it
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
  | "turn" //             the schedule comes round: models are evaluated, and what that starts has ended
  | "settle"; //          wait until everything written is settled

export type Step = Written | Word | { readonly laterMs: number };

export interface FleetOptions extends Pick<WorkerOptions, "openEngine" | "families" | "openTrainer"> {
  /** Settings by dotted key; the others have the values of `usual` below, or their defaults. */
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly partitions?: number;
  readonly inputs?: readonly string[];
  readonly metrics?: Metrics;
}

export interface LogLine {
  readonly level: keyof Logger;
  readonly message: string;
  readonly facts: Readonly<Record<string, unknown>>;
}

/** The default. */
const group = "forecastnet";

const usual = {
  "worker.host": "127.0.0.1",
  "worker.port": 0,
  "topics.inputs": [{ topic: "sensors", format: "json" }],
  "pipeline.behindAfterMs": 0,
  "series.interval": "PT1H",
  "series.horizon": 3,
  "series.season": 4,
  "series.family": "forecastnet",
  "series.history": 64,
  "retrain.where": "off",
  "retrain.jitterMs": 0,
};

/** The default schedule: every five minutes. */
const turnMs = 5 * 60_000;
/** How far the clock moves with each turn of the event loop while a test waits for something that takes time. */
const tickMs = 10;

interface Member {
  readonly worker: Worker;
  readonly connection: Connection;
}

export class Fleet {
  readonly clock = new ManualClock(Date.UTC(2024, 5, 1));
  readonly logged: LogLine[] = [];
  readonly #options: FleetOptions;
  readonly #partitions: number;
  readonly #metrics: Metrics;
  readonly #workers: EmbeddedWorkers;
  readonly #members: Member[] = [];
  #settings: Readonly<Record<string, unknown>>;
  #unwritten: Written[] = [];

  /** The input topics, and no worker yet. */
  constructor(options: FleetOptions = {}) {
    const { settings = {}, partitions = 1, inputs = ["sensors"], metrics = createMetrics("test") } = options;
    this.#options = options;
    this.#settings = settings;
    this.#partitions = partitions;
    this.#metrics = metrics;
    this.#workers = new EmbeddedWorkers({
      clock: this.clock,
      random: createRandom(1).uniform,
      topics: inputs.map((topic) => ({ topic, partitions, compacted: false })),
      // A lane that was lost is not waited for: fencing protects from it.
      revokeMs: 0,
    });
  }

  /** As the constructor; closed after the test. */
  static emptyFor(t: TestContext, options: FleetOptions = {}): Fleet {
    const fleet = new Fleet(options);
    t.after(() => fleet.close());
    return fleet;
  }

  /** A fleet of one worker; closed after the test. */
  static openFor(t: TestContext, options: FleetOptions = {}): Fleet {
    const fleet = Fleet.emptyFor(t, options);
    fleet.start();
    return fleet;
  }

  get log(): MemoryLog {
    return this.#workers.log;
  }

  /** The oldest worker. */
  get worker(): Worker {
    return this.#oldest().worker;
  }

  get connection(): Connection {
    return this.#oldest().connection;
  }

  /** True when every partition has an owner that has read and committed all of its input. */
  get isSettled(): boolean {
    return this.log.isSettled(group);
  }

  /** Adds a worker; it and all later ones have the changed settings. */
  start(changes: Readonly<Record<string, unknown>> = {}): Worker {
    this.#settings = { ...this.#settings, ...changes };
    const given = { ...usual, ...this.#settings };
    const argv = Object.entries(given).map(([key, value]) => `--${key}=${asFlag(value)}`);
    const connection = new Connection(this.log);
    const { openEngine = openIdleEngine, families, openTrainer } = this.#options;
    const worker = this.#workers.start(
      {
        config: loadConfig({ argv, env: {} }),
        openEngine,
        ...(families && { families }),
        ...(openTrainer && { openTrainer }),
        logger: this.#logger(),
        metrics: this.#metrics,
      },
      connection,
    );
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
      else this.clock.moveBy(step.laterMs);
    }
    await this.#write();
  }

  /** Lets the event loop turn, and time pass, until the claim holds. */
  async until(isSo: () => boolean | Promise<boolean>, what: string): Promise<void> {
    const deadlineMs = performance.now() + 30_000;
    while (!(await isSo())) {
      assert.ok(performance.now() < deadlineMs, `waited 30 s for ${what}, which did not happen`);
      await turns(1);
      this.clock.moveBy(tickMs);
    }
  }

  /** Lets time pass until the promise settles, and returns its outcome. */
  async wait<T>(promise: Promise<T>, what: string): Promise<T> {
    let isOver = false;
    const end = () => {
      isOver = true;
    };
    promise.then(end, end);
    await this.until(() => isOver, what);
    return promise;
  }

  forecasts(): Promise<readonly ForecastRecord[]> {
    return this.#workers.forecasts("forecasts");
  }

  /** All records of a topic so far, partition after partition. */
  read(topic: string): Promise<readonly StoredRecord[]> {
    return this.#workers.read(topic);
  }

  /** Fetches a page of the oldest worker. */
  async page(path: string): Promise<{ readonly status: number; readonly body: string }> {
    const response = await fetch(`http://127.0.0.1:${this.worker.port}${path}`);
    return { status: response.status, body: await response.text() };
  }

  async close(): Promise<void> {
    this.log.setOutage(null);
    for (const { connection } of this.#members) await connection.cut();
    await Promise.allSettled([this.#workers.close("the test is over")]);
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
      this.clock.moveBy(turnMs);
      for (const { worker } of this.#members) {
        worker.retrainer?.check();
        await worker.retrainer?.settled();
      }
    },
    settle: async () => {
      const failed = () => this.#members.find(({ worker }) => worker.status().reason === "failed");
      await until(() => this.isSettled || failed() !== undefined, "the fleet to settle what was written");
      await failed()?.worker.done; // Rejects with the reason.
    },
  };

  /** True when every partition has an owner that is past restoring. */
  #isReading(): boolean {
    const owned = this.#members.flatMap(({ connection }) => connection.partitions);
    return owned.length === this.#partitions && this.#members.every(({ connection }) => connection.isReading);
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
