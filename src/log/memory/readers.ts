// Readers of several partitions, served in turn so that a busy one does not starve the others.
import type { StoredBatch } from "../log.ts";
import type { MemoryPartition } from "./partition.ts";

export interface Reader {
  readonly topic: string;
  readonly partition: number;
  readonly source: MemoryPartition;
  /** Offset of the next record to read. */
  position: number;
}

export class Readers {
  readonly #readers: readonly Reader[];
  #turn = 0;

  constructor(readers: readonly Reader[]) {
    this.#readers = readers;
  }

  /** The next batch of whichever reader has one; undefined when all have read to the end. */
  next(maxRecords: number): StoredBatch | undefined {
    for (let tried = 0; tried < this.#readers.length; tried++) {
      const reader = this.#readers[this.#turn];
      this.#turn = (this.#turn + 1) % this.#readers.length;
      const records = reader.source.read(reader.position, maxRecords);
      if (records.length === 0) continue;
      reader.position = records[records.length - 1].offset + 1;
      return { topic: reader.topic, partition: reader.partition, records, nextOffset: reader.position };
    }
    return undefined;
  }

  get lag(): number {
    return this.#readers.reduce((sum, { source, position }) => sum + source.countFrom(position), 0);
  }
}
