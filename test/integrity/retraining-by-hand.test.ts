// While a worker runs, an operator looks at the models, orders a training and rolls it back. The commands run in
// separate processes, and their exit codes report the result.

import assert from "node:assert/strict";
import type { ModelEventRecord } from "../../src/log/codec/schemas.generated.ts";
import { countForecasts } from "./support/model-accounts.ts";
import { EventWatch, history, learning, readModelTopics } from "./support/model-story.ts";
import { noisy, Sensors, wave } from "./support/sensors.ts";
import { type Story, tellStory } from "./support/story.ts";
import { until } from "./support/until.ts";

const seriesId = "series-0";

tellStory(
  "an operator lists, shows, retrains and rolls back models while the worker runs",
  async (story) => {
    const laws = { [seriesId]: noisy(wave(3, 8), 0.4, 1), "series-1": noisy(wave(4, 9), 0.4, 2) };
    const sensors = new Sensors(story.log, story.input, laws);
    assert.equal((await story.command("models", "list")).code, 1, "no worker has created the topics yet");
    await story.startReadyWorker();
    const watch = EventWatch.over(story);
    await sensors.send(history);
    await until("both series to have a model", () => watch.count("PROMOTED") === 2);
    const isConfirmed = () => watch.count("CONFIRMED") === 2;
    await sensors.sendUntil("the models to pass their probation", isConfirmed, 400);
    await story.untilAllSettled();
    const [, { toVersion: first }] = watch.of(seriesId);
    await look(story, first as string);

    sensors.change(seriesId, noisy(wave(9, 11), 0.4, 3));
    await sensors.send(150);
    await story.untilAllSettled();
    const order = async (code: number, ...words: readonly string[]): Promise<Told> => {
      const end = await story.command("models", ...words);
      assert.equal(end.code, code, `models ${words.join(" ")}: ${end.out}${end.err}`);
      await sensors.send(3);
      await story.untilAllSettled();
      return newest(story);
    };
    const { kind, toVersion: second } = await order(0, "retrain", seriesId);
    assert.equal(kind, "PROMOTED");
    assert.notEqual(second, first);
    const back = { kind: "ROLLED_BACK", fromVersion: second, toVersion: first };
    assert.deepEqual(await order(0, "rollback", seriesId), back);
    // The next worker knows of it as well.
    await story.endWorkers();
    await story.startReadyWorker();
    await sensors.send(3);
    const cold = { kind: "ROLLED_BACK", fromVersion: first, toVersion: null };
    assert.deepEqual(await order(0, "rollback", seriesId), cold);
    const refused = { kind: "REFUSED", fromVersion: null, toVersion: null };
    assert.deepEqual(await order(1, "rollback", seriesId), refused, "no predecessor is left");

    await watch.stop();
    await story.endWorkers();
    const topics = await readModelTopics(story);
    assert.deepEqual(topics.waiting, [], "no order is pending");
    await countForecasts(story, sensors, topics);
    const others = watch.of("series-1").map(({ kind }) => kind);
    assert.deepEqual(others, ["REQUESTED", "PROMOTED", "CONFIRMED"], "the other series is not affected");
  },
  // Nothing but people decides after the first model.
  () => learning({ where: "worker", coverageBand: 1 }, { driftRatio: 1000 }),
);

type Told = Pick<ModelEventRecord, "kind" | "fromVersion" | "toVersion">;

/** The newest decision about the series. */
async function newest(story: Story): Promise<Told> {
  const { events } = await readModelTopics(story);
  const told = events.filter(({ modelKey }) => modelKey === seriesId);
  const { kind, fromVersion, toVersion } = told[told.length - 1];
  return { kind, fromVersion, toVersion };
}

async function look(story: Story, version: string): Promise<void> {
  const list = await story.command("models", "list", "--json");
  assert.equal(list.code, 0, list.err);
  const rows: { modelKey: string; phase: string; version: string }[] = JSON.parse(list.out);
  assert.deepEqual(rows.map(({ modelKey, phase }) => `${modelKey} ${phase}`).sort(), [
    "series-0 champion",
    "series-1 champion",
  ]);
  assert.equal(rows.find(({ modelKey }) => modelKey === seriesId)?.version, version);
  const show = await story.command("models", "show", seriesId);
  assert.equal(show.code, 0, show.err);
  for (const word of [version, "REQUESTED", "PROMOTED", "CONFIRMED"])
    assert.ok(show.out.toUpperCase().includes(word.toUpperCase()), `${word} in ${show.out}`);
  const unknown = await story.command("models", "show", "serie-0");
  assert.equal(unknown.code, 1);
  assert.match(unknown.err, /did you mean series-0/);
  assert.equal((await story.command("models", "improve", seriesId)).code, 2);
}
