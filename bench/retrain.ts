// `npm run bench:retrain`: how fast models are trained, and what forecasts lose meanwhile, all in one run. Prints the
// figures, and writes its part of docs/benchmarks.md unless the run is a quick one.
//
//   npm run bench:retrain              under six minutes
//   npm run bench:retrain -- --quick   less than one, too short to publish

import { systemClock } from "../src/runtime/clock.ts";
import { measureAllCores } from "./retrain/all-cores.ts";
import { measureBeside } from "./retrain/beside.ts";
import { measureEndToEnd } from "./retrain/end-to-end.ts";
import { measureTraining } from "./retrain/training-rate.ts";
import { describeMachine, type Section, toMarkdown, writePart } from "./rig/report.ts";

const isQuick = process.argv.includes("--quick");
const sections: Section[] = [];

function add(section: Section): void {
  sections.push(section);
  process.stdout.write(`${toMarkdown(section)}\n`);
}

const rounds = isQuick ? 2 : 6;
const { section, models } = await measureTraining(isQuick);
add(section);
add(await measureAllCores(isQuick ? 1 : 4));
add(await measureBeside({ models, rounds, isQuick }));
add(await measureEndToEnd({ rounds, isQuick }));

if (!isQuick) {
  writePart({
    name: "retrain",
    title: "Retraining",
    command: "npm run bench:retrain",
    facts: {
      Machine: describeMachine(),
      Date: new Date(systemClock.nowMs()).toISOString().slice(0, 10),
    },
    sections,
  });
}
