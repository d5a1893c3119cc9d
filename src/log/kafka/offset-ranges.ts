// Looks up the offsets that partitions hold now. All lookups under way share one link, so that the partitions of a
// worker that starts do not each open connections for a question.

import type { Logger } from "../../runtime/logging.ts";
import { backoff } from "../../runtime/waiting.ts";
import { assertAnswered, type Link } from "./cluster-link.ts";
import { isRetriableRead, readFailure, warnOfFailure } from "./kafka-errors.ts";
import { type ListedOffset, listOffsets, type TopicPartition } from "./wire/protocol.ts";

/** The offsets that a partition holds: [first, end). */
export interface OffsetRange {
  readonly first: number;
  readonly end: number;
}

interface OffsetRangesOptions {
  openLink(): Link;
  readonly logger: Logger;
}

export class OffsetRanges {
  readonly #options: OffsetRangesOptions;
  /** Open while lookups are under way. */
  #link: Link | null = null;
  #underWay = 0;

  constructor(options: OffsetRangesOptions) {
    this.#options = options;
  }

  /** The offsets that each partition holds. Waits for brokers that do not answer until the signal fires. */
  async find(
    topic: string,
    partitions: readonly number[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<number, OffsetRange>> {
    this.#underWay++;
    try {
      return await this.#find(topic, partitions, signal);
    } finally {
      if (--this.#underWay === 0) await this.#replace(this.#link);
    }
  }

  async #find(
    topic: string,
    partitions: readonly number[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<number, OffsetRange>> {
    const places = partitions.map((partition) => ({ topic, partition }));
    for (let attempt = 0; ; attempt++) {
      this.#link ??= this.#options.openLink();
      const link = this.#link;
      try {
        await link.connect([topic]);
        return await rangesOf(link, places);
      } catch (error) {
        await this.#replace(link);
        if (signal.aborted) throw error;
        if (!isRetriableRead(error)) throw readFailure(topic, error);
        warnOfFailure(this.#options.logger, attempt, error, { topic });
        await backoff(attempt, signal);
      }
    }
  }

  /** The next lookup opens another link. Several lookups may fail over the same one. */
  async #replace(link: Link | null): Promise<void> {
    if (link === null || this.#link !== link) return;
    this.#link = null;
    await link.close();
  }
}

/** The offsets that these partitions of one topic hold now, by partition. Asks once. */
async function rangesOf(
  link: Link,
  places: readonly TopicPartition[],
): Promise<ReadonlyMap<number, OffsetRange>> {
  const ends = await Promise.all([askOffsets(link, places, "earliest"), askOffsets(link, places, "latest")]);
  const [firstByPartition, endByPartition] = ends.map(
    (listed) => new Map(listed.map(({ partition, offset }) => [partition, offset])),
  );
  return new Map(
    places.map(({ partition }) => {
      const first = firstByPartition.get(partition) as number;
      return [partition, { first, end: endByPartition.get(partition) as number }];
    }),
  );
}

/** The offsets that a partition holds now. Asks once. */
export async function findRange(link: Link, place: TopicPartition): Promise<OffsetRange> {
  return (await rangesOf(link, [place])).get(place.partition) as OffsetRange;
}

/** Asks every leader once, for all partitions that it leads. */
export async function askOffsets(
  link: Link,
  places: readonly TopicPartition[],
  which: "earliest" | "latest" | "stable",
): Promise<readonly ListedOffset[]> {
  const placesByLeader = new Map<string, TopicPartition[]>();
  for (const place of places) {
    const leader = link.leaderOf(place);
    const ofLeader = placesByLeader.get(leader);
    if (ofLeader === undefined) placesByLeader.set(leader, [place]);
    else ofLeader.push(place);
  }
  const asked = [...placesByLeader].map(async ([leader, ofLeader]) => {
    const answers = await link.ask(leader, listOffsets(ofLeader, which));
    assertAnswered(ofLeader, answers, "ListOffsets");
    return answers;
  });
  return (await Promise.all(asked)).flat();
}
