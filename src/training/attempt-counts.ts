// Counts how often the work on each request was started, by any trainer. The counts are on a compacted topic and are written
// before the work, so that the next trainer recognises a request that ended its predecessor.

import type { Outgoing } from "../domain.ts";
import { avroCodec } from "../log/codec/avro.ts";
import type { OwnedPartition } from "../log/log.ts";
import { newestByKey } from "../log/newest-by-key.ts";
import { ForecastnetError } from "../runtime/errors.ts";
import type { Logger } from "../runtime/logging.ts";

const codec = avroCodec("TrainingAttempt");

/** Of one partition. Each change returns the records that must be committed with it. */
export class AttemptCounts {
  readonly #topic: string;
  readonly #partition: number;
  readonly #countById = new Map<string, number>();

  constructor(topic: string, partition: number) {
    this.#topic = topic;
    this.#partition = partition;
  }

  async restore(owned: OwnedPartition, logger: Logger): Promise<void> {
    for (const [id, value] of await newestByKey(owned.restore(this.#topic))) {
      try {
        this.#countById.set(id, codec.decode(value).attempts);
      } catch (error) {
        if (!(error instanceof ForecastnetError)) throw error;
        // One attempt too many does less harm than a trainer that does not start.
        const { partition } = owned;
        logger.warn(
          { partition, requestId: id, reason: error.message },
          "attempt count unreadable, starting from zero",
        );
      }
    }
  }

  of(id: string): number {
    return this.#countById.get(id) ?? 0;
  }

  begin(ids: readonly string[], nowMs: number): Outgoing[] {
    return ids.map((id) => this.#set(id, this.of(id) + 1, nowMs));
  }

  /** The work was cancelled through no fault of the request, so this attempt does not count. */
  takeBack(ids: readonly string[], nowMs: number): Outgoing[] {
    return ids.map((id) => this.#set(id, this.of(id) - 1, nowMs));
  }

  /** The request is answered. */
  end(ids: readonly string[]): Outgoing[] {
    return ids.filter((id) => this.#countById.has(id)).map((id) => this.#set(id, 0, 0));
  }

  #set(id: string, attempts: number, nowMs: number): Outgoing {
    const place = { topic: this.#topic, partition: this.#partition, key: Buffer.from(id) };
    if (attempts > 0) {
      this.#countById.set(id, attempts);
      return { ...place, value: codec.encode({ requestId: id, attempts, startedAt: nowMs }) };
    }
    this.#countById.delete(id);
    return { ...place, value: null };
  }
}
