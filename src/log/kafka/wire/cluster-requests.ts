// The Kafka requests about the cluster and the consumer group: metadata, coordinators, the classic group protocol and
// the group's offsets. As in `protocol.ts`, each request has one answer, and nothing here retries.

import {
  type KafkaRequest,
  type ListedOffset,
  readByTopicCompactly,
  readCode,
  type TopicPartition,
  writeByTopicCompactly,
} from "./protocol.ts";
import type { WireReader, WireWriter } from "./wire-bytes.ts";

const NO_ID = "0".repeat(32);

interface ClusterMetadata {
  readonly brokers: readonly KnownBroker[];
  readonly controllerId: number;
  readonly topics: readonly TopicMetadata[];
}

interface KnownBroker {
  readonly nodeId: number;
  readonly host: string;
  readonly port: number;
  readonly rack: string | null;
}

export interface TopicMetadata {
  readonly errorCode: number;
  readonly topic: string;
  /** Hexadecimal; null if the broker knows none. A topic that was deleted and recreated has another id. */
  readonly topicId: string | null;
  readonly partitions: readonly PartitionMetadata[];
}

export interface PartitionMetadata {
  readonly partition: number;
  /** -1 while the partition has no leader. */
  readonly leader: number;
  /** Increases with every change of leader. */
  readonly leaderEpoch: number;
}

/** Brokers, topic ids and partition leaders. Brokers before Kafka 2.8 do not support this version. */
export function metadata(topics: readonly string[]): KafkaRequest<ClusterMetadata> {
  return {
    api: "Metadata",
    facts: { topics },
    write: (to) => {
      to.noTags(); // request header
      to.compactArray(topics, (topic) => {
        to.raw(Buffer.alloc(16)); // no id: ask by name
        to.compactString(topic).noTags();
      });
      const [mayCreate, withRights] = [0, 0];
      to.int8(mayCreate).int8(withRights).noTags();
    },
    read: (from) => {
      from.skipTags(); // answer header
      from.int32(); // throttle time
      const brokers = from.compactArray(() => readBroker(from));
      from.compactString(); // cluster id
      return { brokers, controllerId: from.int32(), topics: from.compactArray(() => readTopic(from)) };
    },
  };
}

function readBroker(from: WireReader): KnownBroker {
  const [nodeId, host, port] = [from.int32(), from.compactString() ?? "", from.int32()];
  const rack = from.compactString();
  from.skipTags();
  return { nodeId, host, port, rack };
}

function readTopic(from: WireReader): TopicMetadata {
  const errorCode = from.int16();
  const topic = from.compactString() ?? "";
  const topicId = from.raw(16).toString("hex");
  from.raw(1); // whether it is internal
  const partitions = from.compactArray(() => readPartition(from));
  from.int32(); // rights
  from.skipTags();
  return { errorCode, topic, topicId: topicId === NO_ID ? null : topicId, partitions };
}

function readPartition(from: WireReader): PartitionMetadata {
  from.int16(); // error code: only repeats that there is no leader
  const [partition, leader, leaderEpoch] = [from.int32(), from.int32(), from.int32()];
  for (const _ of ["replicas", "in sync", "offline"]) from.compactArray(() => from.int32());
  from.skipTags();
  return { partition, leader, leaderEpoch };
}

export type CoordinatorKind = "group" | "transaction";

interface FoundCoordinator {
  readonly errorCode: number;
  readonly nodeId: number;
}

export function findCoordinator(kind: CoordinatorKind, key: string): KafkaRequest<FoundCoordinator> {
  return {
    api: "FindCoordinator",
    facts: { kind, key },
    write: (to) => to.string(key).int8(kind === "group" ? 0 : 1),
    read: (from) => {
      from.int32(); // throttle time
      const errorCode = from.int16();
      from.string(); // message
      return { errorCode, nodeId: from.int32() };
    },
  };
}

/** How a group identifies a member. The id is empty until the group assigns one. */
export interface MemberIdentity {
  readonly group: string;
  readonly memberId: string;
  readonly generation: number;
}

/** We do not use static membership. */
export const NO_INSTANCE_ID = null;

/** The assignment protocol that a member supports, with the metadata that it sends when it joins. */
export interface GroupProtocol {
  readonly name: string;
  readonly metadata: Buffer;
}

export interface JoinedMember {
  readonly memberId: string;
  readonly metadata: Buffer;
}

interface Joined {
  readonly errorCode: number;
  readonly generation: number;
  readonly leaderId: string;
  readonly memberId: string;
  /** All members if this member is the leader; otherwise empty. */
  readonly members: readonly JoinedMember[];
}

interface JoinTimeouts {
  readonly sessionTimeoutMs: number;
  /** How long the group waits for its members to rejoin. */
  readonly rebalanceTimeoutMs: number;
}

const PROTOCOL_TYPE = "consumer";

export function joinGroup(
  { group, memberId }: Pick<MemberIdentity, "group" | "memberId">,
  protocol: GroupProtocol,
  { sessionTimeoutMs, rebalanceTimeoutMs }: JoinTimeouts,
): KafkaRequest<Joined> {
  return {
    api: "JoinGroup",
    facts: { group, memberId, protocol: protocol.name },
    write: (to) => {
      to.string(group).int32(sessionTimeoutMs).int32(rebalanceTimeoutMs);
      to.string(memberId).string(NO_INSTANCE_ID).string(PROTOCOL_TYPE);
      to.array([protocol], ({ name, metadata }) => to.string(name).blob(metadata));
    },
    read: (from) => {
      from.int32(); // throttle time
      const [errorCode, generation] = [from.int16(), from.int32()];
      from.string(); // chosen protocol: we offer only one
      const [leaderId, ownId] = [from.string() ?? "", from.string() ?? ""];
      return {
        errorCode,
        generation,
        leaderId,
        memberId: ownId,
        members: from.array(() => readMember(from)),
      };
    },
  };
}

function readMember(from: WireReader): JoinedMember {
  const memberId = from.string() ?? "";
  from.string(); // instance id
  return { memberId, metadata: from.blob() };
}

export interface MemberAssignment {
  readonly memberId: string;
  readonly assignment: Buffer;
}

/** The leader sends the assignments of all members, the others send none. Each member receives its own. */
export function syncGroup(
  member: MemberIdentity,
  assignments: readonly MemberAssignment[],
): KafkaRequest<{ readonly errorCode: number; readonly assignment: Buffer }> {
  return {
    api: "SyncGroup",
    facts: { ...member, members: assignments.length },
    write: (to) => {
      writeMember(to, member);
      to.array(assignments, ({ memberId, assignment }) => to.string(memberId).blob(assignment));
    },
    read: (from) => {
      from.int32(); // throttle time
      return { errorCode: from.int16(), assignment: from.blob() };
    },
  };
}

export function heartbeat(member: MemberIdentity): KafkaRequest<{ readonly errorCode: number }> {
  return {
    api: "Heartbeat",
    facts: { ...member },
    write: (to) => writeMember(to, member),
    read: readCode,
  };
}

export function leaveGroup({
  group,
  memberId,
}: Pick<MemberIdentity, "group" | "memberId">): KafkaRequest<{ readonly errorCode: number }> {
  return {
    api: "LeaveGroup",
    facts: { group, memberId },
    write: (to) => to.string(group).string(memberId),
    read: readCode,
  };
}

function writeMember(to: WireWriter, { group, memberId, generation }: MemberIdentity): void {
  to.string(group).int32(generation).string(memberId).string(NO_INSTANCE_ID);
}

interface FetchedOffsets {
  readonly errorCode: number;
  /** The offset is -1 if the group has committed none. */
  readonly offsets: readonly ListedOffset[];
}

/** Offsets of transactions that are still open are refused with UNSTABLE_OFFSET_COMMIT (KIP-447). */
export function offsetFetch(group: string, places: readonly TopicPartition[]): KafkaRequest<FetchedOffsets> {
  return {
    api: "OffsetFetch",
    facts: { group, places },
    write: (to) => {
      const requireStable = 1;
      to.noTags(); // request header
      to.compactString(group);
      writeByTopicCompactly(to, places, ({ partition }) => to.int32(partition));
      to.int8(requireStable).noTags();
    },
    read: (from) => {
      from.skipTags(); // answer header
      from.int32(); // throttle time
      const offsets = readByTopicCompactly(from, (topic) => {
        const found = { topic, partition: from.int32(), offset: from.int64() };
        from.int32(); // leader epoch
        from.compactString(); // metadata of the commit
        return { ...found, errorCode: from.int16() };
      });
      return { offsets, errorCode: from.int16() };
    },
  };
}
