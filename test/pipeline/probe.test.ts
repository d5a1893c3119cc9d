// `forecastnet probe` against a worker on the embedded log: it reports success only if a forecast arrives.

import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { runProbe } from "../../src/cli/probe.ts";
import { provideTopics } from "../../src/cli/topics.ts";
import { loadConfig } from "../../src/runtime/config/load.ts";
import { Fleet } from "./support/fleet.ts";
import { hourly } from "./support/readings.ts";

/** Where the fleet's clock starts. */
const clock = { nowMs: () => Date.UTC(2024, 5, 1) };

function settingsOf(interval: string) {
  const settings = { "series.interval": interval, "series.every": 2 };
  const argv = [
    ...Object.entries(settings).map(([key, value]) => `--${key}=${value}`),
    "--topics.inputs=[{ topic: sensors, format: json }]",
  ];
  return { settings, config: loadConfig({ argv, env: {} }) };
}

async function probe(t: TestContext, { log }: Fleet, interval: string, timeoutMs: number) {
  const told: { out: string[]; err: string[] } = { out: [], err: [] };
  const io = { out: (line: string) => told.out.push(line), err: (line: string) => told.err.push(line) };
  const { config } = settingsOf(interval);
  const code = await runProbe({ config, log, io, clock, signal: t.signal, timeoutMs });
  return { code, ...told };
}

describe("a probe", () => {
  for (const interval of ["auto", "PT1H", "P1M"]) {
    test(`of a series with the interval ${interval} is forecast`, async (t) => {
      const { settings } = settingsOf(interval);
      const fleet = Fleet.openFor(t, { partitions: 3, settings });
      await fleet.play("settle");
      const { code, out, err } = await probe(t, fleet, interval, 20_000);
      assert.deepEqual([code, err], [0, []]);
      assert.match(out[0] ?? "", /^forecastnet-probe-\w+-\w+ was forecast after \d+\.\d s$/);
    });
  }

  test("leaves nothing behind: its series, and no other, is forgotten ten minutes later", async (t) => {
    const { settings } = settingsOf("PT1H");
    const fleet = Fleet.openFor(t, { settings });
    await fleet.play(...hourly("probe-1", 0, [1, 2, 3]), "settle", "turn");
    assert.equal((await probe(t, fleet, "PT1H", 20_000)).code, 0);
    await fleet.play("settle");
    const seriesOnTopic = async () => {
      const newest = new Map(
        (await fleet.read("forecastnet.state")).map(({ key, value }) => [String(key), value]),
      );
      return new Set([...newest].flatMap(([key, value]) => (value === null ? [] : [key.replace(/#.*/, "")])));
    };
    assert.equal((await seriesOnTopic()).size, 2);
    await fleet.play("turn", "turn", "turn");
    await fleet.until(
      () => fleet.logged.some(({ message }) => message === "series forgotten"),
      "the end of the series",
    );
    await fleet.until(async () => (await seriesOnTopic()).size === 1, "the end to be committed");
    assert.deepEqual([...(await seriesOnTopic())], ["probe-1"]);
  });

  test("that gets no forecast says so, and what to check", async (t) => {
    const fleet = Fleet.emptyFor(t);
    await provideTopics(fleet.log, settingsOf("auto").config, { isCreating: true, inputs: null });
    const { code, out, err } = await probe(t, fleet, "auto", 300);
    assert.deepEqual([code, out], [1, []]);
    assert.match(
      err[0] ?? "",
      /^no forecast of forecastnet-probe-\S+ within 0\.3 s: is a worker of group \S+ running/,
    );
  });

  test("whose observations are refused says why", async (t) => {
    const fleet = Fleet.openFor(t, { settings: { "limits.seriesIdLength": 4 } });
    await fleet.play("settle");
    const { code, err } = await probe(t, fleet, "auto", 20_000);
    assert.equal(code, 1);
    assert.match(
      err[0] ?? "",
      /^the observations of forecastnet-probe-\S+ became dead letters: .* allowed are 4/,
    );
  });
});
