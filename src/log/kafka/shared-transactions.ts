// The transactions of a worker. What its partitions commit at the same time shares one transaction, because a transaction
// costs the worker and its brokers about the same whatever it carries. One is under way at a time; what arrives meanwhile
// shares the next one.
//
//   partition 3 ──┐
//   partition 5 ──┼─► one transaction, in the session of one of them ─► answers to all
//   partition 8 ──┘
//
// A partition whose transaction failed goes alone the next time and beside the shared ones, so that it neither delays the
// others nor takes them down again.

import type { TransactionOutcome } from "./hanging-transactions.ts";
import { reasonOf } from "./kafka-errors.ts";
import { TransactionAborted, type TransactionPart, type TransactionSession } from "./transaction-session.ts";
import type { MemberIdentity } from "./wire/cluster-requests.ts";
import type { GroupOffset } from "./wire/transaction-requests.ts";

/** A larger transaction would keep small partitions waiting for large ones. */
const SHARED_BYTES = 8 * 1024 * 1024;

/** Failed together with other partitions. Whose fault it was shows when each is tried alone. */
export class SharedFailure extends Error {
  /** Read by `isRetriable`. */
  readonly retriable = true;

  constructor(cause: unknown, partitions: number) {
    super(`a transaction of ${partitions} partitions failed: ${reasonOf(cause)}`);
    this.name = "SharedFailure";
  }
}

/** When shared transactions begin and end. */
interface TransactionWatcher {
  began(): void;
  ended(): void;
}

interface SharedTransactionsOptions {
  /** Null while this process is not a member of the group. */
  member(): MemberIdentity | null;
  readonly watcher: TransactionWatcher;
  onEnd(outcome: TransactionOutcome): void;
}

/** What one partition writes, and its session. A transaction runs in the session of one of its partitions. */
interface LoneContribution extends TransactionPart {
  readonly session: TransactionSession;
}

/** Always with a position, because the session may be another partition's. */
export interface Contribution extends LoneContribution {
  readonly position: GroupOffset;
}

interface Waiting {
  readonly contribution: Contribution;
  readonly bytes: number;
  resolve(): void;
  reject(error: unknown): void;
}

export class SharedTransactions {
  readonly #options: SharedTransactionsOptions;
  #waiting: Waiting[] = [];
  #isUnderWay = false;
  #isDue = false;
  /** The partition whose session carried the last shared transaction: it may still be completing. */
  #lastCarrier = -1;

  constructor(options: SharedTransactionsOptions) {
    this.#options = options;
  }

  /** Resolves when the transaction is committed. After a rejection, only a `TransactionAborted` says how it ended. */
  commit(contribution: Contribution): Promise<void> {
    return new Promise((resolve, reject) => {
      const bytes = contribution.records.reduce((sum, { value }) => sum + (value?.length ?? 0), 0);
      this.#waiting.push({ contribution, bytes, resolve, reject });
      this.#beginSoon();
    });
  }

  /** Like `commit`, beside the shared transactions. */
  commitAlone(contribution: LoneContribution): Promise<void> {
    return this.#transact(contribution.session, [contribution]);
  }

  /** In the next turn of the event loop, so that partitions that were computed in this one share the transaction. */
  #beginSoon(): void {
    if (this.#isDue || this.#isUnderWay || this.#waiting.length === 0) return;
    this.#isDue = true;
    setImmediate(() => {
      this.#isDue = false;
      void this.#run();
    });
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    const { watcher } = this.#options;
    this.#isUnderWay = true;
    watcher.began();
    await this.#runOne();
    this.#isUnderWay = false;
    watcher.ended();
    this.#beginSoon();
  }

  async #runOne(): Promise<void> {
    const together = this.#takeWaiting();
    if (together.length === 0) return;
    const contributions = together.map(({ contribution }) => contribution);
    try {
      await this.#transact(this.#chooseCarrier(contributions), contributions);
      for (const { resolve } of together) resolve();
    } catch (error) {
      const isOurs = together.length === 1 || error instanceof TransactionAborted;
      const reason = isOurs ? error : new SharedFailure(error, together.length);
      for (const { reject } of together) reject(reason);
    }
  }

  /** As many as fit. Those that were lost meanwhile are rejected. */
  #takeWaiting(): readonly Waiting[] {
    const taken: Waiting[] = [];
    let bytes = 0;
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      const { partition, lost } = next.contribution;
      bytes += next.bytes;
      if (taken.length > 0 && bytes > SHARED_BYTES) break;
      this.#waiting.shift();
      if (lost.aborted) next.reject(new TransactionAborted(`partition ${partition} was lost`));
      else taken.push(next);
    }
    return taken;
  }

  /** Alternates between the lowest partitions, so that few producers write to many partitions and none waits for its last transaction. */
  #chooseCarrier(contributions: readonly Contribution[]): TransactionSession {
    const inOrder = contributions.toSorted((one, other) => one.partition - other.partition);
    const chosen = inOrder.find(({ partition }) => partition !== this.#lastCarrier) ?? inOrder[0];
    this.#lastCarrier = chosen.partition;
    return chosen.session;
  }

  async #transact(session: TransactionSession, parts: readonly TransactionPart[]): Promise<void> {
    const { member, onEnd } = this.#options;
    try {
      const identity = member();
      if (identity === null) throw new TransactionAborted("this process is not a member of the group");
      await session.transact(parts, identity);
      onEnd("committed");
    } catch (error) {
      onEnd("aborted");
      throw error;
    }
  }
}
