// A worker: the pipeline and its retraining on a log, as a service.
//
// Start: engine, topics, formats, group. Stop goes upstream to downstream, but retraining stops first: a training in progress is
// repeated elsewhere. Then lanes drain and settle, the group is left, engine and log are closed. When an input topic gains
// partitions, everything but the engine is closed in the same order and opened again.

import { chooseEngine } from "../engine/choose-engine.ts";
import { type Attempt, isolateFailures } from "../isolate-failures.ts";
import { createLane, type Lane } from "../lane.ts";
import type { PartitionLifecycle } from "../lifecycle/partition-lifecycle.ts";
import type { Retrainer } from "../lifecycle/retrainer.ts";
import type { Log, Membership, OwnedPartition } from "../log/log.ts";
import { TopicWatch } from "../log/topic-watch.ts";
import { createFamilies, type Families } from "../models/families.ts";
import type { Engine } from "../models/forecastnet/engine.ts";
import { type Phase, phases } from "../models/life.ts";
import { type PipelineParts, runLane } from "../pipeline.ts";
import { ForecastnetError } from "../runtime/errors.ts";
import { type Answer, json, type Routes, text } from "../runtime/http.ts";
import type { WorkerFacts } from "../runtime/metric-groups.ts";
import { fired } from "../runtime/waiting.ts";
import type { ModelTrainer } from "../training/training-task.ts";
import { modelPages } from "./model-api.ts";
import { buildPipelineParts, checkFamilies, checkWorkerTopics, type Surroundings } from "./pipeline-parts.ts";
import { Resource } from "./resource.ts";
import { cohortsOf, openRetraining, type Retraining } from "./retraining.ts";
import { seriesPages } from "./series-api.ts";
import { memberTrouble, Service, ServiceProcess } from "./service.ts";

export interface WorkerParts extends Surroundings {
  readonly openLog: () => Promise<Log>;
  /** Default: the configured engine. */
  readonly openEngine?: () => Promise<Engine>;
  /** Default: the model families of this release. */
  readonly families?: (engine: Engine) => Families;
  /** Default: threads of this process. */
  readonly openTrainer?: (families: Families) => Promise<ModelTrainer>;
  /** Additional HTTP routes. */
  readonly routes?: Routes;
  /** False for a worker without HTTP pages, such as that of a replay. */
  readonly servesHttp?: boolean;
}

export class Worker extends ServiceProcess {
  readonly #parts: WorkerParts;
  protected readonly service: Service;
  readonly #laneByPartition = new Map<number, Lane>();
  /** Assigned input partitions that our own topics do not have yet. */
  readonly #waiting = new Set<number>();
  #isReopening = false;
  readonly #watch = new Resource<TopicWatch>((watch) => watch.stop());
  readonly #retraining = new Resource<Retraining>((retraining) => retraining.stop());
  /** Closes its registry before the lanes drain: a lane that waits for a schema has nothing to settle. */
  readonly #pipeline = new Resource<PipelineParts>(({ registry }) => registry?.close());
  readonly #membership = new Resource<Membership>((membership, gentleMs) => membership.stop(gentleMs));
  readonly #engine = new Resource<Engine>((engine) => engine.close());
  readonly #log = new Resource<Log>((log) => log.close());

  constructor(parts: WorkerParts) {
    super();
    this.#parts = parts;
    const { config, servesHttp = true } = parts;
    this.service = new Service({
      ...parts,
      role: "worker",
      settings: servesHttp ? config.worker : { ...config.worker, port: null },
      work: {
        run: () => this.#run(),
        trouble: () => this.#trouble(),
        facts: () => this.#facts(),
        pages: { ...this.#pages(), ...parts.routes },
        closes: [this.#watch, this.#retraining, this.#pipeline, this.#membership, this.#engine, this.#log],
      },
    });
  }

  /** Undefined until the worker has found its topics. */
  get retrainer(): Retrainer | undefined {
    return this.#retraining.opened?.retrainer;
  }

  async #run(): Promise<void> {
    const { service } = this;
    const { config, logger } = this.#parts;
    const { openEngine = () => chooseEngine(config.engine, logger) } = this.#parts;
    const engine = await this.#engine.open(openEngine);
    for (;;) {
      const changed = await this.#serve(engine).catch((error: unknown) => {
        // A reopening that a stop interrupts is no failure.
        if (service.stopping.aborted && this.#isReopening) return undefined;
        throw error;
      });
      if (changed === undefined) return;
      this.#isReopening = true;
      logger.warn({ reason: changed }, "input topics have changed, reopening the pipeline");
      await this.#closePipeline();
      if (service.stopping.aborted) return;
    }
  }

  /** Works until the worker stops, or until the input topics have changed. Returns the change as text. */
  async #serve(engine: Engine): Promise<string | undefined> {
    const { service } = this;
    const closing = new AbortController();
    const { families: create = createFamilies } = this.#parts;
    const families = create(engine);
    checkFamilies(this.#parts.config, families.names);
    const log = await this.#log.open(() => service.retry(this.#parts.openLog));
    const pipeline = await this.#pipeline.open(() =>
      service.retry(() => buildPipelineParts(log, families, this.#parts)),
    );
    await this.#retraining.open(() =>
      openRetraining({ ...this.#parts, log, engine, pipeline, lifecycles: () => this.#lifecycles() }),
    );
    if (service.state === "starting") service.move("joining");
    const over = AbortSignal.any([closing.signal, service.stopping]);
    const membership = await this.#membership.open(() =>
      service.retry(() => this.#join(log, pipeline, over)),
    );
    if (service.state === "joining") service.move("running");
    const watch = await this.#watch.open(() => this.#watchTopics(log, pipeline));
    this.#isReopening = false;
    try {
      return (await Promise.race([membership.done, watch.changed])) ?? undefined;
    } finally {
      closing.abort();
    }
  }

  /** Closes everything but the engine. */
  async #closePipeline(): Promise<void> {
    const gentleMs = 0.75 * this.#parts.config.worker.graceMs;
    for (const resource of [this.#watch, this.#retraining, this.#pipeline, this.#membership, this.#log])
      await resource.empty(gentleMs);
  }

  #watchTopics(log: Log, { partitionsByInput }: PipelineParts): TopicWatch {
    const { config, clock, logger } = this.#parts;
    const { createTopics, topicCheckMs } = config.kafka;
    return new TopicWatch({
      log,
      partitionsByInput,
      everyMs: topicCheckMs,
      clock,
      provide: () => checkWorkerTopics(log, config, createTopics),
      onTrouble: (error) => logger.warn(factsOf(error), "input topics have changed, new partitions wait"),
      onCheckFailed: (error) =>
        logger.warn(factsOf(error), "input topics cannot be checked for new partitions, trying again"),
    });
  }

  #join(log: Log, parts: PipelineParts, closing: AbortSignal): Promise<Membership> {
    const { group, topics, pipeline } = this.#parts.config;
    const subscription = {
      group,
      inputs: topics.inputs.map(({ topic }) => topic),
      positionsTopic: topics.state,
      outputs: [
        ...[topics.forecasts, topics.state, topics.models],
        ...[topics.events, topics.training, topics.deadLetters],
      ],
      spreadOutputs: cohortsOf(this.#parts.config).length > 0 ? [topics.models] : [],
      start: pipeline.start,
      maxBatchRecords: pipeline.maxBatchRecords,
      batchIntervalMs: pipeline.batchIntervalMs,
    };
    const { deadLetters, metrics } = parts.source;
    const isolation = { ...parts, deadLetters, metrics };
    return log.join(subscription, (owned) =>
      owned.partition < parts.partitions
        ? isolateFailures(owned, isolation, (life) => this.#live(life, parts))
        : this.#wait(owned, closing),
    );
  }

  /** Runs a lane until its partition is lost, or until a record makes it fail. */
  async #live(owned: Attempt, parts: PipelineParts): Promise<void> {
    const lane = createLane(owned, parts);
    lane.lifecycle.onPending = () => this.retrainer?.check();
    this.#laneByPartition.set(owned.partition, lane);
    try {
      await runLane(lane, parts);
    } finally {
      // A later lane of the same partition may have replaced this one.
      if (this.#laneByPartition.get(owned.partition) === lane) this.#laneByPartition.delete(owned.partition);
    }
  }

  /**
   * The group may assign a new partition before our topics have it. No lane runs for it then; nothing is read or committed,
   * so nothing is missed when the pipeline is reopened.
   */
  async #wait({ partition, lost }: OwnedPartition, closing: AbortSignal): Promise<void> {
    this.#parts.logger.warn({ partition }, "partition waits, the worker's own topics lack it");
    this.#waiting.add(partition);
    void this.#watch.opened?.look();
    await fired(AbortSignal.any([lost, closing]));
    this.#waiting.delete(partition);
  }

  #lifecycles(): readonly PartitionLifecycle[] {
    const lanes = [...this.#laneByPartition.values()];
    return lanes
      .filter(({ isRestored, owned }) => isRestored && !owned.isSearching)
      .map(({ lifecycle }) => lifecycle);
  }

  #trouble(): string | null {
    const membership = this.#membership.opened?.status();
    const found = this.#engine.opened?.status().trouble ?? memberTrouble(membership);
    if (found !== null) return found;
    const waiting = this.#watch.opened?.trouble ?? null;
    if (waiting !== null) return `input topics have changed, new partitions wait: ${waiting}`;
    if (this.#waiting.size > 0)
      return `partitions ${[...this.#waiting].join(", ")} wait for the worker's own topics`;
    const registryOutage = this.#pipeline.opened?.registry?.outage ?? null;
    if (registryOutage !== null) return `the schema registry does not answer: ${registryOutage}`;
    const restoring = this.#restoring();
    return restoring.length > 0 ? `restoring partitions ${restoring.join(", ")}` : null;
  }

  /** Includes partitions whose lane has not started yet. */
  #restoring(): readonly number[] {
    const owned = this.#membership.opened?.status().partitions ?? [];
    return owned.filter(
      (partition) =>
        !this.#waiting.has(partition) && this.#laneByPartition.get(partition)?.isRestored !== true,
    );
  }

  #pages(): Routes {
    const { token } = this.#parts.config.worker;
    return {
      ...modelPages(() => this.#retraining.opened?.models ?? null, token),
      ...seriesPages(() => this.#retraining.opened?.series ?? null, token),
      "/healthz": () => this.#health(),
      "/": () => {
        const { quality: _, ...facts } = this.#facts(); // Counts by bucket: too much for a page.
        return json(200, { service: "forecastnet", ...facts, ...this.status() });
      },
    };
  }

  /** Also fails when the engine is broken, which only a restart repairs. */
  #health(): Answer {
    const { state } = this.service;
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
      state: this.service.state,
      partitions: membership?.partitions.length ?? 0,
      restoring: this.#restoring().length,
      waiting: this.#waiting.size,
      series: lanes.reduce((sum, lane) => sum + lane.store.size, 0),
      lag: membership?.lag ?? 0,
      bufferedBatches: lanes.reduce((sum, lane) => sum + lane.bufferedBatches, 0),
      models: lanes.reduce((sum, lane) => sum + lane.models.size, 0),
      training: this.retrainer?.status ?? { inFlight: 0, waiting: 0, budgetSeconds: null },
      phases: countPhases(lanes),
      quality: lanes.map(({ scoreStore }) => scoreStore.quality),
      engine: engine === undefined ? null : { ...engine.description, ...engine.status() },
    };
  }
}

function factsOf(error: Error) {
  const { code, remedy } = error instanceof ForecastnetError ? error : { code: null, remedy: null };
  return { code, reason: error.message, remedy };
}

export function countPhases(lanes: readonly Lane[]): Readonly<Record<Phase, number>> {
  const counts = { cold: 0, training: 0, champion: 0, drifting: 0 };
  for (const { scoreStore } of lanes)
    for (const phase of phases) counts[phase] += scoreStore.seriesByPhase[phase];
  return counts;
}
