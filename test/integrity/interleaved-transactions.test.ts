// Producers of the input use several concurrent transactions on the same partitions. Some commit, some abort, and one
// producer disappears, so that the broker ends its transaction. Only committed records are forecast, in partition
// order.

import assert from "node:assert/strict";
import type { Producer, Transaction } from "kafkajs";
import type { Observation } from "../../src/domain.ts";
import { Administrator } from "./support/administrator.ts";
import { partitions, toRecord } from "./support/load.ts";
import { Steps, series } from "./support/steps.ts";
import { type Story, tellStory } from "./support/story.ts";
import { until } from "./support/until.ts";

/** After which the broker aborts what is left open. */
const timeoutMs = 2_000;

class Producers {
  readonly #story: Story;
  readonly #administrator: Administrator;
  #opened = 0;

  constructor(story: Story, administrator: Administrator) {
    this.#story = story;
    this.#administrator = administrator;
  }

  async open(): Promise<Producer> {
    const producer = this.#administrator.kafka.producer({
      transactionalId: `${this.#story.group}-sensors-${this.#opened++}`,
      transactionTimeout: timeoutMs,
      maxInFlightRequests: 1,
      idempotent: true,
      retry: { initialRetryTime: 20 },
    });
    await producer.connect();
    this.#story.atEnd(() => producer.disconnect());
    return producer;
  }

  async send(transaction: Transaction, observations: readonly Observation[]): Promise<void> {
    const { input: topic } = this.#story;
    const messages = observations.map((observation) => {
      const { key, value, partition } = toRecord(topic, observation);
      return { key: key as Buffer, value: value as Buffer, partition: partition as number };
    });
    await transaction.send({ topic, messages });
  }
}

/** The same series and times, and values that would spoil every forecast from then on. */
function spoilt(observations: readonly Observation[]): Observation[] {
  return observations.map((observation) => ({ ...observation, values: [1e6] }));
}

tellStory("only committed observations of interleaved transactions are forecast, in order", async (story) => {
  const administrator = await Administrator.of(story);
  const producers = new Producers(story, administrator);
  const steps = new Steps(story);
  const [first, second, aborting] = [await producers.open(), await producers.open(), await producers.open()];
  await steps.send(4);
  const worker = await story.startReadyWorker();

  const isFirsts = (index: number) => index < series / 2;
  for (let round = 0; round < 6; round++) {
    const [one, other, never] = await Promise.all(
      [first, second, aborting].map((each) => each.transaction()),
    );
    const made = steps.make(4);
    const ofFirst = made.filter(({ seriesId }) => isFirsts(Number(seriesId.split("-")[1])));
    const ofSecond = made.filter((observation) => !ofFirst.includes(observation));
    const half = ofFirst.length / 2;
    await producers.send(never, spoilt(made));
    await producers.send(one, ofFirst.slice(0, half));
    await producers.send(other, ofSecond.slice(0, half));
    await producers.send(never, spoilt(made));
    await producers.send(one, ofFirst.slice(half));
    // Commits and aborts come in another order each time.
    const ends = [() => one.commit(), () => never.abort(), async () => undefined];
    if (round % 2 === 0) ends.reverse();
    await ends[0]();
    await producers.send(other, ofSecond.slice(half));
    for (const end of ends.slice(1)) await end();
    await other.commit();
    steps.sent.push(...made);
  }
  await story.untilAllSettled();

  // One is left open: what comes behind it waits until the broker has ended it.
  const abandoned = await (await producers.open()).transaction();
  await producers.send(abandoned, spoilt(steps.make(2)));
  await steps.send(4);
  assert.equal((await story.probe.openTransactions(story.input)).length, partitions);
  await until("the broker to end the abandoned transaction", async () => {
    return (await story.probe.openTransactions(story.input)).length === 0;
  });
  await story.untilAllSettled();

  // Aborted records at the end of a partition are no lag.
  const last = await aborting.transaction();
  await producers.send(last, spoilt(steps.make(2)));
  await last.abort();
  await story.untilAllSettled();
  await until("the worker to have read all of its input", async () => {
    return (await worker.metric("forecastnet_lag_records")) === 0;
  });
  await story.count(steps);
});
