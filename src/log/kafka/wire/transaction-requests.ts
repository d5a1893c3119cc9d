// The Kafka requests of transactions: to begin and end them, and to find those that others left open.

import type { MemberIdentity } from "./cluster-requests.ts";
import { NO_INSTANCE_ID } from "./cluster-requests.ts";
import {
  type KafkaRequest,
  type PartitionCode,
  type ProducerIdentity,
  readByTopic,
  readByTopicCompactly,
  readCode,
  type TopicPartition,
  writeByTopic,
  writeByTopicCompactly,
} from "./protocol.ts";
import type { WireReader, WireWriter } from "./wire-bytes.ts";

export type TransactionalIdentity = ProducerIdentity & { readonly transactionalId: string };

interface Initialized {
  readonly errorCode: number;
  readonly producerId: number;
  readonly epoch: number;
}

export function initProducerId(
  transactionalId: string | null,
  transactionTimeoutMs: number,
): KafkaRequest<Initialized> {
  return {
    api: "InitProducerId",
    facts: { transactionalId },
    write: (to) => to.string(transactionalId).int32(transactionTimeoutMs),
    read: (from) => {
      from.int32(); // throttle time
      return { errorCode: from.int16(), producerId: from.int64(), epoch: from.int16() };
    },
  };
}

export function addPartitionsToTxn(
  identity: TransactionalIdentity,
  places: readonly TopicPartition[],
): KafkaRequest<readonly PartitionCode[]> {
  return {
    api: "AddPartitionsToTxn",
    facts: { ...identity, places },
    write: (to) => {
      writeIdentity(to, identity);
      writeByTopic(to, places, ({ partition }) => to.int32(partition));
    },
    read: readCodes,
  };
}

export function addOffsetsToTxn(
  identity: TransactionalIdentity,
  group: string,
): KafkaRequest<{ readonly errorCode: number }> {
  return {
    api: "AddOffsetsToTxn",
    facts: { ...identity, group },
    write: (to) => writeIdentity(to, identity).string(group),
    read: readCode,
  };
}

export interface GroupOffset extends TopicPartition {
  readonly offset: number;
}

/** The group refuses a member that is not of its current generation (KIP-447). */
export function txnOffsetCommit(
  identity: TransactionalIdentity,
  member: MemberIdentity,
  offsets: readonly GroupOffset[],
): KafkaRequest<readonly PartitionCode[]> {
  const { transactionalId, producerId, epoch } = identity;
  const { group, memberId, generation } = member;
  return {
    api: "TxnOffsetCommit",
    facts: { ...identity, ...member, offsets },
    write: (to) => {
      to.noTags(); // request header
      to.compactString(transactionalId).compactString(group).int64(producerId).int16(epoch);
      to.int32(generation).compactString(memberId).compactString(NO_INSTANCE_ID);
      writeByTopicCompactly(to, offsets, ({ partition, offset }) => {
        const anyLeaderEpoch = -1;
        to.int32(partition).int64(offset).int32(anyLeaderEpoch).compactString(null).noTags();
      });
      to.noTags();
    },
    read: (from) => {
      from.skipTags(); // answer header
      from.int32(); // throttle time
      return readByTopicCompactly(from, (topic) => ({
        topic,
        partition: from.int32(),
        errorCode: from.int16(),
      }));
    },
  };
}

export function endTxn(
  identity: TransactionalIdentity,
  isCommit: boolean,
): KafkaRequest<{ readonly errorCode: number }> {
  return {
    api: "EndTxn",
    facts: { ...identity, isCommit },
    write: (to) => writeIdentity(to, identity).int8(isCommit ? 1 : 0),
    read: readCode,
  };
}

interface TransactionState {
  readonly errorCode: number;
  /** Kafka's name: Empty, Ongoing, PrepareCommit, CompleteCommit, PrepareAbort, CompleteAbort, … */
  readonly state: string;
  /** The partitions that an ongoing transaction writes to. */
  readonly places: readonly TopicPartition[];
}

/** Asks the coordinator how the last transaction of this id ended. Brokers before Kafka 3.0 cannot answer. */
export function describeTransaction(transactionalId: string): KafkaRequest<readonly TransactionState[]> {
  return {
    api: "DescribeTransactions",
    facts: { transactionalId },
    write: (to) => {
      to.noTags(); // request header
      to.compactArray([transactionalId], (id) => to.compactString(id)).noTags();
    },
    read: (from) => {
      from.skipTags(); // answer header
      from.int32(); // throttle time
      return from.compactArray(() => {
        const errorCode = from.int16();
        from.compactString(); // the id
        const state = from.compactString() ?? "";
        from.raw(4 + 8 + 8 + 2); // timeout, start, producer id, epoch
        const places = from.compactArray(() => {
          const topic = from.compactString() ?? "";
          const partitions = from.compactArray(() => from.int32());
          from.skipTags();
          return partitions.map((partition) => ({ topic, partition }));
        });
        from.skipTags();
        return { errorCode, state, places: places.flat() };
      });
    },
  };
}

interface PartitionProducers extends PartitionCode {
  /** The producers whose transaction the partition does not know to have ended. */
  readonly undecided: readonly number[];
}

/** Asks the leader for the producers that have written to its partitions. Brokers before Kafka 2.8 cannot answer. */
export function describeProducers(
  places: readonly TopicPartition[],
): KafkaRequest<readonly PartitionProducers[]> {
  return {
    api: "DescribeProducers",
    facts: { places },
    write: (to) => {
      to.noTags(); // request header
      writeByTopicCompactly(to, places, ({ partition }) => to.int32(partition));
      to.noTags();
    },
    read: (from) => {
      from.skipTags(); // answer header
      from.int32(); // throttle time
      return readByTopicCompactly(from, (topic) => {
        const code = { topic, partition: from.int32(), errorCode: from.int16() };
        from.compactString(); // message
        const producers = from.compactArray(() => {
          const producerId = from.int64();
          from.raw(4 + 4 + 8 + 4); // epoch, last sequence, last timestamp, coordinator epoch
          const begins = from.int64(); // where its open transaction begins
          from.skipTags();
          return { producerId, begins };
        });
        const undecided = producers.flatMap(({ producerId, begins }) => (begins >= 0 ? [producerId] : []));
        return { ...code, undecided };
      });
    },
  };
}

interface ListedTransactions {
  readonly errorCode: number;
  readonly transactionalIds: readonly string[];
}

/** The ids that a coordinator knows of these producers. Brokers before Kafka 3.0 cannot answer. */
export function listTransactions(producerIds: readonly number[]): KafkaRequest<ListedTransactions> {
  return {
    api: "ListTransactions",
    facts: { producerIds },
    write: (to) => {
      to.noTags(); // request header
      to.compactArray([], () => undefined); // in any state
      to.compactArray(producerIds, (id) => to.int64(id)).noTags();
    },
    read: (from) => {
      from.skipTags(); // answer header
      from.int32(); // throttle time
      const errorCode = from.int16();
      from.compactArray(() => from.compactString()); // filters that the broker does not know
      const transactionalIds = from.compactArray(() => {
        const id = from.compactString() ?? "";
        from.int64(); // producer id
        from.compactString(); // state
        from.skipTags();
        return id;
      });
      return { errorCode, transactionalIds };
    },
  };
}

function writeIdentity(to: WireWriter, identity: TransactionalIdentity): WireWriter {
  return to.string(identity.transactionalId).int64(identity.producerId).int16(identity.epoch);
}

function readCodes(from: WireReader): readonly PartitionCode[] {
  from.int32(); // throttle time
  return readByTopic(from, (topic) => ({ topic, partition: from.int32(), errorCode: from.int16() }));
}
