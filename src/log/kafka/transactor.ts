// The commits of one owned partition: takes ownership, knows the positions, commits, and retries. Partitions that commit at
// the same time share a transaction (`shared-transactions.ts`). A session (`transaction-session.ts`) sends the requests,
// each of them once.
//
// Any answer other than success, or no answer, discards the session. A new producer epoch then ends whatever
// transaction was open and refuses every request still in flight. The newest positions record shows whether the
// commit took effect; if not, the commit is made again, alone.

import type { Outgoing } from "../../domain.ts";
import { ForecastnetError, PartitionLostError } from "../../runtime/errors.ts";
import { backoff } from "../../runtime/waiting.ts";
import type { Commit } from "../log.ts";
import { endFormerTransactions } from "./former-owners.ts";
import {
  isFenced,
  isRetriable,
  isTooLarge,
  logFailure,
  type NeededRights,
  reasonOf,
  reasonWithRights,
  rightOnTopics,
} from "./kafka-errors.ts";
import {
  contradictionError,
  fetchPositions,
  type OpenedTopic,
  openedTopics,
  type PositionRule,
  type PositionSources,
  reconcile,
  recreatedTopics,
  type StoredPositions,
  toPositionsRecord,
} from "./positions.ts";
import { largestRecordError } from "./producer.ts";
import type { SharedTransactions } from "./shared-transactions.ts";
import { type SessionOptions, TransactionAborted, TransactionSession } from "./transaction-session.ts";
import type { GroupOffset } from "./wire/transaction-requests.ts";

/** How often contradicting positions are checked again before they are reported: a coordinator may still be loading. */
const CHECKS_BEFORE_REPORT = 4;

export interface TransactorOptions extends Omit<SessionOptions, "previous"> {
  /** The compacted topic that holds the positions record. */
  readonly positionsTopic: string;
  readonly positionRule: PositionRule;
  /** Those of all partitions of this worker. */
  readonly transactions: SharedTransactions;
  /** Reads the newest committed positions record of the partition. */
  readPositions(): Promise<StoredPositions | null>;
  /** Resolves when the group has confirmed this member after the call. */
  confirmMembership(): Promise<void>;
  onTrouble(reason: string): void;
  /** Called after every check until the positions agree, and then with null. */
  onContradiction(contradiction: ForecastnetError | null): void;
}

/** Where the position in an input moves. */
type Move = Pick<Commit, "topic" | "nextOffset">;

export class Transactor {
  readonly #options: TransactorOptions;
  #session: TransactionSession | null = null;
  /** The positions of the last commit. */
  #stored: StoredPositions | null = null;
  /** Prefix of this owner's commit ids. Unique, because an epoch is assigned only once. */
  #owner = "";
  #commits = 0;
  readonly #previous: SessionOptions["previous"] = { outcome: null, places: [] };

  constructor(options: TransactorOptions) {
    this.#options = options;
  }

  /** Takes over the partition and returns the position of each topic. */
  async open(topics: readonly string[]): Promise<ReadonlyMap<string, OpenedTopic>> {
    const { positionRule, onContradiction } = this.#options;
    for (let check = 0; ; check++) {
      const taken = await this.#retry("could not be opened", () => this.#takeOver(topics));
      const { stored, group, topicIdByTopic, stateTopicId } = taken;
      const recreated = recreatedTopics(stored, topicIdByTopic, stateTopicId);
      const lasting = topics.filter((topic) => !recreated.has(topic));
      const found = reconcile(lasting, stored?.positionByTopic ?? null, group, positionRule);
      if (found.contradictions.length === 0) {
        onContradiction(null);
        const { producerId, epoch } = this.#openSession().identity;
        this.#owner = `${producerId}-${epoch}`;
        const known = [...found.positionByTopic].filter(
          (entry): entry is [string, number] => entry[1] !== null,
        );
        this.#stored = {
          commitId: stored?.commitId ?? "",
          positionByTopic: new Map(known),
          topicIdByTopic,
          stateTopicId,
        };
        return openedTopics(topics, taken, found, recreated);
      }
      if (check >= CHECKS_BEFORE_REPORT)
        onContradiction(contradictionError(found.contradictions, this.#options));
      await backoff(check, this.#options.lost);
    }
  }

  /** Writes the records and moves the position in one transaction, exactly once. */
  commit({ records, topic, nextOffset }: Commit): Promise<void> {
    return this.#commit(records, { topic, nextOffset });
  }

  /** Writes the records in one transaction, exactly once, and moves no position. */
  write(records: readonly Outgoing[]): Promise<void> {
    return this.#commit(records, null);
  }

  async close(): Promise<void> {
    const session = this.#session;
    this.#session = null;
    // An error while closing changes nothing, because no transaction depends on this connection any more.
    await session?.close().catch((error: unknown) => this.#options.onTrouble(reasonOf(error)));
  }

  async #commit(records: readonly Outgoing[], move: Move | null): Promise<void> {
    const { lost, onTrouble } = this.#options;
    const next = this.#nextPositions(move);
    const all = [...records, this.#recordOf(next)];
    let isAlone = false;
    for (let attempt = 0; ; attempt++) {
      try {
        if (this.#session !== null || !(await this.#resume(next.commitId)))
          await this.#transact(all, this.#positionIn(next, move), isAlone);
        break;
      } catch (error) {
        if (error instanceof TransactionAborted) {
          await this.#confirmMembership();
          continue;
        }
        await this.close();
        if (lost.aborted) throw this.#lostError();
        await this.#throwUnlessRetriable(error, all);
        onTrouble(reasonOf(error));
        isAlone = true;
        await backoff(attempt, lost);
      }
    }
    this.#stored = next;
  }

  #nextPositions(move: Move | null): StoredPositions {
    if (this.#stored === null) throw new Error("open() comes before the first commit");
    const positionByTopic = new Map(this.#stored.positionByTopic);
    if (move !== null) positionByTopic.set(move.topic, move.nextOffset);
    return { ...this.#stored, commitId: `${this.#owner}-${this.#commits++}`, positionByTopic };
  }

  /** The position that moves. If none does, one that stays. Null if the partition has none yet. */
  #positionIn({ positionByTopic }: StoredPositions, move: Move | null): GroupOffset | null {
    if (move !== null) return this.#offsetOf(move.topic, move.nextOffset);
    for (const [topic, offset] of positionByTopic) return this.#offsetOf(topic, offset);
    return null;
  }

  #offsetOf(topic: string, offset: number): GroupOffset {
    return { topic, partition: this.#options.partition, offset };
  }

  #recordOf(positions: StoredPositions): Outgoing {
    const { positionsTopic, partition } = this.#options;
    return toPositionsRecord(positions, positionsTopic, partition);
  }

  /**
   * Takes a new epoch after a failure. Returns true if the commit turns out to have taken effect. The transaction may have been
   * under the id of another partition of this worker: the positions are read once it has ended.
   */
  async #resume(commitId: string): Promise<boolean> {
    await this.#fenceAsMember();
    const newest = (await this.#options.readPositions())?.commitId ?? "";
    if (newest === commitId) return true;
    if (newest !== this.#stored?.commitId) throw this.#lostError("another owner has committed");
    return false;
  }

  async #transact(
    records: readonly Outgoing[],
    position: GroupOffset | null,
    isAlone: boolean,
  ): Promise<void> {
    const { partition, lost, transactions } = this.#options;
    if (lost.aborted) throw this.#lostError();
    const part = { partition, records, lost, session: this.#openSession() };
    await (position === null || isAlone
      ? transactions.commitAlone({ ...part, position })
      : transactions.commit({ ...part, position }));
  }

  #openSession(): TransactionSession {
    if (this.#session === null) throw new Error("the transaction's session is closed");
    return this.#session;
  }

  /** A member that the group has dropped must not fence its successor. */
  async #fenceAsMember(): Promise<void> {
    await this.#confirmMembership();
    await this.#fence();
  }

  async #confirmMembership(): Promise<void> {
    const { lost, confirmMembership } = this.#options;
    await confirmMembership();
    if (lost.aborted) throw this.#lostError();
  }

  /** A new epoch ends an earlier owner's open transaction and refuses its later requests. */
  async #fence(): Promise<void> {
    await this.close();
    this.#session = await TransactionSession.open({ ...this.#options, previous: this.#previous });
  }

  /** Fences first, because an earlier owner could still move the positions. */
  async #takeOver(topics: readonly string[]): Promise<PositionSources> {
    await this.#fence();
    const { link, suspects } = this.#openSession();
    await endFormerTransactions(link, suspects, { ...this.#options, previous: this.#previous });
    return fetchPositions(link, topics, this.#options);
  }

  /** Throws if a new epoch cannot help. A fence does not prove another owner: a timed-out transaction looks the same. */
  async #throwUnlessRetriable(error: unknown, records: readonly Outgoing[]): Promise<void> {
    if (error instanceof PartitionLostError) throw error;
    if (isRetriable(error) || isFenced(error)) return;
    // Ends the transaction, because subscribers would otherwise wait behind it until it times out. A later commit
    // takes a new epoch and first checks whether this one took effect after all.
    await this.#fenceAsMember().catch((failure: unknown) => this.#options.onTrouble(reasonOf(failure)));
    await this.close();
    if (this.#options.lost.aborted) throw this.#lostError();
    if (error instanceof ForecastnetError) throw error;
    if (isTooLarge(error)) throw await largestRecordError(records, this.#options.findTopic, error);
    const topics = records.map(({ topic }) => topic);
    throw this.#failure("could not commit", error, topics);
  }

  /** Retries for as long as the partition is ours. */
  async #retry<T>(failure: string, act: () => Promise<T>): Promise<T> {
    const { lost, onTrouble } = this.#options;
    for (let attempt = 0; !lost.aborted; attempt++) {
      try {
        const result = await act();
        if (!lost.aborted) return result;
      } catch (error) {
        await this.close();
        if (lost.aborted) break;
        // Two owners that open at the same time fence each other. The group decides which one stays.
        if (!isRetriable(error) && !isFenced(error))
          throw this.#failure(failure, error, this.#options.outputs);
        onTrouble(reasonWithRights(error, this.#neededRights(this.#options.outputs)));
        await backoff(attempt, lost);
      }
    }
    throw this.#lostError();
  }

  #neededRights(topics: readonly string[]): NeededRights {
    const { group } = this.#options;
    return {
      group: `Read on group ${group}`,
      transactionalId: `Write on transactional ids that start with ${group}-`,
      topic: rightOnTopics("Write", topics),
    };
  }

  #failure(what: string, cause: unknown, topics: readonly string[]): ForecastnetError {
    const { partition } = this.#options;
    const reason = reasonWithRights(cause, this.#neededRights(topics));
    return logFailure(`partition ${partition} ${what}: ${reason}`, cause, { partition });
  }

  #lostError(why = "its ownership ended"): PartitionLostError {
    return new PartitionLostError(this.#options.partition, why);
  }
}
