// A true worker on the embedded log, every series of which has a full past and a model: what it takes in and what it
// commits. Its models are all old enough to be trained again, so that there is always something to train.

import { openThreadedEngine } from "../../src/engine/threads/threaded-engine.ts";
import { avroCodec } from "../../src/log/codec/avro.ts";
import { decodeForecast } from "../../src/log/codec/forecast-codec.ts";
import { EmbeddedWorkers } from "../../src/replay/embedded-workers.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { loadConfig } from "../../src/runtime/config/load.ts";
import type { AppConfig } from "../../src/runtime/config/schema.ts";
import { seriesRules } from "../../src/runtime/config/series-rules.ts";
import { silentLogger } from "../../src/runtime/logging.ts";
import { createMetrics } from "../../src/runtime/metrics.ts";
import { checkWorkerTopics } from "../../src/service/pipeline-parts.ts";
import type { Worker } from "../../src/service/worker.ts";
import { openTrainingThreads } from "../../src/training/training-threads.ts";
import { Fleet, interval, matureState } from "../rig/fleet.ts";
import { modelRecords, trainFleetModel } from "../rig/fleet-models.ts";
import { Turnstile } from "./turnstile.ts";

export const partitions = 4;
const input = "sensors";
const eventCodec = avroCodec("ModelEvent");
/** One of these comes of every model that was trained. */
const verdicts: ReadonlySet<string> = new Set(["PROMOTED", "REFUSED", "RETIRED"]);

/** Until a model is judged; far more than it takes. */
const mostPasses = 100;

const flags = [
  ...["--worker.host=127.0.0.1", "--worker.port=0", `--series.interval=${interval}`],
  // Every second, at once, the next before one is judged: training never waits for work.
  ...["--retrain.schedule=* * * * * *", "--retrain.jitterMs=0", "--retrain.inFlight=2"],
  ...["--retrain.effort=quick", "--retrain.maxAgeHours=1"],
  // The end of a probation is judged, too, at a time of its own: it would meet turns with and without training alike.
  "--retrain.probationSteps=1000000",
];

export class WholeWorker {
  readonly turnstile: Turnstile;
  readonly #workers: EmbeddedWorkers;
  readonly #fleet: Fleet;
  readonly #worker: Worker;
  readonly #topics: AppConfig["topics"];
  readonly #following = new AbortController();
  /** Who waits for the forecasts of a series, in the order of their origins. */
  readonly #waitingBySeries = new Map<string, (() => void)[]>();
  #judged = 0;

  private constructor(workers: EmbeddedWorkers, fleet: Fleet, turnstile: Turnstile, config: AppConfig) {
    this.#workers = workers;
    this.#fleet = fleet;
    this.turnstile = turnstile;
    this.#worker = workers.start({
      ...{ config, logger: silentLogger, metrics: createMetrics("bench") },
      openEngine: () => openThreadedEngine({ setup: { kind: "simd" }, threads: config.engine.threads }),
      openTrainer: async () => turnstile,
    });
    this.#topics = config.topics;
    void this.#followForecasts();
    void this.#followEvents();
  }

  static async open(series: number): Promise<WholeWorker> {
    const workers = new EmbeddedWorkers({
      ...{ clock: systemClock, random: Math.random, retainRecords: 20_000 },
      topics: [{ topic: input, partitions, compacted: false }],
    });
    const { log } = workers;
    const config = loadConfig({ argv: flags, env: {} });
    const trainer = await openTrainingThreads({ setup: { kind: "simd" }, threads: config.retrain.threads });
    const settings = seriesRules(config.series)("");
    const fleet = new Fleet(series, partitions, settings.history);
    await checkWorkerTopics(log, config, true);
    await log.append([...matureState(fleet, config.topics.state, settings.history, settings)]);
    const kind = { family: "forecastnet", effort: "quick", steps: settings.history } as const;
    const trained = await trainFleetModel(trainer, kind);
    for (const record of modelRecords(fleet, config.topics.models, trained)) await log.append([record]);
    return new WholeWorker(workers, fleet, new Turnstile(trainer), config);
  }

  /** The next observation of so many series; resolves once their forecasts are committed. */
  async observe(count: number): Promise<void> {
    const points = this.#fleet.takePoints(count, input);
    const committed = points.map(
      ({ seriesId }) =>
        new Promise<void>((resolve) => {
          const waiting = this.#waitingBySeries.get(seriesId) ?? [];
          waiting.push(resolve);
          this.#waitingBySeries.set(seriesId, waiting);
        }),
    );
    await this.#workers.log.append(points.map(({ record }) => record));
    // A worker that cannot go on answers no more, and must not be waited for.
    await Promise.race([Promise.all(committed), this.#worker.done]);
  }

  /** One observation of every series. Throws unless each brings one forecast, from the series' model. */
  async verify(): Promise<void> {
    await this.observe(this.#fleet.series);
    const served = new Set<string>();
    for await (const { records } of this.#workers.log.read(this.#topics.forecasts, this.#following.signal)) {
      for (const { value } of records) {
        const { seriesId, tier } = decodeForecast(value as Buffer);
        if (tier !== "MODEL" || served.has(seriesId))
          throw new Error(`${seriesId}: a second or cold forecast`);
        served.add(seriesId);
      }
    }
    if (served.size !== this.#fleet.series) throw new Error(`only ${served.size} series had a forecast`);
  }

  /** Lets no training begin; resolves once those under way have ended and been judged, so that nothing is left to do. */
  async endTraining(): Promise<void> {
    await this.turnstile.shut();
    // A decision is told with the next batch of its lane.
    for (let pass = 0; this.#judged < this.turnstile.trained; pass++) {
      if (pass === mostPasses)
        throw new Error(`${this.turnstile.trained} were trained, ${this.#judged} judged`);
      await this.observe(this.#fleet.series);
    }
  }

  async close(): Promise<void> {
    this.#following.abort();
    await this.#workers.close("measured");
  }

  async #followForecasts(): Promise<void> {
    const { signal } = this.#following;
    for await (const { records } of this.#workers.log.follow(this.#topics.forecasts, "earliest", signal)) {
      for (const { key } of records) this.#waitingBySeries.get(String(key))?.shift()?.();
    }
  }

  async #followEvents(): Promise<void> {
    const { signal } = this.#following;
    for await (const { records } of this.#workers.log.follow(this.#topics.events, "earliest", signal)) {
      for (const { value } of records) {
        if (verdicts.has(eventCodec.decode(value as Buffer).kind)) this.#judged++;
      }
    }
  }
}
