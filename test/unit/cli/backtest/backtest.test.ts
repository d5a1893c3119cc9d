// `forecastnet backtest`: from files to a table, to JSON, to CSV, to a report and to an exit code, through real replays.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { runBacktestCommand } from "../../../../src/cli/backtest/backtest.ts";
import { Replay } from "../../../../src/replay/replay.ts";
import { loadConfig } from "../../../../src/runtime/config/load.ts";
import { projectRoot } from "../../../rig/project.ts";

const folder = mkdtempSync(join(tmpdir(), "backtest-"));
after(() => rmSync(folder, { recursive: true }));

async function run(...argv: readonly string[]) {
  const out: string[] = [];
  const err: string[] = [];
  const io = { out: (line: string) => out.push(line), err: (line: string) => err.push(line), env: {} };
  return { code: await runBacktestCommand(argv, io), out, err };
}

const startMs = Date.UTC(2024, 0, 1);
const hourMs = 3_600_000;
const days = 24;

/** Days whose level moves in a way that a linear map knows and seasonal-naive does not. */
function valueAt(hour: number, series: number): number {
  const level = 5 * Math.sin(hour / 60 + series);
  return Number(
    (20 + level + 3 * Math.sin((2 * Math.PI * hour) / 24) + ((hour * 7919) % 97) / 97).toFixed(3),
  );
}

function fileOf(name: string, series: readonly string[]): string {
  const rows = Array.from({ length: 24 * days }, (_, hour) => {
    const time = new Date(startMs + hour * hourMs).toISOString();
    return [time, ...series.map((_, s) => valueAt(hour, s))].join(",");
  });
  const path = join(folder, name);
  writeFileSync(path, `${["time", ...series].join(",")}\n${rows.join("\n")}\n`);
  return path;
}

const two = fileOf("two.csv", ["pump", "fan <2>"]);
const fast = ["--series.season=24", "--horizon=12"];

describe("a backtest", () => {
  test("prints the systems, the best first, with what their intervals held", async () => {
    const { code, out } = await run(two, "--systems=cold,linear", ...fast);
    assert.equal(code, 0);
    assert.match(
      out[0] as string,
      /^2 series with 1,152 values, replayed through the worker; forecasts of the last 30 %/,
    );
    assert.match(
      out[2] as string,
      /^SYSTEM\s+MASE\s+CRPS\s+RMSSE\s+SMAPE\s+MSIS\s+80 % HELD\s+95 % HELD\s+RANK\s+BORDA/,
    );
    const [best, second] = [out[3], out[4]].map((line) => (line as string).trim().split(/\s+/));
    assert.deepEqual([best?.[0], second?.[0]], ["linear", "cold"]);
    assert.ok(
      Number(best?.[2]) < 0.8 * Number(second?.[2]),
      `${best?.[2]} is not clearly below ${second?.[2]}`,
    );
    assert.match(out.at(-1) as string, /^linear against cold: Diebold–Mariano -\d/);
  });

  test("scores the very forecasts that a worker publishes", async () => {
    const { out } = await run(two, "--systems=cold", "--json", "--test=0.5", ...fast);
    const found = JSON.parse(out.join("\n")).runs[0].series[0];
    const config = loadConfig({
      argv: ["--retrain.where=off", "--series.season=24", "--series.horizon=12"],
      env: {},
    });
    const replay = await Replay.open({ config, startMs });
    for (let hour = 0; hour < 24 * days; hour++)
      await replay.feed([{ seriesId: "pump", timeMs: startMs + hour * hourMs, values: [valueAt(hour, 0)] }]);
    const testFrom = 12 * days;
    let [absolute, inside, steps, change] = [0, 0, 0, 0];
    for (const { times, quantiles } of await replay.forecasts()) {
      const at = (level: number) => quantiles.find((one) => one.level === level)?.values ?? [];
      for (const [h, timeMs] of times.entries()) {
        const hour = (timeMs - startMs) / hourMs;
        if (hour < testFrom || hour >= 24 * days) continue;
        const actual = valueAt(hour, 0);
        absolute += Math.abs(actual - (at(0.5)[h] as number));
        if (actual >= (at(0.1)[h] as number) && actual <= (at(0.9)[h] as number)) inside++;
        steps++;
      }
    }
    await replay.close();
    for (let hour = 1; hour < testFrom; hour++) change += Math.abs(valueAt(hour, 0) - valueAt(hour - 1, 0));
    assert.equal(found.scores.steps, steps);
    const mase = absolute / steps / (change / (testFrom - 1));
    assert.ok(Math.abs(found.scores.mase - mase) < 1e-9, `MASE is ${found.scores.mase}, by hand ${mase}`);
    const held = found.scores.coverage.find(
      ({ stated }: { stated: number }) => Math.abs(stated - 0.8) < 1e-9,
    );
    assert.ok(Math.abs(held.observed - inside / steps) < 1e-12);
  });

  test("of models that are fitted once scores each step of the test part once", async () => {
    const { out } = await run(two, "--systems=linear,cold", "--protocol=rolling", "--json", ...fast);
    const { systems, runs } = JSON.parse(out.join("\n"));
    assert.deepEqual(
      runs.map(
        ({ decisions, series: [pump] }: { decisions: []; series: [{ scores: { steps: number } }] }) => [
          decisions.length,
          pump.scores.steps,
        ],
      ),
      [
        [0, 172],
        [0, 172],
      ],
    );
    const [linear, cold] = systems;
    assert.ok(
      linear.name === "linear" && linear.scores.crps < 0.9 * cold.scores.crps,
      JSON.stringify(systems),
    );
  });

  test("trains on data of any age: a lake that was measured from 1921 on has its first model before 1940", async () => {
    const lake = join(projectRoot, "samples", "lake.csv");
    const { out } = await run(lake, "--systems=linear", "--horizon=6", "--json");
    const decisions: readonly { kind: string; timeMs: number }[] = JSON.parse(out.join("\n")).runs[0]
      .decisions;
    const first = decisions.find(({ kind }) => kind === "promoted");
    assert.ok(
      (first?.timeMs ?? 0) < Date.UTC(1940, 0),
      `the first model came in ${new Date(first?.timeMs ?? 0).toISOString()}`,
    );
  });

  test("gives the same numbers whatever the number of jobs", async () => {
    const flags = [two, "--systems=linear", "--csv", ...fast];
    const [one, several] = [await run(...flags, "--jobs=1"), await run(...flags, "--jobs=2")];
    assert.equal(one.out.length, 3);
    assert.match(one.out[1] as string, /^linear,"pump",\d+,0\.\d+/);
    assert.deepEqual(several.out, one.out);
  });

  test("writes a report that stands alone", async () => {
    const target = join(folder, "report.html");
    const { err } = await run(two, "--systems=linear,cold", `--report=${target}`, ...fast);
    assert.match(err.join("\n"), /report\.html written$/);
    const html = readFileSync(target, "utf8");
    assert.match(html, /^<!doctype html>\n<html lang="en">/);
    assert.match(html, /fan &lt;2&gt;/);
    assert.equal(html.match(/<svg /g)?.length, 6);
    assert.match(html, /What linear decided about its models/);
    assert.doesNotMatch(html, /NaN|undefined|<script|https?:|url\(/);
  });

  test("writes the configuration of the best system, which a worker takes as it is", async () => {
    const target = join(folder, "best.yaml");
    const { err } = await run(
      two,
      "--systems=cold,linear",
      `--write=${target}`,
      "--series.gapPolicy=linear",
      ...fast,
    );
    assert.match(err.join("\n"), /best\.yaml written; a worker takes it with --config /);
    const yaml = readFileSync(target, "utf8");
    assert.match(
      yaml,
      /^# The best of 2 on 2 series, by forecastnet backtest: linear\.\n# {3}linear: MASE 0\.\d+, CRPS/,
    );
    const config = loadConfig({ argv: [`--config=${target}`], env: {} });
    const given = [
      "--series.gapPolicy=linear",
      "--series.season=24",
      "--series.horizon=12",
      "--series.family=linear",
    ];
    assert.deepEqual(config, loadConfig({ argv: given, env: {} }));
  });

  test("fails above the limit that it was given, and not below", async () => {
    const limited = (limit: string) => run(two, "--systems=cold", `--fail-above=${limit}`, ...fast);
    const above = await limited("MASE=0.01");
    assert.equal(above.code, 1);
    assert.match(above.err.join("\n"), /^MASE of cold is \d\.\d{3}, above 0\.01$/);
    assert.equal((await limited("MASE=100")).code, 0);
  });
});

describe("a mistake", () => {
  test("in the name of a system is answered with those there are", async () => {
    const { code, err } = await run(two, "--systems=liner");
    assert.equal(code, 2);
    assert.equal(err[0], "there is no system liner: did you mean linear?");
  });

  test("in the limit names its form", async () => {
    const { code, err } = await run(two, "--fail-above=speed=3");
    assert.equal(code, 2);
    assert.match(err[0] as string, /^--fail-above: "speed=3" given, allowed: such as MASE=1/);
  });

  test("such as series that cannot be scored is told", async () => {
    const path = join(folder, "flat.csv");
    const rows = Array.from(
      { length: 50 },
      (_, hour) => `${new Date(startMs + hour * hourMs).toISOString()},7`,
    );
    writeFileSync(path, `time,pump\n${rows.join("\n")}\n`);
    const { code, err } = await run(path, "--systems=cold");
    assert.equal(code, 1);
    assert.match(err[0] as string, /^none of 1 series could be scored: each needs an interval, and changes/);
  });
});
