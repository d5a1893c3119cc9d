// What a fetch answer holds, and which of its records count: those of committed transactions and of none. A broker
// that is asked for committed data still sends the records of aborted transactions, with a list of them.

import type { StoredRecord } from "../log.ts";

export interface RawMessage {
  readonly offset: string;
  readonly timestamp: string;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: Record<string, Buffer>;
  readonly isControlRecord: boolean;
  readonly batchContext: {
    readonly producerId: string;
    readonly inTransaction: boolean;
    readonly firstOffset: string;
    readonly lastOffsetDelta: number;
  };
}

export interface FetchedPartition {
  readonly partition: number;
  /** The end of what is written. */
  readonly highWatermark: string;
  /** The end of what is decided: the first record of the earliest open transaction, if any is open. */
  readonly lastStableOffset: string;
  readonly abortedTransactions: readonly { readonly producerId: string; readonly firstOffset: string }[];
  readonly messages: readonly RawMessage[];
}

/** A broker answers with whole batches, so that the first may begin before the offset asked for. */
export function committedOf(fetched: FetchedPartition, fromOffset: number): StoredRecord[] {
  const aborted = fetched.abortedTransactions
    .map(({ producerId, firstOffset }) => ({ producerId, firstOffset: Number(firstOffset) }))
    .sort((a, b) => a.firstOffset - b.firstOffset);
  let nextAborted = 0;
  const abortingProducers = new Set<string>();
  const records: StoredRecord[] = [];
  for (const message of fetched.messages) {
    const offset = Number(message.offset);
    for (; nextAborted < aborted.length; nextAborted++) {
      const transaction = aborted[nextAborted];
      if (transaction === undefined || transaction.firstOffset > offset) break;
      abortingProducers.add(transaction.producerId);
    }
    const { producerId, inTransaction } = message.batchContext;
    if (message.isControlRecord) {
      // A control record's key is version, then type; type 0 ends an aborted transaction.
      if (message.key?.readInt16BE(2) === 0) abortingProducers.delete(producerId);
      continue;
    }
    if (offset < fromOffset || (inTransaction && abortingProducers.has(producerId))) continue;
    records.push({
      key: message.key,
      value: message.value,
      headers: message.headers,
      offset,
      timestampMs: Number(message.timestamp),
    });
  }
  return records;
}
