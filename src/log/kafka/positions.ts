// The position of a partition in its inputs. Every transaction stores it twice: as the group's offsets, which lag
// monitors and autoscalers read, and as a positions record in the state topic. Group offsets can expire, be reset by
// hand, or come from a coordinator that is still loading. The record lives and dies with the state.
//
//   record    group     result
//   none      none      nothing was ever committed: start as configured
//   none      offset    the state was written by a release without positions records: the group's offset
//   position  none      the group's offsets are gone: the record
//   position  the same  both
//   position  another   a contradiction: report it and wait, unless the configuration says which source to trust

import { setTimeout as delay } from "node:timers/promises";
import type { Outgoing } from "../../domain.ts";
import { ForecastnetError } from "../../runtime/errors.ts";
import { avroCodec } from "../codec/avro.ts";
import type { InputPositionsRecord } from "../codec/schemas.generated.ts";
import type { StoredRecord } from "../log.ts";
import { askTopicIds, assertAnswered, type Link } from "./cluster-link.ts";
import { assertSuccess, isUnstable } from "./kafka-errors.ts";
import type { OffsetRange } from "./offset-ranges.ts";
import { offsetFetch } from "./wire/cluster-requests.ts";

const codec = avroCodec("InputPositions");
/** Cannot collide with the keys of a series, which start with a series id. */
export const positionsKey = Buffer.from("#positions");

/** Which source to trust if record and group contradict each other; "agree" trusts neither. */
export type PositionRule = "agree" | "state" | "group";

type PositionByTopic = ReadonlyMap<string, number>;

/** The newest positions record of a partition. */
export interface StoredPositions {
  readonly commitId: string;
  readonly positionByTopic: PositionByTopic;
  readonly topicIdByTopic: TopicIdByTopic;
  /** The id of the topic that the record was written to. */
  readonly stateTopicId: string | null;
}

/** An id is null if the brokers are too old to assign ids. */
type TopicIdByTopic = ReadonlyMap<string, string | null>;

/** Everything that is stored about the positions of a partition. */
export interface PositionSources {
  readonly stored: StoredPositions | null;
  /** Null if the group has no offset. */
  readonly group: ReadonlyMap<string, number | null>;
  readonly topicIdByTopic: TopicIdByTopic;
  /** The id of the topic that holds the record. */
  readonly stateTopicId: string | null;
}

export function toPositionsRecord(
  { commitId, positionByTopic, topicIdByTopic, stateTopicId }: StoredPositions,
  topic: string,
  partition: number,
): Outgoing {
  const inputs = [...positionByTopic].map(([input, nextOffset]) => ({
    topic: input,
    nextOffset,
    topicId: topicIdByTopic.get(input) ?? null,
  }));
  const value = codec.encode({ commitId, inputs, stateTopicId } satisfies InputPositionsRecord);
  return { topic, partition, key: positionsKey, value };
}

export function fromPositionsRecord({ value }: Pick<StoredRecord, "value">): StoredPositions | null {
  if (value === null) return null;
  const { commitId, inputs, stateTopicId } = codec.decode(value);
  const positionByTopic = new Map(inputs.map(({ topic, nextOffset }) => [topic, nextOffset]));
  const topicIdByTopic = new Map(inputs.map(({ topic, topicId }) => [topic, topicId]));
  return { commitId, positionByTopic, topicIdByTopic, stateTopicId };
}

/**
 * The topics that were deleted and recreated since the record was written; their positions are void. Topics mirrored to
 * another cluster have other ids, too, including the state topic. Their positions stay valid.
 */
export function recreatedTopics(
  stored: StoredPositions | null,
  found: TopicIdByTopic,
  stateTopicId: string | null,
): ReadonlySet<string> {
  const recreated = new Set<string>();
  if (stored?.stateTopicId !== stateTopicId) return recreated;
  for (const [topic, before] of stored?.topicIdByTopic ?? []) {
    const now = found.get(topic) ?? null;
    if (before !== null && now !== null && before !== now) recreated.add(topic);
  }
  return recreated;
}

/** A topic whose recorded position and group offset differ. */
interface Contradiction {
  readonly topic: string;
  readonly stored: number;
  readonly group: number;
}

interface Reconciled {
  /** Null if nothing was ever committed. */
  readonly positionByTopic: ReadonlyMap<string, number | null>;
  readonly contradictions: readonly Contradiction[];
}

/** An input topic as a new owner finds it. */
export interface OpenedTopic {
  /** Null if nothing was ever committed for this topic. */
  readonly position: number | null;
  /** The topic was deleted and recreated since the last commit. */
  readonly isRecreated: boolean;
  /** The topic is known to be the same as at the last commit. */
  readonly isSameTopic: boolean;
  readonly topicId: string | null;
  /** Set if only one source has the position. The next commit writes both. */
  readonly onlyIn: "state" | "group" | null;
}

/** A position that only one of its two sources had. */
export interface AdoptedPosition {
  readonly topic: string;
  readonly position: number;
  readonly onlyIn: "state" | "group";
}

export function openedTopics(
  topics: readonly string[],
  { stored, group, topicIdByTopic }: PositionSources,
  { positionByTopic }: Reconciled,
  recreated: ReadonlySet<string>,
): ReadonlyMap<string, OpenedTopic> {
  const openedOf = (topic: string): OpenedTopic => {
    const position = positionByTopic.get(topic) ?? null;
    const recorded = stored?.positionByTopic.get(topic) ?? null;
    const onlyIn = soleSource(position, recorded, group.get(topic) ?? null);
    const topicId = topicIdByTopic.get(topic) ?? null;
    const isSameTopic = topicId !== null && topicId === stored?.topicIdByTopic.get(topic);
    return { position, isRecreated: recreated.has(topic), isSameTopic, topicId, onlyIn };
  };
  return new Map(topics.map((topic) => [topic, openedOf(topic)]));
}

/** The only source that has the position; null if record and group both have it, or neither. */
export function soleSource(
  position: number | null,
  stored: number | null,
  group: number | null,
): "state" | "group" | null {
  if (position === null || stored === group) return null;
  return position === stored ? "state" : "group";
}

/** `group` holds null for a topic without a group offset. */
export function reconcile(
  topics: readonly string[],
  stored: PositionByTopic | null,
  group: ReadonlyMap<string, number | null>,
  rule: PositionRule,
): Reconciled {
  const positionByTopic = new Map<string, number | null>();
  const contradictions: Contradiction[] = [];
  for (const topic of topics) {
    const recorded = stored?.get(topic) ?? null;
    const offset = group.get(topic) ?? null;
    positionByTopic.set(topic, rule === "group" ? (offset ?? recorded) : (recorded ?? offset));
    if (recorded !== null && offset !== null && recorded !== offset && rule === "agree")
      contradictions.push({ topic, stored: recorded, group: offset });
  }
  return { positionByTopic, contradictions };
}

/** Names both positions of each topic. */
export function contradictionError(
  contradictions: readonly Contradiction[],
  where: { readonly group: string; readonly partition: number; readonly positionsTopic: string },
): ForecastnetError {
  const { group, partition, positionsTopic } = where;
  const conflicts = contradictions.map(
    ({ topic, stored, group: offset }) =>
      `${topic}: group ${group} is at ${offset}, the state in ${positionsTopic} is at ${stored}`,
  );
  return new ForecastnetError(
    "POSITIONS_CONTRADICT",
    `partition ${partition} waits, because its stored positions contradict each other: ${conflicts.join("; ")}`,
    { context: { partition, contradictions } },
  );
}

interface PositionQuery {
  readonly group: string;
  readonly partition: number;
  readonly positionsTopic: string;
  /** Reads the newest committed positions record of the partition. */
  readPositions(): Promise<StoredPositions | null>;
}

/**
 * Reads the group's offsets, the record and the topic ids. The offsets first: once the group tells them, it refuses what a former
 * owner still commits (KIP-447), so the record is final. The caller retries.
 */
export async function fetchPositions(
  link: Link,
  topics: readonly string[],
  { group, partition, positionsTopic, readPositions }: PositionQuery,
): Promise<PositionSources> {
  const offsets = await stableOffsets(link, group, topics, partition);
  const stored = await readPositions();
  const topicIdByTopic = new Map(await idsOf(link, [...topics, positionsTopic]));
  const stateTopicId = topicIdByTopic.get(positionsTopic) ?? null;
  topicIdByTopic.delete(positionsTopic);
  return { stored, group: offsets, topicIdByTopic, stateTopicId };
}

/** Pauses between questions while a transaction of a former owner is open. */
const UNSTABLE_MS = [10, 20, 50, 100, 200, 500, 1_000, 1_000, 1_000];

async function stableOffsets(
  ...query: Parameters<typeof groupOffsets>
): Promise<ReadonlyMap<string, number | null>> {
  for (const ms of UNSTABLE_MS) {
    try {
      return await groupOffsets(...query);
    } catch (error) {
      if (!isUnstable(error)) throw error;
      await delay(ms);
    }
  }
  return groupOffsets(...query);
}

/** A topic missing from the answer is an error and not a topic without an offset. */
async function groupOffsets(
  link: Link,
  group: string,
  topics: readonly string[],
  partition: number,
): Promise<ReadonlyMap<string, number | null>> {
  const places = topics.map((topic) => ({ topic, partition }));
  const coordinator = await link.coordinatorOf("group", group);
  const { errorCode, offsets } = await link.ask(coordinator, offsetFetch(group, places));
  assertSuccess(errorCode, "OffsetFetch");
  assertAnswered(places, offsets, "OffsetFetch");
  return new Map(offsets.map(({ topic, offset }) => [topic, offset < 0 ? null : offset]));
}

async function idsOf(link: Link, topics: readonly string[]): Promise<TopicIdByTopic> {
  const found = await askTopicIds(link, topics);
  for (const { errorCode, topic } of found) assertSuccess(errorCode, `Metadata of ${topic}`);
  return new Map(found.map(({ topic, topicId }) => [topic, topicId]));
}

/** Input that was lost before or after it was read. */
export interface InputGap {
  readonly topic: string;
  readonly partition: number;
  /**
   * "retention": deleted before it was read. "recreated": the topic was deleted and created again. "truncated": the end
   * of the topic was lost after it was read, as in an unclean election.
   */
  readonly kind: "retention" | "recreated" | "truncated";
  /** The position that no longer exists; null if it belonged to another topic. */
  readonly position: number | null;
  readonly resumedAt: number;
}

/**
 * Where to resume reading, given the offsets that exist. Reports a gap. A position beyond the end belongs to another
 * topic of the same name, unless the topic is known to be the same. In that case the records read there are gone, and
 * nothing is read twice.
 */
export function resumePosition(
  { topic, partition }: { readonly topic: string; readonly partition: number },
  { position, isSameTopic }: { readonly position: number; readonly isSameTopic: boolean },
  { first, end }: OffsetRange,
  onGap: (gap: InputGap) => void,
): number {
  if (position >= first && position <= end) return position;
  const kind = position < first ? "retention" : isSameTopic ? "truncated" : "recreated";
  const resumedAt = kind === "truncated" ? end : first;
  onGap({ topic, partition, kind, position, resumedAt });
  return resumedAt;
}
