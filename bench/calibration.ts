// `npm run bench:calibration`: how often the stated intervals hold on real series, raw and calibrated, before and after a
// level shift. Prints the tables, and writes them into docs/calibration.md when all of the project's own samples were run.
//
//   npm run bench:calibration                        the samples with at least 2,000 points
//   npm run bench:calibration -- --data DIR          other series, one CSV file each (timestamp,value)
//   npm run bench:calibration -- --only weath,elect  some of them
//   more: --season N (steps; default from the timestamps), --tiers cold,model, --threads 2

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { projectRoot } from "../test/rig/project.ts";
import { readSamples, type SampleSeries } from "./accuracy/sample-series.ts";
import { calibrationSections, type Outcome } from "./calibration/calibration-page.ts";
import { coldForecasts, modelForecasts, trainOnPast } from "./calibration/raw-forecasts.ts";
import { replay } from "./calibration/replay.ts";
import { scenarioOf, shortestSeries } from "./calibration/scenario.ts";
import { openBenchEngine } from "./rig/bench-engine.ts";
import { describeMachine, putPart, toMarkdown } from "./rig/report.ts";

const { values: options } = parseArgs({
  options: {
    data: { type: "string" },
    only: { type: "string" },
    season: { type: "string" },
    tiers: { type: "string", default: "cold,model" },
    threads: { type: "string", default: "2" },
  },
});
/** In standard deviations of what lies before the judged part. */
const shifts = [0, 2, -2, 4, -4];
const tiers = options.tiers.split(",");
const season = options.season === undefined ? null : Number(options.season);
const eligible = readSamples(options.data ?? join(projectRoot, "samples"), season).filter(
  ({ name, values }) =>
    values.length >= shortestSeries && (options.only === undefined || options.only.split(",").includes(name)),
);
if (eligible.length === 0) throw new Error(`no series there has ${shortestSeries} points`);

const engine = await openBenchEngine(Number(options.threads));
const outcomes: Outcome[] = [];
for (const series of eligible) {
  if (tiers.includes("cold")) outcomes.push(...replayCold(series));
  if (tiers.includes("model")) outcomes.push(...(await replayModel(series)));
  process.stderr.write(`${series.name}: done\n`);
}
await engine.close();

const sections = calibrationSections(outcomes);
process.stdout.write(`${sections.map(toMarkdown).join("\n")}\n`);
const isWhole = options.data === undefined && options.only === undefined && season === null;
if (isWhole && tiers.length === 2) {
  const path = join(projectRoot, "docs", "calibration.md");
  const part = {
    name: "calibration",
    title: "Results",
    command: "npm run bench:calibration",
    facts: { Machine: describeMachine() },
    sections,
  };
  writeFileSync(path, putPart(readFileSync(path, "utf8"), part));
}

function replayCold(series: SampleSeries): Outcome[] {
  return shifts.map((shift) => {
    const scenario = scenarioOf(series, shift);
    const raw = coldForecasts(scenario);
    return {
      name: series.name,
      tier: "cold",
      shift,
      raw: replay(scenario, raw, false),
      calibrated: replay(scenario, raw, true),
    };
  });
}

async function replayModel(series: SampleSeries): Promise<Outcome[]> {
  const model = await trainOnPast(engine, series);
  const found: Outcome[] = [];
  for (const shift of shifts) {
    const scenario = scenarioOf(series, shift);
    const raw = await modelForecasts(engine, model, scenario);
    found.push({
      name: series.name,
      tier: "model",
      shift,
      raw: replay(scenario, raw, false),
      calibrated: replay(scenario, raw, true),
    });
  }
  return found;
}
