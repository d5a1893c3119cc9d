// `forecastnet forecast`: from files to forecasts as CSV, JSON, text and a drawing, with real models; and what is said where a
// file says too little.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { runForecastCommand } from "../../../../src/cli/forecast/forecast.ts";
import { ForecastnetError } from "../../../../src/runtime/errors.ts";
import { projectRoot } from "../../../rig/project.ts";

const folder = mkdtempSync(join(tmpdir(), "forecast-"));
after(() => rmSync(folder, { recursive: true }));

async function run(...argv: readonly string[]) {
  const out: string[] = [];
  const err: string[] = [];
  const io = { out: (line: string) => out.push(line), err: (line: string) => err.push(line), env: {} };
  return { code: await runForecastCommand(argv, io), out, err };
}

function fileOf(name: string, content: string): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

/** A day of 24 hours, again and again, with a disturbance that does not repeat. */
function hourly(days: number, series: readonly string[]): string {
  const rows = Array.from({ length: 24 * days }, (_, hour) => {
    const time = new Date(Date.UTC(2024, 0, 1, hour)).toISOString();
    const values = series.map(
      (_, s) => 10 * (s + 1) + 3 * Math.sin((2 * Math.PI * hour) / 24) + ((hour * 7919) % 97) / 97,
    );
    return [time, ...values.map((value) => value.toFixed(3))].join(",");
  });
  return `${["time", ...series].join(",")}\n${rows.join("\n")}\n`;
}

describe("a forecast from a file", () => {
  test("is one row for each step, with ascending quantiles around the pattern that the file shows", async () => {
    const { code, out, err } = await run(
      fileOf("two.csv", hourly(20, ["pump", "fan"])),
      "--series.family=linear",
    );
    assert.equal(code, 0);
    const [header, ...rows] = out;
    assert.equal(header, "series,step,time,mean,q0.025,q0.05,q0.1,q0.25,q0.5,q0.75,q0.9,q0.95,q0.975");
    assert.equal(rows.length, 48);
    assert.match(rows[0] as string, /^pump,1,2024-01-21T00:00:00\.000Z,/);
    assert.match(rows[47] as string, /^fan,24,2024-01-21T23:00:00\.000Z,/);
    for (const row of rows) {
      const [, step, , mean, ...quantiles] = row.split(",").map(Number) as number[];
      assert.deepEqual(
        quantiles,
        quantiles.toSorted((a, b) => a - b),
        row,
      );
      const level = row.startsWith("pump") ? 10.5 : 20.5;
      const pattern = level + 3 * Math.sin((2 * Math.PI * ((step as number) - 1)) / 24);
      assert.ok(Math.abs((mean as number) - pattern) < 0.6, `${row} is far from ${pattern}`);
    }
    assert.match(
      err.join("\n"),
      /^pump: linear, every PT1H, season 24 steps; on the last 72 steps, unseen: MASE 0\.\d\d/,
    );
  });

  test("takes horizon and levels, and is the same each time", async () => {
    const path = fileOf("again.csv", hourly(20, ["pump"]));
    const flags = [
      path,
      "--horizon=3",
      "--levels=0.1,0.5,0.9",
      "--series.family=linear",
      "--series.season=24",
    ];
    const [first, second] = [await run(...flags), await run(...flags)];
    assert.equal(first.out[0], "series,step,time,mean,q0.1,q0.5,q0.9");
    assert.equal(first.out.length, 4);
    assert.deepEqual(second.out, first.out);
  });

  test("is JSON if asked for", async () => {
    const lake = join(projectRoot, "samples", "lake.csv");
    const { code, out } = await run(lake, "--horizon=6", "--format=json", "--series.family=linear");
    assert.equal(code, 0);
    const [record, ...others] = JSON.parse(out.join("\n"));
    assert.equal(others.length, 0);
    assert.deepEqual(
      [record.seriesId, record.interval, record.season, record.method, record.times.length],
      ["lake", "P1M", 12, "linear", 6],
    );
    assert.equal(record.quantiles.length, 9);
    assert.ok(record.scores.mase < record.scores.naiveMase, JSON.stringify(record.scores));
  });

  test("is a chart with what was found, as text", async () => {
    const path = fileOf("text.csv", hourly(20, ["pump"]));
    const { out } = await run(path, "--format=text", "--series.family=linear");
    assert.equal(out[0], "pump");
    assert.match(out[1] as string, /^linear, every PT1H, season 24 steps/);
    assert.ok(
      out.some((line) => line.includes("┊") && /[▁▂▃▄▅▆▇█]/.test(line)),
      out.join("\n"),
    );
    assert.match(out.at(-1) as string, /^2024-01-21 00:00:00Z: 1\d\.\d+, [\d.]+ … [\d.]+ with 80 %$/);
  });

  test("is drawn into a file that stands alone", async () => {
    const path = fileOf("plot.csv", hourly(20, ["pump <1>", "fan"]));
    const target = join(folder, "out.svg");
    const { err } = await run(path, "--series.family=linear", `--plot=${target}`);
    assert.match(err.join("\n"), /out\.svg written$/);
    const svg = readFileSync(target, "utf8");
    assert.match(svg, /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg"/);
    assert.match(svg, /pump &lt;1&gt;/);
    assert.equal(svg.match(/class="median"/g)?.length, 2);
    assert.doesNotMatch(svg.replace("http://www.w3.org/2000/svg", ""), /NaN|undefined|https?:/);
  });
});

describe("a series that is too short for a model", () => {
  test("is forecast by seasonal-naive, with the reason", async () => {
    const { code, out, err } = await run(fileOf("short.csv", hourly(3, ["pump"])));
    assert.equal(code, 0);
    assert.equal(out.length, 25);
    assert.match(
      err.join("\n"),
      /seasonal-naive.*; no model: 72 steps are too few to train on: a model needs 192/,
    );
  });

  test("without an interval says how to give one", async () => {
    const path = fileOf("few.csv", "time,pump\n2024-01-01 00:00,1\n2024-01-01 01:00,2\n");
    const { code, err } = await run(path);
    assert.equal(code, 1);
    assert.match(
      err.join("\n"),
      /^pump: 2 values are too few to find the interval, which takes 8; --series\.interval/,
    );
    const { code: given, out } = await run(path, "--series.interval=PT1H", "--horizon=2");
    assert.deepEqual([given, out.length], [0, 3]);
  });
});

describe("odd input", () => {
  test("without times is taken as hourly, and said to be", async () => {
    const rows = hourly(20, ["pump"])
      .split("\n")
      .slice(1, -1)
      .map((row) => row.split(",")[1]);
    const { out, err } = await run(fileOf("plain.csv", `${rows.join("\n")}\n`), "--series.family=linear");
    assert.match(err[0] as string, /^no column holds times: rows are taken as hourly; --series\.interval/);
    assert.match(out[1] as string, /^plain,1,,/);
  });

  test("with repeated times is read as the stream is, and counted", async () => {
    const csv = hourly(20, ["pump"]);
    const last = csv.trimEnd().split("\n").at(-1) as string;
    const { code, err } = await run(fileOf("twice.csv", `${csv}${last}\n`), "--series.family=linear");
    assert.equal(code, 0);
    assert.match(
      err[0] as string,
      /^1 of 481 values share their step with another: the one with the latest time counts$/,
    );
  });

  test("that cannot be read ends the command with the line", async () => {
    const path = fileOf("ragged.csv", "time,pump\n2024-01-01,1\n2024-01-02\n");
    await assert.rejects(run(path), (error: unknown) => {
      assert.ok(error instanceof ForecastnetError);
      assert.match(error.message, /ragged\.csv:3: the row has 1 cell, the first row has 2/);
      return true;
    });
  });

  test("without a file is a mistake on the command line", async () => {
    const { code, err } = await run();
    assert.equal(code, 2);
    assert.match(err.join("\n"), /^forecast needs FILE\.\.\./);
  });
});
