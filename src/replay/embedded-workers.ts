// Workers of the product on one embedded log, all in this process. Whoever drives them owns the clock: the system's for
// the demo and the benchmarks, one moved by hand for replays and tests.

import { avroCodec } from "../log/codec/avro.ts";
import { decodeForecast } from "../log/codec/forecast-codec.ts";
import { readModelKey } from "../log/codec/model-keys.ts";
import type { ForecastRecord, ModelEventRecord, ModelRecord } from "../log/codec/schemas.generated.ts";
import type { Log, StoredRecord } from "../log/log.ts";
import { createMemoryLog, type MemoryLog, type MemoryLogOptions } from "../log/memory-log.ts";
import type { Timers } from "../runtime/clock.ts";
import { yieldToEventLoop } from "../runtime/waiting.ts";
import { Worker, type WorkerParts } from "../service/worker.ts";

interface EmbeddedWorkersOptions extends MemoryLogOptions {
  readonly clock: Timers;
  /** Uniform in [0, 1), for jitter. */
  readonly random: () => number;
}

/** A worker's parts without those that all workers of a log share. */
export type WorkerOptions = Omit<WorkerParts, "openLog" | "clock" | "random">;

/**
 * Turns of the event loop that everything must stay settled. A commit needs up to three of them to reach those who
 * follow a topic, such as the lane that follows its models.
 */
const quietTurns = 4;

const eventCodec = avroCodec("ModelEvent");
const modelCodec = avroCodec("ModelRecord");

export class EmbeddedWorkers {
  readonly log: MemoryLog;
  readonly #options: EmbeddedWorkersOptions;
  readonly #groupByWorker = new Map<Worker, string>();
  #failure: { readonly error: unknown } | null = null;

  constructor(options: EmbeddedWorkersOptions) {
    this.#options = options;
    this.log = createMemoryLog(options);
  }

  /** Adds a worker. `connection` is its view of the log; closing it leaves the log open for the others. */
  start(options: WorkerOptions, connection: Log = viewOf(this.log)): Worker {
    const { clock, random } = this.#options;
    const worker = new Worker({ ...options, clock, random, openLog: async () => connection });
    this.#groupByWorker.set(worker, options.config.group);
    worker.done.catch((error: unknown) => {
      this.#failure ??= { error };
    });
    return worker;
  }

  /** True when the workers have joined and committed all input, and no training or judgement is under way. */
  get isSettled(): boolean {
    for (const [worker, group] of this.#groupByWorker) {
      if (!this.log.isSettled(group) || worker.retrainer?.isIdle === false) return false;
    }
    return true;
  }

  /** Resolves once everything is settled and stays so. Moves no clock. Rejects when a worker has failed. */
  async settle(): Promise<void> {
    for (let quiet = 0; quiet < quietTurns; ) {
      await yieldToEventLoop();
      if (this.#failure !== null) throw this.#failure.error;
      quiet = this.isSettled ? quiet + 1 : 0;
    }
  }

  /** All records that a topic holds, partition after partition. */
  async read(topic: string): Promise<readonly StoredRecord[]> {
    const found: StoredRecord[] = [];
    for await (const { records } of this.log.read(topic, new AbortController().signal))
      found.push(...records);
    return found;
  }

  async forecasts(topic: string): Promise<readonly ForecastRecord[]> {
    return (await this.read(topic)).map(({ value }) => decodeForecast(value as Buffer));
  }

  async events(topic: string): Promise<readonly ModelEventRecord[]> {
    return (await this.read(topic)).map(({ value }) => eventCodec.decode(value as Buffer));
  }

  /** The models that serve, by model key. */
  async models(topic: string): Promise<ReadonlyMap<string, ModelRecord>> {
    const modelByKey = new Map<string, ModelRecord>();
    for (const { key, value } of await this.read(topic)) {
      const { modelKey, part } = readModelKey(String(key));
      if (part !== "champion") continue;
      if (value === null) modelByKey.delete(modelKey);
      else modelByKey.set(modelKey, modelCodec.decode(value));
    }
    return modelByKey;
  }

  /** Stops the workers in turn, then closes the log. Rejects with the first failure, once all is closed. */
  async close(why: string): Promise<void> {
    const workers = [...this.#groupByWorker.keys()];
    this.#groupByWorker.clear();
    const ended: PromiseSettledResult<void>[] = [];
    for (const worker of workers) {
      worker.stop(why);
      ended.push(...(await Promise.allSettled([worker.done])));
    }
    await this.log.close();
    for (const one of ended) if (one.status === "rejected") throw one.reason;
  }
}

/** The log as one of several workers sees it. */
function viewOf(log: MemoryLog): Log {
  return {
    describeTopics: (topics) => log.describeTopics(topics),
    createTopics: (specs) => log.createTopics(specs),
    addPartitions: (topic, partitions) => log.addPartitions(topic, partitions),
    join: (subscription, lane) => log.join(subscription, lane),
    append: (records) => log.append(records),
    follow: (topic, from, signal) => log.follow(topic, from, signal),
    read: (topic, signal) => log.read(topic, signal),
    close: async () => {},
  };
}
