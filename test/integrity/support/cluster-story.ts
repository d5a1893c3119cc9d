// The stage of a failure story on three brokers: a load by an independent producer, workers in processes of their own
// behind the cluster's proxies, an independent subscriber that reads along, and the count at the end.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Observation } from "../../../src/domain.ts";
import { loadConfig } from "../../../src/runtime/config/load.ts";
import type { AppConfig } from "../../../src/runtime/config/schema.ts";
import { clusterForTests, endOwnCluster } from "../../rig/cluster-control.ts";
import type { ClusterOperations } from "../../rig/kafka-cluster.ts";
import { needsLibrdkafka } from "../../rig/librdkafka.ts";
import { type Ending, WorkerProcess } from "../../rig/worker-process.ts";
import { BrokerProbe } from "./broker-probe.ts";
import {
  assertNoDifference,
  type Comparison,
  compareForecasts,
  type Delivered,
  inputInOrder,
  noteCounts,
} from "./cluster-count.ts";
import { expectFrom } from "./expectation.ts";
import { IndependentClients, type LoadOptions } from "./independent-clients.ts";
import { until } from "./until.ts";

/** How many times longer than in CI the stories are. */
export const storyScale = Number(process.env.STORY_SCALE ?? "1");
export const partitions = 6;
export const transactionTimeoutMs = 10_000;
const settleMs = 90_000;
const internalTopics = ["__consumer_offsets", "__transaction_state"];

type ConfigChanges = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

export interface ClusterStoryOptions {
  /** Over the configuration that all stories share, section by section. */
  readonly config?: ConfigChanges;
  readonly load?: Partial<LoadOptions>;
  /** Hears every forecast that the subscriber reads. Without it they are kept, for the count. */
  readonly onDelivered?: (forecast: Delivered) => void;
  /** Somebody else sees to workers that end by themselves; otherwise that fails the story. */
  readonly isSupervised?: boolean;
}

const usualLoad: LoadOptions = {
  ...{ series: 60, perSecond: 600, compression: "none", seed: 1 },
  ...{ amplitude: 10, period: 19, noise: 1 },
};

/** Registers a story as a test. The cluster is whole before it begins and again when it has ended. */
export async function tellClusterStory(
  title: string,
  run: (story: ClusterStory) => Promise<void>,
  options: ClusterStoryOptions = {},
): Promise<void> {
  const { skip } = await needsLibrdkafka();
  after(endOwnCluster);
  test(title, { timeout: 270_000 * storyScale, skip }, async () => {
    const cluster = await clusterForTests();
    await cluster.restore();
    const story = await ClusterStory.open(cluster, options);
    let hasFailed = true;
    try {
      await run(story);
      const comparison = await story.count();
      noteCounts(title, comparison.counts);
      assertNoDifference(comparison);
      hasFailed = false;
    } finally {
      await story.close(hasFailed);
    }
  });
}

let stories = 0;

export class ClusterStory {
  readonly cluster: ClusterOperations;
  readonly config: AppConfig;
  readonly probe: BrokerProbe;
  readonly workers: WorkerProcess[] = [];
  readonly delivered: Delivered[] = [];
  readonly #given: object;
  readonly #clients: IndependentClients;
  readonly #endedByUs = new Set<WorkerProcess>();
  readonly #isSupervised: boolean;

  private constructor(parts: {
    readonly cluster: ClusterOperations;
    readonly given: object;
    readonly probe: BrokerProbe;
    readonly brokers: string;
    readonly options: ClusterStoryOptions;
  }) {
    const { given, options } = parts;
    this.cluster = parts.cluster;
    this.probe = parts.probe;
    this.#given = given;
    this.#isSupervised = options.isSupervised ?? false;
    const readFile = () => JSON.stringify(given);
    this.config = loadConfig({ argv: ["--config", "story.json"], env: {}, readFile });
    this.#clients = new IndependentClients({
      ...{ brokers: parts.brokers, input: this.input, forecasts: this.config.topics.forecasts, partitions },
      ...{ load: { ...usualLoad, ...options.load }, transactionTimeoutMs },
      onDelivered: options.onDelivered ?? ((forecast) => this.delivered.push(forecast)),
    });
  }

  static async open(cluster: ClusterOperations, options: ClusterStoryOptions): Promise<ClusterStory> {
    const { direct, workers } = await cluster.addresses();
    const name = `cluster-${process.pid.toString(36)}-${stories++}`;
    const given = storyConfig(name, workers, options.config ?? {});
    await cluster.createTopics([{ topic: `${name}-sensors`, partitions }]);
    const brokers = direct.join(",");
    return new ClusterStory({ cluster, given, options, brokers, probe: await BrokerProbe.open(brokers) });
  }

  get group(): string {
    return this.config.group;
  }

  get input(): string {
    return this.config.topics.inputs[0]?.topic as string;
  }

  /** Topics whose leaders a worker depends on, without those of the coordinators. */
  get dataTopics(): readonly string[] {
    const { forecasts, state } = this.config.topics;
    return [this.input, forecasts, state];
  }

  get coordinatorTopics(): readonly string[] {
    return internalTopics;
  }

  async startWorker(): Promise<WorkerProcess> {
    const worker = await WorkerProcess.start(`worker ${this.workers.length + 1}`, this.#given);
    this.workers.push(worker);
    return worker;
  }

  async startReadyWorker(): Promise<WorkerProcess> {
    const worker = await this.startWorker();
    await this.until(`${worker.name} to be ready`, () => worker.isReady());
    return worker;
  }

  /** Ends one worker as part of the story. */
  endWorker(worker: WorkerProcess, signal: "SIGTERM" | "SIGKILL"): Promise<Ending> {
    this.#endedByUs.add(worker);
    return worker.end(signal);
  }

  /** Sensors send and the subscriber reads from now on. A worker must have made the topics. */
  startLoad(): Promise<void> {
    return this.#clients.start();
  }

  /** Forecasts read so far. */
  get read(): number {
    return this.#clients.readByPartition.reduce((sum, count) => sum + count, 0);
  }

  /** Resolves once the subscriber has read this many more forecasts. */
  async untilRead(more: number): Promise<void> {
    const goal = this.read + more;
    await this.until(`${more} more forecasts read`, () => this.read >= goal, settleMs);
  }

  /** Resolves once each partition has been forecast beyond what was acknowledged there when this was called. */
  async untilAllFlow(deadlineMs = settleMs): Promise<void> {
    const { acknowledgedByPartition, readByPartition } = this.#clients;
    // The first observation of a series owes no forecast: as many forecasts tell of newer observations.
    const goals = [...acknowledgedByPartition];
    const isFlowing = () => readByPartition.every((count, partition) => count >= goals[partition]);
    await this.until("every partition to continue", isFlowing, deadlineMs);
  }

  /** Fails at once when a worker has ended that nobody ended. */
  async until(what: string, isSo: () => boolean | Promise<boolean>, deadlineMs?: number): Promise<void> {
    const look = () => {
      this.#clients.demandBoth();
      for (const worker of this.workers) {
        const isMeant = worker.isAlive || this.#isSupervised || this.#endedByUs.has(worker);
        assert.ok(isMeant, `${worker.name} stays alive`);
      }
      return isSo();
    };
    await until(what, look, deadlineMs);
  }

  /** Lets the workers finish and leave, then compares what was read with what was owed. */
  async count(): Promise<Comparison> {
    const input = await this.settleAll();
    const { forecastById } = await expectFrom(input, this.config);
    return compareForecasts(this.delivered, forecastById, input.length);
  }

  /** Ends the load, the workers and the subscriber, each when it is done; gives the input in order. */
  async settleAll(): Promise<readonly Observation[]> {
    await this.#clients.endLoad();
    const input = inputInOrder(this.#clients.acknowledged, await this.#inputEnds());
    const lag = () => this.probe.lag(this.group, this.input);
    await this.until("all input settled", async () => (await lag()) === 0, settleMs);
    await this.endWorkers();
    await this.#clients.endReading();
    return input;
  }

  /** A broker that has not heard yet that another one leads by now tells of an earlier end. */
  async #inputEnds(): Promise<ReadonlyMap<number, number>> {
    let ends: ReadonlyMap<number, number> = new Map();
    await this.until("the input to hold all acknowledged records", async () => {
      ends = await this.probe.ends(this.input);
      return this.#clients.acknowledgedByPartition.every((count, p) => count <= (ends.get(p) ?? 0));
    });
    return ends;
  }

  async endWorkers(): Promise<void> {
    const alive = this.workers.filter(({ isAlive }) => isAlive);
    const expiry = await Promise.all(alive.map((worker) => this.endWorker(worker, "SIGTERM")));
    for (const { code } of expiry) assert.equal(code, 0, "a stopped worker ends with code 0");
  }

  async close(hasFailed: boolean): Promise<void> {
    if (hasFailed) {
      const alive = this.workers.filter(({ isAlive }) => isAlive).map(({ name }) => name);
      process.stderr.write(
        `\n${this.#clients.acknowledged.length} observations acknowledged, ${this.read} forecasts read; alive: ${alive.join(", ")}\n`,
      );
      process.stderr.write(`\nthe last lines of the independent clients:\n${this.#clients.complaints}\n`);
      for (const worker of this.workers) {
        process.stderr.write(`\nthe last lines of ${worker.name}:\n${worker.lastLines(40)}\n`);
      }
    }
    for (const worker of this.workers) await this.endWorker(worker, "SIGKILL");
    await this.#clients.kill();
    await this.cluster.restore();
    await this.cluster.deleteTopics([this.input, ...Object.values(this.#ownTopics())]);
    await this.probe.close();
  }

  #ownTopics(): Readonly<Record<string, string>> {
    const { inputs: _, ...own } = this.config.topics;
    return own;
  }
}

function storyConfig(name: string, brokers: readonly string[], changes: ConfigChanges): object {
  const config: Record<string, object> = {
    kafka: { brokers, sessionTimeoutMs: 6_000, transactionTimeoutMs, replicationFactor: 3 },
    topics: {
      inputs: [{ topic: `${name}-sensors`, format: "json" }],
      forecasts: `${name}-forecasts`,
      state: `${name}-state`,
      models: `${name}-models`,
      deadLetters: `${name}-dead-letters`,
      events: `${name}-events`,
      training: `${name}-training`,
      attempts: `${name}-attempts`,
    },
    // What is owed is computed without models.
    retrain: { where: "off" },
    series: { interval: "PT1M", horizon: 6, history: 120 },
    pipeline: { maxBatchRecords: 100, behindAfterMs: 0 },
    worker: { host: "127.0.0.1", port: 0, graceMs: 15_000 },
  };
  for (const [section, values] of Object.entries(changes))
    config[section] = { ...config[section], ...values };
  return { group: name, ...config };
}
