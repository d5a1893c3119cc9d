// `forecastnet sensors` on a real broker: a worker forecasts what the sensors write, in the format configured for their
// topic. If the topic does not exist, the command reports what to do.

import assert from "node:assert/strict";
import { readAll } from "./support/far-end.ts";
import { tellStory } from "./support/story.ts";
import { until } from "./support/until.ts";

const series = 6;

function jsonInput(name: string) {
  const fields = { seriesField: "sensor.id", timeField: "at", valueField: "reading", timeUnit: "iso" };
  return {
    topics: {
      ...{ forecasts: `${name}-forecasts`, state: `${name}-state`, models: `${name}-models` },
      inputs: [{ topic: `${name}-sensors`, format: "json", ...fields }],
    },
    series: { interval: "PT1S", horizon: 6, history: 2_000 },
    output: { format: "json" },
  };
}

tellStory(
  "every simulated sensor is forecast until the sensors are stopped",
  async (story) => {
    const worker = await story.startReadyWorker();
    const sensors = await story.startWorker("sensors", [`--series=${series}`, "--history=60", "--nonsense"]);
    await until("their history to be sent", () => sensors.linesOf("history sent").length === 1);
    await until("observations of the present", async () => {
      const counted = await worker.metric("forecastnet_observations_total");
      return (counted ?? 0) > series * 62;
    });
    assert.deepEqual(await sensors.end("SIGTERM"), { code: 0, signal: null });
    await story.untilAllSettled();
    await until("nonsense to be refused", async () => {
      return ((await worker.metric("forecastnet_dead_letters_total")) ?? 0) > 0;
    });
    await story.endWorkers();
    const forecasts = await readAll(story.log, story.config.topics.forecasts);
    const forecastSeries = new Set(forecasts.map(({ value }) => JSON.parse(String(value)).seriesId));
    assert.equal(forecastSeries.size, series);
    assert.ok(forecastSeries.has("pump-vibration-1"));
  },
  () => ({ config: jsonInput }),
);

tellStory("the sensors command without its topic names the topic and what to do", async (story) => {
  const { code, err } = await story.command("sensors", "--topics.inputs=[{topic: nowhere}]");
  assert.equal(code, 3);
  assert.match(err, /input topic nowhere does not exist: create it first.*forecastnet topics create/);
});
