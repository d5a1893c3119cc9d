// A worker: the pipeline and the retraining beside it, on a log, as a service.
//
// Start: engine, topics, formats, group. Stop goes upstream to downstream, but retraining stops first: what it has
// begun is begun again elsewhere. Then lanes drain and settle, the group is left, engine and log are closed.

import { chooseEngine } from "./engine/choose-engine.ts";
import type { Engine } from "./engine/engine.ts";
import { createLane, type Lane } from "./lane.ts";
import type { Log, Membership } from "./log/log.ts";
import { type PipelineParts, runLane } from "./pipeline.ts";
import { buildPipelineParts, type Surroundings } from "./pipeline-parts.ts";
import type { LaneDesk } from "./retrain/lane-desk.ts";
import type { Phase } from "./retrain/life.ts";
import { modelPages } from "./retrain/model-pages.ts";
import type { Retrainer } from "./retrain/retrainer.ts";
import type { ModelTrainer } from "./retrain/training-task.ts";
import { openRetraining, type Retraining } from "./retraining.ts";
import { type Answer, json, type Routes, text } from "./runtime/http.ts";
import type { SeriesQuality, WorkerFacts } from "./runtime/metric-groups.ts";
import { Resource } from "./runtime/resource.ts";
import { memberTrouble, Service, type ServiceStatus } from "./runtime/service.ts";

export interface WorkerParts extends Surroundings {
  readonly openLog: () => Promise<Log>;
  /** What runs the models; by default what the configuration asks for. */
  readonly openEngine?: () => Promise<Engine>;
  /** Who trains models; by default threads of this process. */
  readonly openTrainer?: () => Promise<ModelTrainer>;
  /** Pages beside the worker's own. */
  readonly routes?: Routes;
}

export class Worker {
  readonly #parts: WorkerParts;
  readonly #service: Service;
  readonly #laneByPartition = new Map<number, Lane>();
  readonly #retraining = new Resource<Retraining>((retraining) => retraining.stop());
  /** Its registry is closed before the lanes drain: one that waits for a schema holds nothing to settle. */
  readonly #pipeline = new Resource<PipelineParts>(({ registry }) => registry?.close());
  readonly #membership = new Resource<Membership>((membership, gentleMs) => membership.stop(gentleMs));
  readonly #engine = new Resource<Engine>((engine) => engine.close());
  readonly #log = new Resource<Log>((log) => log.close());

  constructor(parts: WorkerParts) {
    this.#parts = parts;
    const { config, logger, metrics } = parts;
    this.#service = new Service({
      ...{ role: "worker", settings: config.worker, logger, metrics },
      work: {
        run: () => this.#run(),
        trouble: () => this.#trouble(),
        facts: () => this.#facts(),
        pages: { ...this.#pages(), ...parts.routes },
        closes: [this.#retraining, this.#pipeline, this.#membership, this.#engine, this.#log],
      },
    });
  }

  /** Resolves once stopped; rejects with the reason when the worker cannot go on. */
  get done(): Promise<void> {
    return this.#service.done;
  }

  get port(): number | undefined {
    return this.#service.port;
  }

  /** Once the worker has found its topics. */
  get retrainer(): Retrainer | undefined {
    return this.#retraining.opened?.retrainer;
  }

  status(): ServiceStatus {
    return this.#service.status();
  }

  /** Asks the worker to stop; `done` tells when it has. */
  stop(why: string): void {
    this.#service.stop(why);
  }

  async #run(): Promise<void> {
    const service = this.#service;
    const { config, logger, openLog } = this.#parts;
    const { openEngine = () => chooseEngine(config.engine, logger) } = this.#parts;
    const engine = await this.#engine.open(openEngine);
    const log = await this.#log.open(() => service.retry(openLog));
    const pipeline = await this.#pipeline.open(() =>
      service.retry(() => buildPipelineParts(log, engine, this.#parts)),
    );
    await this.#retraining.open(() =>
      openRetraining({ ...this.#parts, log, engine, pipeline, desks: () => this.#desks() }),
    );
    service.move("joining");
    const membership = await this.#membership.open(() => service.retry(() => this.#join(log, pipeline)));
    service.move("running");
    await membership.done;
  }

  #join(log: Log, parts: PipelineParts): Promise<Membership> {
    const { group, topics, pipeline } = this.#parts.config;
    const subscription = {
      group,
      inputs: topics.inputs.map(({ topic }) => topic),
      start: pipeline.start,
      maxBatchRecords: pipeline.maxBatchRecords,
    };
    return log.join(subscription, async (owned) => {
      const lane = createLane(owned, parts);
      lane.desk.onNews = () => this.retrainer?.poke();
      this.#laneByPartition.set(owned.partition, lane);
      try {
        await runLane(lane, parts);
      } finally {
        // A later lane of the same partition may have taken the place.
        if (this.#laneByPartition.get(owned.partition) === lane)
          this.#laneByPartition.delete(owned.partition);
      }
    });
  }

  #desks(): readonly LaneDesk[] {
    return [...this.#laneByPartition.values()].filter(({ isRestored }) => isRestored).map(({ desk }) => desk);
  }

  #trouble(): string | null {
    const membership = this.#membership.opened?.status();
    const found = this.#engine.opened?.status().trouble ?? memberTrouble(membership);
    if (found !== null) return found;
    const registryOutage = this.#pipeline.opened?.registry?.outage ?? null;
    if (registryOutage !== null) return `the schema registry does not answer: ${registryOutage}`;
    const restoring = this.#restoring();
    return restoring.length > 0 ? `restoring partitions ${restoring.join(", ")}` : null;
  }

  /** A partition whose lane has not begun yet is not restored either. */
  #restoring(): readonly number[] {
    const owned = this.#membership.opened?.status().partitions ?? [];
    return owned.filter((partition) => this.#laneByPartition.get(partition)?.isRestored !== true);
  }

  #pages(): Routes {
    return {
      ...modelPages(() => this.#retraining.opened?.desk ?? null, this.#parts.config.worker.token),
      "/healthz": () => this.#health(),
      "/": () => {
        const { quality: _, ...facts } = this.#facts(); // Of every series: too much for a page.
        return json(200, { service: "forecastnet", ...facts, ...this.status() });
      },
    };
  }

  /** As every service's, but an engine that broke is mended by a restart only. */
  #health(): Answer {
    const { state } = this.#service;
    const status = state === "failed" ? 503 : 200;
    const engine = this.#engine.opened;
    if (engine === undefined) return text(status, state);
    const { trouble } = engine.status();
    if (trouble !== null) return text(503, trouble);
    const { name, device } = engine.description;
    return text(status, `${state}, engine ${name} on ${device}`);
  }

  #facts(): WorkerFacts {
    const engine = this.#engine.opened;
    const lanes = [...this.#laneByPartition.values()];
    const membership = this.#membership.opened?.status();
    return {
      state: this.#service.state,
      partitions: membership?.partitions.length ?? 0,
      restoring: this.#restoring().length,
      series: lanes.reduce((sum, lane) => sum + lane.store.size, 0),
      lag: membership?.lag ?? 0,
      bufferedBatches: lanes.reduce((sum, lane) => sum + lane.bufferedBatches, 0),
      models: lanes.reduce((sum, lane) => sum + lane.models.size, 0),
      training: this.retrainer?.status ?? { inFlight: 0, waiting: 0 },
      phases: countPhases(lanes),
      quality: qualityOf(lanes),
      engine: engine === undefined ? null : { ...engine.description, ...engine.status() },
    };
  }
}

function* qualityOf(lanes: readonly Lane[]): Generator<SeriesQuality> {
  for (const { book } of lanes) {
    for (const live of book) {
      const quality = live.quality();
      if (quality !== null) yield quality;
    }
  }
}

function countPhases(lanes: readonly Lane[]): Readonly<Record<Phase, number>> {
  const counts = { cold: 0, training: 0, champion: 0, drifting: 0 };
  for (const { book } of lanes) for (const { life } of book) counts[life.phase]++;
  return counts;
}
