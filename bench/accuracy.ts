// `npm run bench:accuracy`: how good the forecasts are on real series, by the protocol of bench/accuracy/protocol.ts.
// Prints the tables, and writes docs/accuracy.md when all of the project's own samples were run.
//
//   npm run bench:accuracy                         the samples
//   npm run bench:accuracy -- --data DIR           other series, one CSV file each (timestamp,value)
//   npm run bench:accuracy -- --only lake,elect    some of them
//   more: --season N (steps; default from the timestamps), --horizon N (default the season), --models linear,normal,
//         --history default (or long, or both), --threads 2
//         --python PATH (a Python with statsforecast and flaircast: adds their columns), --anchors theta,flair

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createFamilies } from "../src/models/families.ts";
import type { Model } from "../src/models/family.ts";
import { projectRoot } from "../test/rig/project.ts";
import { accuracySection, type ModelScore, type SeriesScores } from "./accuracy/accuracy-page.ts";
import { type Anchor, type AnchorScores, anchors, scoreAnchors } from "./accuracy/anchors.ts";
import { recipes, serve, trainOn } from "./accuracy/forecasters.ts";
import { checkGate, type GateCheck, gateSection } from "./accuracy/gate-check.ts";
import { histories, pastOf, scoreForecaster } from "./accuracy/protocol.ts";
import { readSamples, type SampleSeries } from "./accuracy/sample-series.ts";
import { openBenchEngine } from "./rig/bench-engine.ts";
import { toMarkdown } from "./rig/report.ts";

const { values: options } = parseArgs({
  options: {
    data: { type: "string" },
    only: { type: "string" },
    season: { type: "string" },
    horizon: { type: "string" },
    models: { type: "string", default: recipes.map(({ name }) => name).join() },
    history: { type: "string", default: "both" },
    threads: { type: "string", default: "2" },
    python: { type: "string" },
    anchors: { type: "string", default: Object.keys(anchors).join() },
  },
});
const season = options.season === undefined ? null : Number(options.season);
const horizon = options.horizon === undefined ? null : Number(options.horizon);
const isWanted = ({ name }: SampleSeries) =>
  options.only === undefined || options.only.split(",").includes(name);
const folders =
  options.data === undefined
    ? ["samples", "samples/more"].map((one) => join(projectRoot, one))
    : [options.data];
const groups = folders.map((folder) => readSamples(folder, season, horizon).filter(isWanted));
const trained = recipes.filter(({ name }) => options.models.split(",").includes(name));
const asked = histories.filter(({ name }) => options.history === "both" || options.history === name);
if (trained.length === 0 || asked.length === 0)
  throw new Error(
    `--models takes ${recipes.map(({ name }) => name).join(", ")}; --history takes default, long or both`,
  );

const engine = await openBenchEngine(Number(options.threads));
const families = createFamilies(engine);
const tables: string[] = [];
const gateChecks: GateCheck[] = [];
/** Recipes that are not too dear to train twice. */
const gated = trained.filter(({ name }) => name === "linear" || name === "normal");
if (options.python === undefined)
  process.stderr.write("SKIPPED statsforecast and flaircast: give --python PATH, a Python that has both\n");
for (const history of asked) {
  const anchored: AnchorScores =
    options.python === undefined
      ? new Map()
      : await scoreAnchors(options.python, options.anchors.split(",") as Anchor[], groups.flat(), history);
  const scores: SeriesScores[][] = [];
  for (const group of groups) {
    const measured: SeriesScores[] = [];
    for (const series of group) measured.push(await measure(series, history, anchored));
    scores.push(measured);
  }
  tables.push(toMarkdown(accuracySection(history, trained, scores)));
}
await engine.close();
if (gateChecks.length > 0) tables.push(toMarkdown(gateSection(gateChecks, gated)));

process.stdout.write(`${tables.join("\n")}\n`);
const isWhole = [options.data, options.only, options.season, options.horizon].every(
  (option) => option === undefined,
);
if (isWhole && trained.length === recipes.length && asked.length === histories.length) {
  const head =
    "# Accuracy\n\n`npm run bench:accuracy` writes this page. Do not edit it; run the command again. The series are those of [samples](../samples/README.md).\n";
  writeFileSync(join(projectRoot, "docs", "accuracy.md"), `${head}\n${tables.join("\n")}`);
}

async function measure(
  series: SampleSeries,
  history: (typeof histories)[number],
  anchored: AnchorScores,
): Promise<SeriesScores> {
  const scoreOf = (model: Model) =>
    scoreForecaster(series, async () => serve(families, model, series.season));
  const { name, season, horizon } = series;
  const naive = await scoreOf(families.baselineFor(name, { horizon, season, channels: 1 }));
  const ours: ModelScore[] = [];
  for (const recipe of trained) {
    const before = process.cpuUsage();
    const found = await trainOn(families, pastOf(series, history), recipe, series);
    const { user, system } = process.cpuUsage(before);
    const cost = { cpuSeconds: (user + system) / 1e6, bytes: found?.bytes ?? 0 };
    // As in a worker: a series without a model is served by seasonal-naive.
    ours.push({ ...cost, score: found === null ? naive : await scoreOf(found.model) });
    if (history.name === "default" && gated.includes(recipe)) {
      const check = await checkGate(families, { past: pastOf(series, history), recipe, series }, scoreOf);
      if (check !== null) gateChecks.push(check);
    }
    process.stderr.write(
      `${history.name} history, ${name}, ${recipe.name}: ${cost.cpuSeconds.toFixed(1)} s\n`,
    );
  }
  return { name, naive, ours, anchors: anchored.get(name) ?? new Map() };
}
