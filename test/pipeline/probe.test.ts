// `forecastnet probe` against a worker on the embedded log: it says that all is well only when a forecast came.

import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { runProbe } from "../../src/cli/probe/run-probe.ts";
import { provideTopics } from "../../src/cli/topics.ts";
import { loadConfig } from "../../src/runtime/config/load.ts";
import { Fleet } from "./support/fleet.ts";

/** As the fleet's own clock stands. */
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
      const fleet = await Fleet.openFor(t, { partitions: 3, settings });
      await fleet.play("settle");
      const { code, out, err } = await probe(t, fleet, interval, 20_000);
      assert.deepEqual([code, err], [0, []]);
      assert.match(out[0] ?? "", /^probe-\w+-\w+ was forecast after \d+\.\d s$/);
    });
  }

  test("that nobody forecasts says so, and whom to ask", async (t) => {
    const fleet = await Fleet.openEmpty({});
    t.after(() => fleet.close());
    await provideTopics(fleet.log, settingsOf("auto").config.topics, { isCreating: true, inputs: null });
    const { code, out, err } = await probe(t, fleet, "auto", 300);
    assert.deepEqual([code, out], [1, []]);
    assert.match(
      err[0] ?? "",
      /^no forecast of probe-\S+ came within 0\.3 s: is a worker of group \S+ running/,
    );
  });

  test("whose observations are refused tells why", async (t) => {
    const fleet = await Fleet.openFor(t, { settings: { "limits.seriesIdLength": 4 } });
    await fleet.play("settle");
    const { code, err } = await probe(t, fleet, "auto", 20_000);
    assert.equal(code, 1);
    assert.match(err[0] ?? "", /^the observations of probe-\S+ were set aside: .* allowed are 4/);
  });
});
