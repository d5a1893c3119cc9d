// The kafkajs consumer of a group, set up for lanes: it never commits, never waits for a handler, and shares
// partitions by our own rule.

import type { Consumer, EachBatchPayload, Kafka } from "kafkajs";
import { coPartitionAssigner } from "./co-partition-assigner.ts";

export interface GroupConsumerOptions {
  readonly kafka: Kafka;
  readonly group: string;
  readonly inputs: readonly string[];
  readonly sessionTimeoutMs: number;
  /** The partitions this member holds. Part of every request to join; a throw refuses to send it. */
  held(): readonly number[];
  /** Whether to join again after the connection was lost. */
  mayRestart(): boolean;
}

export function createGroupConsumer(options: GroupConsumerOptions): Consumer {
  const { kafka, group, inputs, sessionTimeoutMs, held, mayRestart } = options;
  return kafka.consumer({
    groupId: group,
    sessionTimeout: sessionTimeoutMs,
    rebalanceTimeout: 2 * sessionTimeoutMs,
    heartbeatInterval: Math.floor(sessionTimeoutMs / 4),
    // Also how long a resumed partition may wait until it is part of a fetch again.
    maxWaitTimeInMs: 50,
    readUncommitted: false,
    allowAutoTopicCreation: false,
    partitionAssigners: [coPartitionAssigner(inputs, held)],
    retry: {
      initialRetryTime: 50,
      maxRetryTime: 2_000,
      retries: 10,
      restartOnFailure: async () => mayRestart(),
    },
  });
}

/** Positions are the lanes' business: nothing is committed or marked as read here. */
export function runGroupConsumer(
  consumer: Consumer,
  onBatch: (payload: EachBatchPayload) => void,
): Promise<void> {
  return consumer.run({
    autoCommit: false,
    eachBatchAutoResolve: false,
    eachBatch: async (payload) => onBatch(payload),
  });
}
