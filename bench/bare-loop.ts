// The rival: the best plain loop one can write with kafkajs that consumes and produces exactly once. One
// transactional producer per partition, all partitions at once, batches as large as the worker's, and nothing
// to compute: what it writes lies ready, with as many records and bytes per input record as the worker's.

import type { EachBatchPayload, Message, Producer } from "kafkajs";
import { answerParent } from "./rig/child-task.ts";
import { byPartition, quietKafka } from "./rig/cluster.ts";

/** Bytes of key and value of one record. */
export type RecordSize = readonly [key: number, value: number];

export interface BareLoopQuestion {
  readonly bootstrap: string;
  readonly group: string;
  readonly input: string;
  readonly forecasts: string;
  readonly state: string;
  readonly batchRecords: number;
  /** What the worker wrote in one round, by partition. */
  readonly written: readonly WrittenSizes[];
}

export interface WrittenSizes {
  /** One per input record. */
  readonly forecasts: readonly RecordSize[];
  /** Fewer: a series that moved several times in a batch is stored once. */
  readonly states: readonly RecordSize[];
}

/** Deals out prepared records in the worker's proportion, round after round. */
class Prepared {
  readonly #forecasts: readonly Message[];
  readonly #states: readonly Message[];
  #inputs = 0;

  constructor({ forecasts, states }: WrittenSizes, partition: number) {
    this.#forecasts = forecasts.map((size) => prepare(size, partition));
    this.#states = states.map((size) => prepare(size, partition));
  }

  deal(inputs: number): { readonly forecasts: Message[]; readonly states: Message[] } {
    const from = this.#inputs;
    this.#inputs += inputs;
    return {
      forecasts: cyclicSlice(this.#forecasts, from, this.#inputs),
      states: cyclicSlice(this.#states, this.#statesAfter(from), this.#statesAfter(this.#inputs)),
    };
  }

  #statesAfter(inputs: number): number {
    return Math.floor((inputs * this.#states.length) / this.#forecasts.length);
  }
}

function prepare([keyBytes, valueBytes]: RecordSize, partition: number): Message {
  return { key: Buffer.alloc(keyBytes, "k"), value: Buffer.alloc(valueBytes, "v"), partition };
}

function cyclicSlice<T>(items: readonly T[], from: number, to: number): T[] {
  return Array.from({ length: to - from }, (_, i) => items[(from + i) % items.length]);
}

async function start(question: BareLoopQuestion): Promise<void> {
  const { bootstrap, group, input, batchRecords, written } = question;
  const kafka = quietKafka(bootstrap);
  const lanes = await Promise.all(
    written.map(async (sizes, partition) => ({
      producer: await connect(
        kafka.producer({ ...byPartition, transactionalId: `${group}-${partition}`, idempotent: true }),
      ),
      prepared: new Prepared(sizes, partition),
    })),
  );
  const consumer = kafka.consumer({ groupId: group, maxWaitTimeInMs: 50, readUncommitted: false });
  await consumer.connect();
  await consumer.subscribe({ topic: input, fromBeginning: true });
  await consumer.run({
    autoCommit: false,
    eachBatchAutoResolve: false,
    partitionsConsumedConcurrently: written.length,
    eachBatch: async (payload) => {
      const { messages, partition } = payload.batch;
      for (let from = 0; from < messages.length; from += batchRecords) {
        const { producer, prepared } = lanes[partition];
        const piece = messages.slice(from, from + batchRecords);
        await transact(producer, prepared.deal(piece.length), piece.at(-1)?.offset ?? "", payload, question);
      }
    },
  });
}

async function transact(
  producer: Producer,
  { forecasts, states }: ReturnType<Prepared["deal"]>,
  lastOffset: string,
  { batch, resolveOffset, heartbeat }: EachBatchPayload,
  question: BareLoopQuestion,
): Promise<void> {
  const transaction = await producer.transaction();
  const topicMessages = [
    { topic: question.forecasts, messages: forecasts },
    { topic: question.state, messages: states },
  ];
  await transaction.sendBatch({ topicMessages, acks: -1 });
  const partitions = [{ partition: batch.partition, offset: String(Number(lastOffset) + 1) }];
  await transaction.sendOffsets({
    consumerGroupId: question.group,
    topics: [{ topic: batch.topic, partitions }],
  });
  await transaction.commit();
  resolveOffset(lastOffset);
  await heartbeat();
}

async function connect(producer: Producer): Promise<Producer> {
  await producer.connect();
  return producer;
}

answerParent(start);
