// Brokers that answer fetches as a test scripts them, including what a real broker does only in a race or an outage.

import { type Link, partitionName } from "../../../../src/log/kafka/cluster-link.ts";
import { Fetcher } from "../../../../src/log/kafka/fetcher.ts";
import { BrokerError, NoAnswerError } from "../../../../src/log/kafka/kafka-errors.ts";
import { KafkaReads } from "../../../../src/log/kafka/kafka-reads.ts";
import type { OffsetRange } from "../../../../src/log/kafka/offset-ranges.ts";
import { encodeRecordBatch } from "../../../../src/log/kafka/producer.ts";
import type {
  FetchChanges,
  FetchedPartition,
  FetchFrom,
  KafkaRequest,
  TopicPartition,
} from "../../../../src/log/kafka/wire/protocol.ts";
import { type Logger, silentLogger } from "../../../../src/runtime/logging.ts";
import { ScriptedSessions } from "./scripted-sessions.ts";
import { topicFacts } from "./topic-facts.ts";
import { plain, stored } from "./wire/batch-bytes.ts";

export interface AskedFetch {
  readonly nodeId: string;
  readonly waitMs: number;
  readonly answerMs: number | undefined;
  /** By partition name. */
  readonly offsets: ReadonlyMap<string, number>;
}

/** Answers the n-th fetch, or throws. */
export type AnswerFetch = (
  asked: AskedFetch,
  n: number,
) => readonly FetchedPartition[] | Promise<readonly FetchedPartition[]>;

export class ScriptedBrokers {
  readonly asked: AskedFetch[] = [];
  readonly sessions = new ScriptedSessions();
  readonly warned: string[] = [];
  /** By partition name. Broker 1 leads partitions that are not listed; "none" means no leader. */
  readonly leaderByName = new Map<string, string>();
  readonly rangeByName = new Map<string, OffsetRange>();
  readonly openLinks = new Set<object>();
  linksOpened = 0;
  refreshes = 0;
  rangesAsked = 0;
  answer: AnswerFetch;
  /** Called with all topics of a link when one is added and at each refresh. */
  connect: (topics: readonly string[]) => Promise<void> = async () => undefined;
  /** How brokers describe a topic; null if they are too old for ids. */
  describe: ((topic: string) => { errorCode: number; topicId: string | null }) | null = (topic) => ({
    ...{ errorCode: 0, topicId: `id of ${topic}` },
  });
  /** Called when one broker is asked for leaders. */
  onLearn: (topics: readonly string[]) => Promise<void> | void = () => undefined;
  onRange: (place: TopicPartition) => Promise<void> | void = () => undefined;

  constructor(answer: AnswerFetch) {
    this.answer = answer;
  }

  readonly logger: Logger = {
    ...silentLogger,
    warn: (facts, message) => void this.warned.push(`${message} ${JSON.stringify(facts)}`),
  };

  /** KafkaReads on these brokers. */
  reads(partitions = 1): KafkaReads {
    const { openLink, logger } = this;
    const findTopic = async (topic: string) => topicFacts(topic, { partitions });
    const fetcher = new Fetcher({ openLink, logger, longestWaitMs: 1_000 });
    return new KafkaReads({ openLink, fetcher, findTopic, logger });
  }

  readonly openLink = (): Link => {
    const leaders = new Map<string, string>();
    const known = new Set<string>();
    this.linksOpened++;
    const demandOpen = () => {
      if (!this.openLinks.has(link)) throw new NoAnswerError("the link is closed");
    };
    const link: Link = {
      connect: async (topics) => {
        demandOpen();
        await this.connect([...new Set([...known, ...topics])]);
        for (const topic of topics) known.add(topic);
      },
      leaderOf: (place) => {
        const name = partitionName(place);
        const leader = leaders.get(name) ?? this.leaderByName.get(name) ?? "1";
        if (leader === "none") throw new NoAnswerError(`${name} has no leader`);
        leaders.set(name, leader);
        return leader;
      },
      refresh: async () => {
        this.refreshes++;
        await this.connect([...known]);
        leaders.clear();
      },
      hasLeader: (place) => this.leaderByName.get(partitionName(place)) !== "none",
      learnFrom: async (_, topics) => this.onLearn(topics),
      partitionsOf: () => 1,
      supports: async () => this.describe !== null,
      brokers: () => ["1"],
      coordinatorOf: async () => "1",
      ask: async <Answer>(nodeId: string, request: KafkaRequest<Answer>, answerMs?: number) => {
        demandOpen();
        await new Promise(setImmediate);
        return (await this.#ask(nodeId, request, answerMs)) as Answer;
      },
      anyBroker: () => "1",
      close: async () => void this.openLinks.delete(link),
    };
    this.openLinks.add(link);
    return link;
  };

  async #ask(nodeId: string, { api, facts }: KafkaRequest<unknown>, answerMs?: number): Promise<unknown> {
    const places = facts.places as readonly FetchFrom[];
    if (api === "ListOffsets") {
      this.rangesAsked++;
      for (const place of places) await this.onRange(place);
      return places.map((place) => {
        const { first, end } = this.rangeByName.get(partitionName(place)) ?? { first: 0, end: 0 };
        return { ...place, errorCode: 0, offset: facts.which === "earliest" ? first : end };
      });
    }
    if (api === "Metadata") {
      const topics = facts.topics as readonly string[];
      return { topics: topics.map((topic) => ({ topic, ...this.describe?.(topic) })) };
    }
    const session = this.sessions.begin(nodeId, facts as unknown as FetchChanges);
    if (typeof session === "number") return { errorCode: session, sessionId: 0, partitions: [] };
    const offsets = new Map(session.offsetByName);
    this.asked.push({ nodeId, waitMs: Number(facts.maxWaitMs), answerMs, offsets });
    const at = this.asked.length - 1;
    const partitions = await this.answer(this.asked[at], at);
    return { errorCode: 0, sessionId: session.id, partitions: this.sessions.news(session, partitions) };
  }
}

interface Ends {
  /** The last stable offset, and the high watermark if it is higher. */
  readonly stable: number;
  readonly written?: number;
}

/** The answer for a partition: one batch per offset. */
export function fetched(
  name: string,
  offsets: readonly number[],
  { stable, written }: Ends,
  key = Buffer.from("k"),
): FetchedPartition {
  const batches = offsets.map((offset) => {
    const record = { key, value: Buffer.from(`v${offset}`) };
    return stored(encodeRecordBatch([record], plain), BigInt(offset));
  });
  return {
    ...{ ...placeOf(name), errorCode: 0, abortedTransactions: [] },
    ...{ highWatermark: written ?? stable, lastStableOffset: stable, recordSet: Buffer.concat(batches) },
  };
}

export function refused(name: string, errorCode: number): FetchedPartition {
  return { ...fetched(name, [], { stable: -1 }), errorCode };
}

export function failure(code: number): BrokerError {
  return new BrokerError(code, "Fetch");
}

export const never = <T>(): Promise<T> => new Promise<T>(() => undefined);

function placeOf(name: string): TopicPartition {
  const [topic, partition] = name.split("/") as [string, string];
  return { topic, partition: Number(partition) };
}
