// Plays observations through the product's worker as fast as it computes. Source, windows, forecasts, scores, drift,
// training, gate and probation run as on Kafka; only their surroundings differ. The log is embedded, the observations'
// own times move the clock, jitter is seeded, and all arithmetic runs in turn on this thread. So two replays of the same
// input with the same configuration write the same bytes to every topic.
//
// A training takes no time on the replay's clock: its model is judged at the moment the training starts.

import type { Observation, Outgoing } from "../domain.ts";
import { openInProcessEngine } from "../engine/in-process-engine.ts";
import { avroCodec } from "../log/codec/avro.ts";
import { decodeForecast } from "../log/codec/forecast-codec.ts";
import type { ForecastRecord, ModelEventRecord, ModelRecord } from "../log/codec/schemas.generated.ts";
import type { StoredRecord } from "../log/log.ts";
import type { Families } from "../models/families.ts";
import type { Engine } from "../models/forecastnet/engine.ts";
import type { AppConfig } from "../runtime/config/schema.ts";
import { type Logger, silentLogger } from "../runtime/logging.ts";
import type { Metrics } from "../runtime/metric-groups.ts";
import { createMetrics } from "../runtime/metrics.ts";
import { createRandom } from "../runtime/random.ts";
import { checkWorkerTopics } from "../service/pipeline-parts.ts";
import { createInProcessTrainer } from "../training/in-process-trainer.ts";
import type { ModelTrainer } from "../training/training-task.ts";
import { EmbeddedWorkers } from "./embedded-workers.ts";
import { ManualClock } from "./manual-clock.ts";

export interface ReplayOptions {
  /** A worker's configuration. All topics get the product's own formats; connections, ports and threads are not used. */
  readonly config: AppConfig;
  /** Where the clock starts: at or before the first observation. */
  readonly startMs: number;
  /** Seed of the jitter. */
  readonly seed?: number;
  /** The longest move of the clock: periodic duties, such as the retraining schedule, come round at least this often. */
  readonly resolutionMs?: number;
  /** Records that a topic keeps, apart from compacted ones. */
  readonly retainRecords?: number;
  /** Opens what runs the models; by default the simd engine on this thread. */
  readonly openEngine?: () => Promise<Engine>;
  /** Opens what trains models; by default the same engine, one task after another. */
  readonly openTrainer?: (families: Families) => Promise<ModelTrainer>;
  readonly logger?: Logger;
  readonly metrics?: Metrics;
}

/** The period of the default retraining schedule. */
const defaultResolutionMs = 5 * 60_000;
const observationCodec = avroCodec("Observation");
const eventCodec = avroCodec("ModelEvent");

export class Replay {
  readonly clock: ManualClock;
  readonly #config: AppConfig;
  readonly #resolutionMs: number;
  readonly #workers: EmbeddedWorkers;
  /** By topic: where `takeNew` goes on. */
  readonly #takenTo = new Map<string, number>();

  private constructor(config: AppConfig, clock: ManualClock, options: ReplayOptions) {
    const {
      seed = 1,
      resolutionMs = defaultResolutionMs,
      retainRecords = Number.POSITIVE_INFINITY,
    } = options;
    const topics = [{ topic: inputOf(config), partitions: 1, compacted: false }];
    this.#config = config;
    this.clock = clock;
    this.#resolutionMs = resolutionMs;
    this.#workers = new EmbeddedWorkers({ topics, clock, random: createRandom(seed).uniform, retainRecords });
  }

  /** Resolves once the worker is ready for input. */
  static async open(options: ReplayOptions): Promise<Replay> {
    const { openEngine = () => openInProcessEngine({ kind: "simd" }) } = options;
    const { openTrainer = async (families) => createInProcessTrainer(families) } = options;
    const { logger = silentLogger, metrics = sharedMetrics() } = options;
    const config = inOwnFormats(options.config);
    const replay = new Replay(config, new ManualClock(options.startMs), options);
    await checkWorkerTopics(replay.#workers.log, config, true);
    replay.#workers.start({ config, openEngine, openTrainer, logger, metrics, servesHttp: false });
    await replay.settle();
    return replay;
  }

  /**
   * Plays observations in their order: the clock moves to the time of each, and all of one time are settled together. One
   * that is older than the clock arrives late, at the clock's time.
   */
  async feed(observations: Iterable<Observation> | AsyncIterable<Observation>): Promise<void> {
    let together: Observation[] = [];
    for await (const observation of observations) {
      if (observation.timeMs > this.clock.nowMs()) {
        await this.#write(together);
        together = [];
        await this.advanceTo(observation.timeMs);
      }
      together.push(observation);
    }
    await this.#write(together);
  }

  /** Moves the clock. What a timer starts is settled before the next timer fires. */
  async advanceTo(ms: number): Promise<void> {
    while (this.clock.nowMs() < ms) {
      const endMs = Math.min(ms, this.clock.nowMs() + this.#resolutionMs);
      while (this.clock.step(endMs)) await this.settle();
    }
  }

  /** Resolves once nothing is left to do before the clock moves on. Rejects when the worker has failed. */
  settle(): Promise<void> {
    return this.#workers.settle();
  }

  forecasts(): Promise<readonly ForecastRecord[]> {
    return this.#workers.forecasts(this.#config.topics.forecasts);
  }

  /** The decisions about models, in their order. */
  events(): Promise<readonly ModelEventRecord[]> {
    return this.#workers.events(this.#config.topics.events);
  }

  /** The forecasts since the last call. */
  async takeForecasts(): Promise<readonly ForecastRecord[]> {
    return (await this.#takeNew(this.#config.topics.forecasts)).map(({ value }) =>
      decodeForecast(value as Buffer),
    );
  }

  /** The decisions about models since the last call. */
  async takeEvents(): Promise<readonly ModelEventRecord[]> {
    return (await this.#takeNew(this.#config.topics.events)).map(({ value }) =>
      eventCodec.decode(value as Buffer),
    );
  }

  /** The models that serve, by model key. */
  models(): Promise<ReadonlyMap<string, ModelRecord>> {
    return this.#workers.models(this.#config.topics.models);
  }

  /** The raw records of any topic of the configuration. */
  read(topic: string): Promise<readonly StoredRecord[]> {
    return this.#workers.read(topic);
  }

  close(): Promise<void> {
    return this.#workers.close("the replay is over");
  }

  async #takeNew(topic: string): Promise<readonly StoredRecord[]> {
    const from = this.#takenTo.get(topic) ?? 0;
    const fresh = (await this.read(topic)).filter(({ offset }) => offset >= from);
    const [first] = fresh;
    if (first !== undefined && first.offset > from)
      throw new Error(
        `records ${from} to ${first.offset - 1} of ${topic} are gone: retainRecords is too small`,
      );
    this.#takenTo.set(topic, from + fresh.length);
    return fresh;
  }

  async #write(observations: readonly Observation[]): Promise<void> {
    if (observations.length === 0) return;
    const topic = inputOf(this.#config);
    await this.#workers.log.append(observations.map((observation) => toRecord(observation, topic)));
    await this.settle();
  }
}

let unread: Metrics | undefined;

/** For replays without metrics of their own: prom-client's watch over the process cannot be undone. */
function sharedMetrics(): Metrics {
  unread ??= createMetrics("replay");
  return unread;
}

function inputOf({ topics }: AppConfig): string {
  return topics.inputs[0].topic;
}

/** One input, and no registry: nothing that a replay needs is outside this process. */
function inOwnFormats(config: AppConfig): AppConfig {
  const { topics, output, registry } = config;
  const [input] = topics.inputs;
  return {
    ...config,
    topics: { ...topics, inputs: [{ ...input, format: "avro" }] },
    output: { ...output, format: "avro" },
    registry: { ...registry, url: "" },
  };
}

function toRecord({ seriesId, timeMs, values }: Observation, topic: string): Outgoing {
  const value = values.length === 1 ? values[0] : values;
  return {
    topic,
    partition: 0,
    key: Buffer.from(seriesId),
    value: observationCodec.encode({ seriesId, time: timeMs, value, tags: {} }),
  };
}
