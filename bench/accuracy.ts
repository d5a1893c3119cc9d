// `npm run bench:accuracy`: how good the forecasts are on real series, by the protocol of bench/accuracy/protocol.ts.
// Prints the table, and writes docs/accuracy.md when run on the project's own samples.
//
//   npm run bench:accuracy                     the samples, all series
//   npm run bench:accuracy -- --data DIR       other series, one CSV file each
//   npm run bench:accuracy -- --only lake,elect --season 24 --members 4

import { join } from "node:path";
import { parseArgs } from "node:util";
import { openThreadedEngine } from "../src/engine/threads/threaded-engine.ts";
import { projectRoot } from "../test/rig/project.ts";
import { seasonalNaive, trainedModel } from "./accuracy/forecasters.ts";
import { type Score, scoreForecaster } from "./accuracy/protocol.ts";
import { readSamples } from "./accuracy/sample-series.ts";

const { values: options } = parseArgs({
  options: {
    data: { type: "string", default: join(projectRoot, "samples") },
    only: { type: "string" },
    season: { type: "string" },
    members: { type: "string", default: "6" },
    paths: { type: "string", default: "100" },
    threads: { type: "string", default: "2" },
  },
});

const wanted = options.only?.split(",");
const samples = readSamples(
  options.data,
  options.season === undefined ? null : Number(options.season),
).filter(({ name }) => wanted === undefined || wanted.includes(name));
const engine = await openThreadedEngine({ setup: { kind: "simd" }, threads: Number(options.threads) });
const forecaster = trainedModel(engine, { paths: Number(options.paths), members: Number(options.members) });
const logs: [number, number][] = [];
for (const series of samples) {
  const startedMs = performance.now();
  const naive = await scoreForecaster(series, seasonalNaive);
  const model = await scoreForecaster(series, forecaster);
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(0);
  logs.push([Math.log(model.mase / naive.mase), Math.log(model.crps / naive.crps)]);
  console.log(
    `${series.name.padEnd(9)} ${show(naive)}   ${show(model)}   ${(model.mase / naive.mase).toFixed(3)} ${(model.crps / naive.crps).toFixed(3)}  ${seconds} s`,
  );
}
const mean = (k: 0 | 1) => Math.exp(logs.reduce((sum, row) => sum + row[k], 0) / logs.length).toFixed(3);
console.log(`geometric mean: MASE ${mean(0)}, CRPS ${mean(1)}`);
await engine.close();

function show({ mase, crps, coverage80 }: Score): string {
  return `${mase.toFixed(3)} / ${crps.toFixed(3)} / ${coverage80.toFixed(2)}`;
}
