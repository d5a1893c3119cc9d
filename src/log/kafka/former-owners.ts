// Ends transactions of former owners that block a partition for its new owner. A transaction carries several partitions under
// the id of one of them, so the new epoch of a partition's own id does not end all of them. Usually the new owner of that
// other partition does. If it does not, the leaders tell which producers have undecided records, the coordinators tell their
// ids, and a session of each id of our group ends what it left.

import { setTimeout as delay } from "node:timers/promises";
import { assertAnswered, type Link } from "./cluster-link.ts";
import { findHanging } from "./hanging-transactions.ts";
import { assertSuccess } from "./kafka-errors.ts";
import { type SessionOptions, TransactionSession } from "./transaction-session.ts";
import type { TopicPartition } from "./wire/protocol.ts";
import { describeProducers, listTransactions } from "./wire/transaction-requests.ts";

const TOPIC_AUTHORIZATION_FAILED = 29;
/** How long the new owners of other partitions get to do it first. */
const OTHERS_FIRST_MS = [100, 200, 400, 800];

/** Resolves when nothing blocks these places any more, or when what does is not ours to end. */
export async function endFormerTransactions(
  link: Link,
  suspects: readonly TopicPartition[],
  options: SessionOptions,
): Promise<void> {
  let blocked = suspects;
  for (const ms of OTHERS_FIRST_MS) {
    if (blocked.length === 0 || options.lost.aborted) return;
    await delay(ms);
    blocked = await findHanging(link, blocked);
  }
  for (const number of await formerCarriers(link, blocked, options.group)) {
    const previous = { outcome: null, places: blocked };
    const session = await TransactionSession.open({ ...options, partition: number, previous });
    await session.close();
  }
}

/** The input partitions of our group under whose ids somebody left undecided records there. */
async function formerCarriers(
  link: Link,
  blocked: readonly TopicPartition[],
  group: string,
): Promise<readonly number[]> {
  const producerIds = await undecidedProducers(link, blocked);
  if (producerIds.length === 0) return [];
  const numbers = new Set<number>();
  for (const broker of link.brokers()) {
    if (!(await link.supports(broker, "ListTransactions"))) continue;
    const { errorCode, transactionalIds } = await link.ask(broker, listTransactions(producerIds));
    assertSuccess(errorCode, "ListTransactions");
    for (const id of transactionalIds) {
      const number = id.slice(group.length + 1);
      if (id.startsWith(`${group}-`) && /^\d+$/.test(number)) numbers.add(Number(number));
    }
  }
  return [...numbers];
}

async function undecidedProducers(link: Link, places: readonly TopicPartition[]): Promise<readonly number[]> {
  const found = new Set<number>();
  for (const place of places) {
    const leader = link.leaderOf(place);
    if (!(await link.supports(leader, "DescribeProducers"))) continue;
    const answers = await link.ask(leader, describeProducers([place]));
    // Of a topic that we may write to but not read. The transaction has undecided records in the state topic, too.
    if (answers.some(({ errorCode }) => errorCode === TOPIC_AUTHORIZATION_FAILED)) continue;
    assertAnswered([place], answers, "DescribeProducers");
    for (const { undecided } of answers) for (const producerId of undecided) found.add(producerId);
  }
  return [...found];
}
