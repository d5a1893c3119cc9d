// The stage of a failure story: topics and a group of its own on a real broker, sensors, workers in processes
// of their own, and the count at the end. Ends every process it started, and shows their logs when it failed.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Observation } from "../../../src/domain.ts";
import { avroCodec } from "../../../src/log/codec/avro.ts";
import { openKafkaLog } from "../../../src/log/kafka/kafka-log.ts";
import type { Log } from "../../../src/log/log.ts";
import { newestByKey } from "../../../src/log/newest-by-key.ts";
import { systemClock } from "../../../src/runtime/clock.ts";
import { loadConfig } from "../../../src/runtime/config/load.ts";
import type { AppConfig } from "../../../src/runtime/config/schema.ts";
import { silentLogger } from "../../../src/runtime/logging.ts";
import { restoreStore, type SeriesStore } from "../../../src/window/series-store.ts";
import { brokerForTests } from "../../rig/kafka-broker.ts";
import { type CommandEnd, type Role, runCommand, WorkerProcess } from "../../rig/worker-process.ts";
import { BrokerProbe } from "./broker-probe.ts";
import { createStore, expectFrom, observedSlots, snapshotBytes } from "./expectation.ts";
import { assertForecasts, readAll } from "./far-end.ts";
import { Load, partitions, toObservation } from "./load.ts";
import { until } from "./until.ts";

export const sessionTimeoutMs = 4_000;
export const graceMs = 15_000;

export interface StoryOptions {
  /** The shared broker unless one is named. */
  readonly bootstrap?: string;
  /** Over the configuration that all stories share, section by section; `name` begins all names of the story. */
  readonly config?: (name: string) => ConfigChanges;
}

type ConfigChanges = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** Registers a story as a test. */
export function tellStory(
  title: string,
  run: (story: Story) => Promise<void>,
  options: () => StoryOptions | Promise<StoryOptions> = () => ({}),
  { skip = false }: { readonly skip?: string | false } = {},
): void {
  test(title, { timeout: 240_000, skip }, async () => {
    const story = await Story.open(await options());
    let hasFailed = true;
    try {
      await run(story);
      hasFailed = false;
    } finally {
      await story.close(hasFailed);
    }
  });
}

let stories = 0;

export class Story {
  readonly group: string;
  readonly config: AppConfig;
  readonly log: Log;
  readonly probe: BrokerProbe;
  readonly workers: WorkerProcess[] = [];
  readonly #given: object;
  readonly #loads: Load[] = [];
  readonly #endings: (() => Promise<void>)[] = [];

  private constructor(given: object, config: AppConfig, log: Log, probe: BrokerProbe) {
    this.group = config.group;
    this.config = config;
    this.log = log;
    this.probe = probe;
    this.#given = given;
  }

  static async open({ bootstrap, config: changes = () => ({}) }: StoryOptions): Promise<Story> {
    const broker = bootstrap ?? (await brokerForTests());
    const given = storyConfig(broker, changes);
    const readFile = () => JSON.stringify(given);
    const config = loadConfig({ argv: ["--config", "story.json"], env: {}, readFile });
    const log = await openLog(broker);
    for (const { topic } of config.topics.inputs) {
      await log.createTopics([{ topic, partitions, compacted: false, settings: roomy }]);
    }
    return new Story(given, config, log, await BrokerProbe.open(broker));
  }

  get input(): string {
    return this.config.topics.inputs[0]?.topic as string;
  }

  async startWorker(role: Role = "worker", flags: readonly string[] = []): Promise<WorkerProcess> {
    const name = `${role} ${this.workers.length + 1}`;
    const worker = await WorkerProcess.start(name, this.#given, role, flags);
    this.workers.push(worker);
    return worker;
  }

  async startReadyWorker(role: Role = "worker"): Promise<WorkerProcess> {
    const worker = await this.startWorker(role);
    await until(`${worker.name} to be ready`, () => {
      assert.ok(worker.isAlive, `${worker.name} ended before it was ready`);
      return worker.isReady();
    });
    return worker;
  }

  /** Runs `forecastnet …` on the configuration of the story, to its end. */
  command(...words: readonly string[]): Promise<CommandEnd> {
    return runCommand(words, this.#given);
  }

  /** Whatever becomes of the story, this is done at its end, before the log is closed. */
  atEnd(act: () => Promise<void>): void {
    this.#endings.push(act);
  }

  startLoad({ series = 24, pauseMs = 25 } = {}): Load {
    const load = new Load(this.log, { topic: this.input, series, pauseMs });
    this.#loads.push(load);
    return load;
  }

  /** Resolves once the group has settled this many more records of its input. */
  async untilSettled(moreRecords: number): Promise<void> {
    const total = async () =>
      [...(await this.probe.committed(this.group, this.input)).values()].reduce(
        (sum, offset) => sum + Math.max(0, offset),
        0,
      );
    const goal = (await total()) + moreRecords;
    await until(`${moreRecords} more records settled`, async () => (await total()) >= goal);
  }

  async untilAllSettled(): Promise<void> {
    for (const { topic } of this.config.topics.inputs) {
      const isSettled = async () => (await this.probe.lag(this.group, topic)) === 0;
      await until(`all of ${topic} settled`, isSettled).catch(async (error: Error) => {
        const [committed, ends] = [
          await this.probe.committed(this.group, topic),
          await this.probe.ends(topic),
        ];
        const told = [...ends].map(
          ([partition, end]) => `${partition}: ${committed.get(partition)} of ${end}`,
        );
        throw new Error(`${error.message}; committed are ${told.join(", ")}`);
      });
    }
  }

  /** Strikes the worker in the middle of a transaction; tells whether one of its partitions was left with it open. */
  async strikeInTransaction(worker: WorkerProcess, signal: "SIGKILL" | "SIGSTOP"): Promise<boolean> {
    const owned = ownedPartitions(worker);
    const isOpen = async () => {
      const open = await this.probe.openTransactions(this.config.topics.forecasts);
      return open.some((partition) => owned.includes(partition));
    };
    // Looks without a pause: a transaction is open for a few milliseconds.
    const deadlineMs = performance.now() + 30_000;
    while (!(await isOpen())) {
      assert.ok(performance.now() < deadlineMs, `${worker.name} did not open a transaction under load`);
    }
    worker.signal(signal);
    if (signal === "SIGKILL") await worker.ended;
    return isOpen();
  }

  /** Lets the workers finish and leave, then counts every observation and every forecast. */
  async count(load: Pick<Load, "sent" | "stop">): Promise<void> {
    await load.stop();
    await this.untilAllSettled();
    await this.endWorkers();
    const expected = await expectFrom(load.sent, this.config);
    const state = await this.restoredStore();
    assert.equal(observedSlots(state).size, load.sent.length, "the state holds every observation sent");
    assert.ok(
      snapshotBytes(state).equals(snapshotBytes(expected.store)),
      "the state equals the expected one",
    );
    assertForecasts(await readAll(this.log, this.config.topics.forecasts), expected);
  }

  /**
   * The observations the group has settled, partition by partition: those the input holds before the committed
   * position. Taken from the topic, not from what was sent: `append` may store a record more than once.
   */
  async settled(): Promise<Observation[]> {
    const committed = await this.probe.committed(this.group, this.input);
    const settled: Observation[] = [];
    for await (const { partition, records } of this.log.read(this.input, AbortSignal.timeout(60_000))) {
      const position = committed.get(partition) ?? 0;
      for (const { offset, value } of records) {
        if (offset < position && value !== null) settled.push(toObservation(value));
      }
    }
    return settled;
  }

  async endWorkers(): Promise<void> {
    const alive = this.workers.filter(({ isAlive }) => isAlive);
    const expiry = await Promise.all(alive.map((worker) => worker.end("SIGTERM")));
    for (const { code } of expiry) assert.equal(code, 0, "a stopped worker ends with code 0");
  }

  /** The state of all partitions, as a fresh worker would restore it. */
  async restoredStore(): Promise<SeriesStore> {
    const store = createStore(this.config);
    const records = await readAll(this.log, this.config.topics.state);
    const changelog = (async function* () {
      yield records;
    })();
    await restoreStore(store, await newestByKey(changelog), avroCodec("StateBlock").decode);
    return store;
  }

  async close(hasFailed: boolean): Promise<void> {
    for (const worker of this.workers) await worker.end("SIGKILL");
    if (hasFailed) {
      for (const worker of this.workers) {
        process.stderr.write(`\nthe last lines of ${worker.name}:\n${worker.lastLines(40)}\n`);
      }
    }
    const expiry = [...this.#endings, ...this.#loads.map((load) => () => load.stop())];
    const stops = await Promise.allSettled(expiry.map((end) => end()));
    await Promise.all([this.log.close(), this.probe.close()]);
    const [fault] = stops.flatMap((stop) => (stop.status === "rejected" ? [stop.reason] : []));
    if (fault !== undefined && !hasFailed) throw fault;
    if (fault !== undefined) process.stderr.write(`\na task in the background failed: ${String(fault)}\n`);
  }
}

/** What the worker was assigned when it last joined. */
export function ownedPartitions(worker: WorkerProcess): readonly number[] {
  return (worker.linesOf("group joined").at(-1)?.partitions ?? []) as readonly number[];
}

const roomy = { "max.message.bytes": String(16 * 1024 * 1024) };

function storyConfig(broker: string, changes: (name: string) => ConfigChanges): object {
  const name = `story-${process.pid.toString(36)}-${stories++}`;
  const config: Record<string, object> = {
    kafka: { brokers: [broker], sessionTimeoutMs, transactionTimeoutMs: 20_000, replicationFactor: 1 },
    topics: {
      inputs: [{ topic: `${name}-sensors` }],
      forecasts: `${name}-forecasts`,
      state: `${name}-state`,
      models: `${name}-models`,
      deadLetters: `${name}-dead-letters`,
      events: `${name}-events`,
      training: `${name}-training`,
      attempts: `${name}-attempts`,
    },
    // What is owed is computed without models, and no schedule must come between.
    retrain: { where: "off" },
    // A history that outlasts the story: what was observed can be counted at the end.
    series: { interval: "PT1M", horizon: 6, history: 20_000 },
    pipeline: { maxBatchRecords: 40, behindAfterMs: 0 },
    worker: { host: "127.0.0.1", port: 0, graceMs },
  };
  for (const [section, values] of Object.entries(changes(name)))
    config[section] = { ...config[section], ...values };
  return { group: name, ...config };
}

export function openLog(bootstrap: string): Promise<Log> {
  return openKafkaLog({
    ...{ brokers: [bootstrap], clientId: "story", sessionTimeoutMs },
    transactions: { timeoutMs: 20_000, onEnd: () => {} },
    ...{ replicationFactor: 1, clock: systemClock, logger: silentLogger },
  });
}
