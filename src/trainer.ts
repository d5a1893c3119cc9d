// A trainer: takes requests off the training topic and writes what comes of them to the models topic, as a service. It
// keeps nothing: a request carries all that its training needs, and what must outlive the process lies on the topics.
//
// Start: threads, topics, group; topics that no worker has made yet are waited for. Stop: nothing new is begun; a
// training that does not end within half of the grace period is given up, and whoever owns its partition next begins
// it again.

import type { Log, Membership } from "./log/log.ts";
import { checkTrainerTopics } from "./log/topic-check.ts";
import type { Surroundings } from "./pipeline-parts.ts";
import { TrainerLane, type TrainerLaneParts } from "./retrain/requests/trainer-lane.ts";
import { Turns } from "./retrain/requests/turns.ts";
import type { ModelTrainer } from "./retrain/training-task.ts";
import { json, type Routes } from "./runtime/http.ts";
import type { WorkerFacts } from "./runtime/metric-groups.ts";
import { Resource } from "./runtime/resource.ts";
import { memberTrouble, Service, type ServiceStatus } from "./runtime/service.ts";

export interface TrainerParts extends Surroundings {
  readonly openLog: () => Promise<Log>;
  readonly openTrainer: () => Promise<ModelTrainer>;
}

/** Requests that are trained together: enough for a stack, few enough to be done again after a crash. */
const requestsAtOnce = 8;
/** Of the gentle part of the stop, for trainings to end by themselves: half of the grace period. */
const patientShare = 2 / 3;

export class Trainer {
  readonly #parts: TrainerParts;
  readonly #service: Service;
  readonly #lanes = new Set<TrainerLane>();
  readonly #turns = new Turns();
  readonly #givingUp = new AbortController();
  readonly #membership = new Resource<Membership>((membership, gentleMs) =>
    this.#leave(membership, gentleMs),
  );
  readonly #trainer = new Resource<ModelTrainer>((trainer) => trainer.close());
  readonly #log = new Resource<Log>((log) => log.close());

  constructor(parts: TrainerParts) {
    this.#parts = parts;
    const { config, logger, metrics } = parts;
    this.#service = new Service({
      ...{ role: "trainer", settings: config.worker, logger, metrics },
      work: {
        run: () => this.#run(),
        trouble: () => memberTrouble(this.#membership.opened?.status()),
        facts: () => this.#facts(),
        pages: this.#pages(),
        closes: [this.#membership, this.#trainer, this.#log],
      },
    });
  }

  /** Resolves once stopped; rejects with the reason when the trainer cannot go on. */
  get done(): Promise<void> {
    return this.#service.done;
  }

  get port(): number | undefined {
    return this.#service.port;
  }

  status(): ServiceStatus {
    return this.#service.status();
  }

  /** Asks the trainer to stop; `done` tells when it has. */
  stop(why: string): void {
    this.#service.stop(why);
  }

  async #run(): Promise<void> {
    const service = this.#service;
    const trainer = await this.#trainer.open(this.#parts.openTrainer);
    const log = await this.#log.open(() => service.retry(this.#parts.openLog));
    const laneParts = await service.retry(() => this.#laneParts(log, trainer));
    service.move("joining");
    const membership = await this.#membership.open(() => service.retry(() => this.#join(log, laneParts)));
    service.move("running");
    await membership.done;
  }

  async #laneParts(log: Log, trainer: ModelTrainer): Promise<TrainerLaneParts> {
    const { config, clock, logger, metrics } = this.#parts;
    const { topics, retrain, kafka } = config;
    const { deadLetterPartitions } = await checkTrainerTopics(log, topics, kafka.createTopics);
    return {
      ...{ trainer, clock, logger, metrics, turns: this.#turns },
      ...{ modelsTopic: topics.models, attemptsTopic: topics.attempts },
      deadLetters: { topic: topics.deadLetters, partitions: deadLetterPartitions },
      mostAttempts: retrain.attempts,
      ...{ stopping: this.#service.stopping, givingUp: this.#givingUp.signal },
    };
  }

  #join(log: Log, parts: TrainerLaneParts): Promise<Membership> {
    const { group, topics } = this.#parts.config;
    const subscription = {
      group: `${group}.trainers`,
      inputs: [topics.training],
      start: "earliest",
      maxBatchRecords: requestsAtOnce,
    } as const;
    return log.join(subscription, async (owned) => {
      const lane = new TrainerLane(owned, parts);
      this.#lanes.add(lane);
      try {
        await lane.run();
      } finally {
        this.#lanes.delete(lane);
      }
    });
  }

  async #leave(membership: Membership, gentleMs: number): Promise<void> {
    const impatience = setTimeout(() => this.#givingUp.abort(), patientShare * gentleMs);
    try {
      await membership.stop(gentleMs);
    } finally {
      clearTimeout(impatience);
    }
  }

  #pages(): Routes {
    return {
      "/": () => {
        const { state, partitions, training } = this.#facts();
        return json(200, { service: "forecastnet trainer", state, partitions, training, ...this.status() });
      },
    };
  }

  #facts(): WorkerFacts {
    const membership = this.#membership.opened?.status();
    const lag = membership?.lag ?? 0;
    const inFlight = [...this.#lanes].reduce((sum, lane) => sum + lane.inFlight, 0);
    return {
      state: this.#service.state,
      partitions: membership?.partitions.length ?? 0,
      lag,
      training: { inFlight, waiting: lag },
      // What a trainer has none of.
      ...{ series: 0, bufferedBatches: 0, models: 0, restoring: 0, phases: {}, quality: [], engine: null },
    };
  }
}
