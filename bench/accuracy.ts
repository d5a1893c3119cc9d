// `npm run bench:accuracy`: how good the forecasts are on real series, by the protocol of bench/accuracy/protocol.ts.
// Prints the table, and writes docs/accuracy.md when all of the project's own samples were run.
//
//   npm run bench:accuracy                         the samples
//   npm run bench:accuracy -- --data DIR           other series, one CSV file each (timestamp,value)
//   npm run bench:accuracy -- --only lake,elect    some of them
//   more: --season N (steps; default from the timestamps), --members 1,4 (sizes of the ensemble), --paths 100,
//         --threads 2

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createFamilies } from "../src/models/families.ts";
import type { Model } from "../src/models/family.ts";
import { projectRoot } from "../test/rig/project.ts";
import { accuracySection, type SeriesScores } from "./accuracy/accuracy-page.ts";
import { serve, trainNets } from "./accuracy/forecasters.ts";
import { pastOf, scoreForecaster } from "./accuracy/protocol.ts";
import { readSamples, type SampleSeries } from "./accuracy/sample-series.ts";
import { openBenchEngine } from "./rig/bench-engine.ts";
import { toMarkdown } from "./rig/report.ts";

const { values: options } = parseArgs({
  options: {
    data: { type: "string" },
    only: { type: "string" },
    season: { type: "string" },
    members: { type: "string", default: "1,4" },
    paths: { type: "string", default: "100" },
    threads: { type: "string", default: "2" },
  },
});
const sizes = options.members.split(",").map(Number);
const season = options.season === undefined ? null : Number(options.season);
const samples = readSamples(options.data ?? join(projectRoot, "samples"), season).filter(
  ({ name }) => options.only === undefined || options.only.split(",").includes(name),
);

const engine = await openBenchEngine(Number(options.threads));
const families = createFamilies(engine);
const scores: SeriesScores[] = [];
for (const series of samples) {
  scores.push(await measure(series));
  process.stderr.write(`${series.name}: done\n`);
}
await engine.close();

const table = toMarkdown(accuracySection(sizes, scores));
process.stdout.write(`${table}\n`);
if (options.data === undefined && options.only === undefined && season === null) {
  const head =
    "# Accuracy\n\n`npm run bench:accuracy` writes this page. Do not edit it; run the command again. The series are those of [samples](../samples/README.md).\n";
  writeFileSync(join(projectRoot, "docs", "accuracy.md"), `${head}\n${table}`);
}

async function measure(series: SampleSeries): Promise<SeriesScores> {
  const { name, season } = series;
  const scoreOf = (model: Model) =>
    scoreForecaster(series, async () => serve(families, model, season, Number(options.paths)));
  const naive = await scoreOf(families.baselineFor(name, { horizon: season, season, channels: 1 }));
  const startedMs = performance.now();
  const models = await trainNets(engine, pastOf(series), season, name, sizes);
  const trainingSeconds = (performance.now() - startedMs) / 1_000;
  // As in a worker: a series without a model is served by seasonal-naive.
  if (models === null) {
    return {
      name,
      naive,
      ours: sizes.map(() => naive),
      trainingSeconds,
      kilobytes: sizes.map(() => 0),
    };
  }
  const ours = [];
  for (const model of models) ours.push(await scoreOf(model));
  const kilobytes = models.map(({ members }) =>
    members.reduce((sum, { weights }) => sum + weights.byteLength / 1_000, 0),
  );
  return { name, naive, ours, trainingSeconds, kilobytes };
}
