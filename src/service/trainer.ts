// A trainer: a service that reads requests from the training topic and writes outcomes to the models topic. It has no state: a
// request carries everything that its training needs, and what must outlive the process is on the topics.
//
// Start: threads, topics, group. Topics that no worker has created yet are waited for. Stop: nothing new is started. A
// training that does not end within half of the grace period is cancelled, and the next owner of its partition repeats it.

import type { Log, Membership, OwnedPartition } from "../log/log.ts";
import { checkTrainerTopics, type TrainerTopics } from "../log/topic-check.ts";
import { storedFamilies } from "../models/families.ts";
import { ForecastnetError } from "../runtime/errors.ts";
import { json, type Routes } from "../runtime/http.ts";
import type { WorkerFacts } from "../runtime/metric-groups.ts";
import { backoff } from "../runtime/waiting.ts";
import { TrainerLane, type TrainerLaneParts } from "../training/trainer-lane.ts";
import type { ModelTrainer } from "../training/training-task.ts";
import { TrainingTurns } from "../training/training-turns.ts";
import { largestRecords, type Surroundings } from "./pipeline-parts.ts";
import { Resource } from "./resource.ts";
import { memberTrouble, Service, ServiceProcess } from "./service.ts";

export interface TrainerParts extends Surroundings {
  readonly openLog: () => Promise<Log>;
  readonly openTrainer: () => Promise<ModelTrainer>;
}

/** Requests that are trained together: enough for a stack, few enough to repeat after a crash. */
const requestsAtOnce = 8;
/** Share of the gentle part of the stop in which trainings may end by themselves: half of the grace period. */
const patientShare = 2 / 3;

export class Trainer extends ServiceProcess {
  readonly #parts: TrainerParts;
  protected readonly service: Service;
  readonly #lanes = new Set<TrainerLane>();
  readonly #turns = new TrainingTurns();
  /** Partitions of the training topic at the last check. */
  #partitions = 0;
  readonly #givingUp = new AbortController();
  readonly #membership = new Resource<Membership>((membership, gentleMs) =>
    this.#leave(membership, gentleMs),
  );
  readonly #trainer = new Resource<ModelTrainer>((trainer) => trainer.close());
  readonly #log = new Resource<Log>((log) => log.close());

  constructor(parts: TrainerParts) {
    super();
    this.#parts = parts;
    this.service = new Service({
      ...parts,
      role: "trainer",
      settings: parts.config.worker,
      work: {
        run: () => this.#run(),
        trouble: () => memberTrouble(this.#membership.opened?.status()),
        facts: () => this.#facts(),
        pages: this.#pages(),
        closes: [this.#membership, this.#trainer, this.#log],
      },
    });
  }

  async #run(): Promise<void> {
    const { service } = this;
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
    const { topics, retrain } = config;
    const { deadLetterPartitions, deadLetterBytes, warnings } = await this.#checkTopics(log);
    for (const reason of warnings) logger.warn({ reason }, "topic at risk");
    return {
      trainer,
      families: storedFamilies,
      clock,
      logger,
      metrics,
      turns: this.#turns,
      modelsTopic: topics.models,
      attemptsTopic: topics.attempts,
      deadLetters: { topic: topics.deadLetters, partitions: deadLetterPartitions, maxBytes: deadLetterBytes },
      mostAttempts: retrain.attempts,
      stopping: this.service.stopping,
      givingUp: this.#givingUp.signal,
    };
  }

  async #checkTopics(log: Log): Promise<TrainerTopics> {
    const { config } = this.#parts;
    const { deadLetter } = largestRecords(config);
    const found = await checkTrainerTopics(log, config.topics, config.kafka.createTopics, deadLetter);
    this.#partitions = found.trainingPartitions;
    return found;
  }

  /**
   * The training topic is widened after all others, but what the log remembers of them may be older: a lane of a new
   * partition has them looked at again. Says whether the lane may begin.
   */
  async #hasRoom(log: Log, { partition, lost }: OwnedPartition): Promise<boolean> {
    const over = AbortSignal.any([lost, this.service.stopping]);
    for (let attempt = 0; partition >= this.#partitions && !over.aborted; attempt++) {
      try {
        await this.#checkTopics(log);
      } catch (error) {
        if (!(error instanceof ForecastnetError && error.retryable)) throw error;
        const { code, message: reason } = error;
        this.#parts.logger.warn({ partition, code, reason }, "partition waits for its topics");
      }
      if (partition >= this.#partitions) await backoff(attempt, over, this.#parts);
    }
    return !over.aborted;
  }

  #join(log: Log, parts: TrainerLaneParts): Promise<Membership> {
    const { group, topics } = this.#parts.config;
    const subscription = {
      group: `${group}.trainers`,
      inputs: [topics.training],
      positionsTopic: topics.attempts,
      outputs: [topics.models, topics.attempts, topics.deadLetters],
      start: "earliest",
      maxBatchRecords: requestsAtOnce,
    } as const;
    return log.join(subscription, async (owned) => {
      if (!(await this.#hasRoom(log, owned))) return;
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
    const cancel = this.#parts.clock.after(patientShare * gentleMs, () => this.#givingUp.abort());
    try {
      await membership.stop(gentleMs);
    } finally {
      cancel();
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
      state: this.service.state,
      partitions: membership?.partitions.length ?? 0,
      lag,
      training: { inFlight, waiting: lag, budgetSeconds: null },
      // What a trainer has none of.
      series: 0,
      bufferedBatches: 0,
      models: 0,
      restoring: 0,
      waiting: 0,
      phases: {},
      quality: [],
      engine: null,
    };
  }
}
