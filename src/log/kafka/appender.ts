// Appends records outside transactions, for sensors and tools. Each record is written once: a batch whose answer was
// lost is sent again under the same sequence number, which the broker recognizes if it already has the batch. After
// `patienceMs` the append is given up, and whether it took effect is unknown.

import type { Outgoing } from "../../domain.ts";
import { backoff } from "../../runtime/waiting.ts";
import type { Link } from "./cluster-link.ts";
import { assertSuccess, isDuplicate, isRetriable, mostSevere } from "./kafka-errors.ts";
import {
  type Delivery,
  deliver,
  type FindTopic,
  type PlannedBatch,
  Producer,
  type ProducerSettings,
  planRounds,
} from "./producer.ts";
import type { ProduceBatch } from "./wire/protocol.ts";
import { initProducerId } from "./wire/transaction-requests.ts";

interface AppenderOptions extends ProducerSettings {
  openLink(): Link;
  readonly findTopic: FindTopic;
  /** How long an append is retried. */
  readonly patienceMs: number;
}

export class Appender {
  readonly #options: AppenderOptions;
  #link: Link | null = null;
  #producer: Producer | null = null;
  #last: Promise<void> = Promise.resolve();

  constructor(options: AppenderOptions) {
    this.#options = options;
  }

  /** Runs one append at a time, because sequence numbers must arrive in order. */
  append(records: readonly Outgoing[]): Promise<void> {
    const done = this.#last.then(() => this.#append(records));
    this.#last = done.catch(() => undefined); // the caller gets the error
    return done;
  }

  async close(): Promise<void> {
    await this.#last;
    await this.#link?.close();
  }

  async #append(records: readonly Outgoing[]): Promise<void> {
    const giveUp = AbortSignal.timeout(this.#options.patienceMs);
    const topics = new Set(records.map(({ topic }) => topic));
    for (const round of await planRounds(records, this.#options.findTopic)) {
      try {
        await this.#write(round, [...topics], giveUp);
      } catch (error) {
        this.#producer = null; // Some of its sequence numbers may never arrive.
        throw error;
      }
    }
  }

  async #write(
    round: readonly PlannedBatch[],
    topics: readonly string[],
    giveUp: AbortSignal,
  ): Promise<void> {
    let left: readonly ProduceBatch[] | null = null;
    for (let attempt = 0; ; attempt++) {
      let failure: unknown = null;
      try {
        const link = await this.#connect(topics);
        this.#producer ??= await this.#begin(link);
        left ??= round.map((batch) => (this.#producer as Producer).encode(batch));
        const failed: readonly Failed[] = (await deliver(link, null, left)).filter(hasFailed);
        if (failed.length === 0) return;
        left = failed.map(({ batch }) => batch);
        failure = mostSevere(failed.map(({ error }) => error));
      } catch (error) {
        failure = error;
      }
      if (!isRetriable(failure) || giveUp.aborted) throw failure;
      await this.#disconnect();
      await backoff(attempt, giveUp);
    }
  }

  async #connect(topics: readonly string[]): Promise<Link> {
    this.#link ??= this.#options.openLink();
    await this.#link.connect(topics);
    return this.#link;
  }

  async #disconnect(): Promise<void> {
    const link = this.#link;
    this.#link = null;
    await link?.close();
  }

  async #begin(link: Link): Promise<Producer> {
    const answer = await link.ask(link.anyBroker(), initProducerId(null, 0));
    assertSuccess(answer.errorCode, "InitProducerId");
    const { producerId, epoch } = answer;
    return new Producer({ transactionalId: null, producerId, epoch }, this.#options);
  }
}

type Failed = Extract<Delivery, { readonly error: unknown }>;

function hasFailed(delivery: Delivery): delivery is Failed {
  return "error" in delivery && !isDuplicate(delivery.error);
}
