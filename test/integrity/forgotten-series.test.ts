// Series are forgotten on a real broker: the topics hold nothing of them, and no restart brings them back.

import assert from "node:assert/strict";
import { readAll } from "./support/far-end.ts";
import { tellStory } from "./support/story.ts";
import { until } from "./support/until.ts";

const series = 24;

tellStory(
  "series that an operator forgets are deleted from every topic, and stay deleted when the worker is killed",
  async (story) => {
    const worker = await story.startReadyWorker();
    const startedMs = performance.timeOrigin + performance.now();
    const load = story.startLoad({ series });
    await story.untilSettled(20 * series);
    await load.stop();
    await story.untilAllSettled();
    const listed = JSON.parse((await story.command("series", "list", "--json")).out);
    assert.equal(listed.length, series);
    for (const { seriesId, points, storedAt } of listed) {
      assert.equal(points, load.sent.filter((observation) => observation.seriesId === seriesId).length);
      assert.ok(
        Date.parse(storedAt) >= startedMs - 1_000,
        `the log states when ${seriesId} was stored: ${storedAt}`,
      );
    }
    const [{ seriesId: kept }] = listed;
    const refused = await story.command("series", "forget", "*");
    assert.deepEqual([refused.code, /add --yes/.test(refused.err)], [1, true]);
    const forgotten = await story.command("series", "forget", "*", "--yes");
    assert.equal(forgotten.code, 0, forgotten.err);
    assert.match(forgotten.out, new RegExp(`^${series} series forgotten$`, "m"));
    await until(
      "the worker to count them",
      async () => (await worker.metric("forecastnet_series_forgotten_total")) === series,
    );
    await worker.end("SIGKILL");
    await story.startReadyWorker();
    assert.match((await story.command("series", "list")).out, /^no such series$/m);
    assert.equal((await story.command("series", "show", kept)).code, 1);
    await story.endWorkers();
    for (const topic of [story.config.topics.state, story.config.topics.models]) {
      const newest = new Map((await readAll(story.log, topic)).map(({ key, value }) => [String(key), value]));
      assert.deepEqual(
        [...newest].filter(([key, value]) => value !== null && key !== "#positions"),
        [],
        topic,
      );
    }
  },
);
