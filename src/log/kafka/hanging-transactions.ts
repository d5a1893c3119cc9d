// Hanging transactions. When Kafka's coordinator ends a transaction, it treats a partition without a leader as
// deleted and writes no marker there (TransactionMarkerChannelManager, seen on 4.3). After a power cut this is the
// rule rather than the exception. Such records stay undecided: readers of committed data wait behind them forever,
// and the next transaction of the same producer decides them along with its own, so aborted forecasts could come
// back.
//
// Whoever takes a new epoch therefore finds hanging records and ends them as their transaction ended: an empty
// transaction of the same producer writes the missing marker. Where nothing hangs, such a marker has no effect. A new
// transaction waits until the previous one is decided; if it were aborted, hanging records would be aborted with it.

import { setTimeout as delay } from "node:timers/promises";
import { type Link, partitionName } from "./cluster-link.ts";
import { assertSuccess, NoAnswerError } from "./kafka-errors.ts";
import { askOffsets } from "./offset-ranges.ts";
import type { ListedOffset, TopicPartition } from "./wire/protocol.ts";
import { describeTransaction } from "./wire/transaction-requests.ts";

export type TransactionOutcome = "committed" | "aborted";

/** The last transaction before an epoch. */
export interface PreviousTransaction {
  /** Null while unknown. */
  outcome: TransactionOutcome | null;
  /** Where it wrote, as far as it is known. */
  places: readonly TopicPartition[];
}

/** A partition that a transaction wrote to, with the offset of one of its records. */
export interface WrittenOffset extends TopicPartition {
  readonly offset: number;
}

const TRANSACTIONAL_ID_NOT_FOUND = 105;
/** Pauses between checks of a transaction that was just committed; its markers are being written. */
const DECIDED_SOON_MS = [2, 4, 8, 16, 32, 64, 128, 256];
/** Pauses between checks for hanging records; an active transaction of another producer advances meanwhile. */
const CHECK_AGAIN_MS = [20, 80, 200];

interface TransactionQuery {
  readonly link: Link;
  readonly coordinator: string;
  readonly transactionalId: string;
  readonly outputs: readonly string[];
}

/**
 * Learns how the last transaction of the id ended, or will end when its producer is fenced. Must be asked before the
 * fence, which makes the coordinator forget it. Learns nothing if there is none or the coordinator does not know.
 */
export async function learnPrevious(
  previous: PreviousTransaction,
  { link, coordinator, transactionalId, outputs }: TransactionQuery,
): Promise<void> {
  if (!(await link.supports(coordinator, "DescribeTransactions"))) return;
  const [described] = await link.ask(coordinator, describeTransaction(transactionalId));
  if (described === undefined || described.errorCode === TRANSACTIONAL_ID_NOT_FOUND) return;
  assertSuccess(described.errorCode, "DescribeTransactions");
  const { state, places } = described;
  if (state === "Empty") return;
  previous.outcome = state === "PrepareCommit" || state === "CompleteCommit" ? "committed" : "aborted";
  const open = places.filter(({ topic }) => outputs.includes(topic));
  if (open.length > 0) previous.places = open;
}

/** Waits until the records at these offsets are decided. Throws if that takes too long; a new epoch then follows. */
export async function waitUntilDecided(link: Link, written: readonly WrittenOffset[]): Promise<void> {
  let undecided = written;
  for (const pauseMs of DECIDED_SOON_MS) {
    const endByName = offsetByName(await askOffsets(link, undecided, "stable"));
    undecided = undecided.filter((place) => (endByName.get(partitionName(place)) as number) <= place.offset);
    if (undecided.length === 0) return;
    await delay(pauseMs);
  }
  throw new NoAnswerError(
    `the previous transaction has not ended on ${undecided.map(partitionName).join(", ")}`,
  );
}

/** The partitions whose undecided records stay undecided over several checks. */
export async function findHanging(
  link: Link,
  places: readonly TopicPartition[],
): Promise<readonly TopicPartition[]> {
  let suspects = await findUndecided(link, places);
  for (const pauseMs of CHECK_AGAIN_MS) {
    if (suspects.length === 0) break;
    await delay(pauseMs);
    const stillByName = offsetByName(await findUndecided(link, suspects));
    suspects = suspects.filter((suspect) => stillByName.get(partitionName(suspect)) === suspect.offset);
  }
  return suspects.map(({ topic, partition }) => ({ topic, partition }));
}

/** The partitions with undecided records, each with the offset of the first one. */
async function findUndecided(
  link: Link,
  places: readonly TopicPartition[],
): Promise<readonly ListedOffset[]> {
  // In this order, so that a record decided between the two answers does not look undecided.
  const writtenByName = offsetByName(await askOffsets(link, places, "latest"));
  const decided = await askOffsets(link, places, "stable");
  return decided.filter((place) => place.offset < (writtenByName.get(partitionName(place)) as number));
}

function offsetByName(offsets: readonly ListedOffset[]): ReadonlyMap<string, number> {
  return new Map(offsets.map((listed) => [partitionName(listed), listed.offset]));
}
