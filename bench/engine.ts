// `npm run bench:engine`: compares our executors with each other and with PyTorch, then measures the whole engine. Prints
// the figures, and writes its part of docs/benchmarks.md unless --quick or --only is given.
//
//   npm run bench:engine                          under ten minutes
//   npm run bench:engine -- --quick               about two minutes, too short to publish
//   npm run bench:engine -- --python PATH         a Python with PyTorch; the default is python3
//   npm run bench:engine -- --authors DIR         a checkout of the authors' repository; their own files run as well
//   npm run bench:engine -- --only WORD           only works and measurements whose name contains the word

import { parseArgs } from "node:util";
import { systemClock } from "../src/runtime/clock.ts";
import { type Bar, barsSection } from "./engine/bars.ts";
import { isPinned, openField } from "./engine/contestants.ts";
import { duel } from "./engine/duel.ts";
import { type Duel, duelBars, duelSections } from "./engine/duel-sections.ts";
import {
  type FleetReport,
  measureEngineGrowth,
  measureEngineMemory,
  measureThreads,
} from "./engine/engine-fleet.ts";
import { measureServing } from "./engine/serving.ts";
import {
  convPlan,
  densePlan,
  forecastWork,
  openFolder,
  paperConvPlan,
  trainingWork,
} from "./engine/works.ts";
import { describeMachine, type Section, toMarkdown, writePart } from "./rig/report.ts";

const { values: flags } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    python: { type: "string", default: "python3" },
    authors: { type: "string" },
    only: { type: "string", default: "" },
  },
});
const isQuick = flags.quick;
const sections: Section[] = [];
const bars: Bar[] = [];

function add(report: FleetReport): void {
  bars.push(...report.bars);
  for (const section of report.sections) {
    sections.push(section);
    process.stdout.write(`${toMarkdown(section)}\n`);
  }
}

const isWanted = (name: string) => name.includes(flags.only);
const options = { rounds: isQuick ? 3 : 7, isQuick };
await measureExecutors();
if (isWanted("serving")) add({ sections: [await measureServing(options)], bars: [] });
if (isWanted("threads")) add(await measureThreads(options));
if (isWanted("growth")) add(await measureEngineGrowth(options));
if (isWanted("memory")) add(await measureEngineMemory(options));
add({ sections: [barsSection(bars)], bars: [] });

if (!isQuick && flags.only === "") {
  writePart({
    name: "engine",
    title: "The engine",
    command: "npm run bench:engine",
    facts: {
      Machine: describeMachine(),
      Date: new Date(systemClock.nowMs()).toISOString().slice(0, 10),
    },
    sections,
  });
}

async function measureExecutors(): Promise<void> {
  const folder = openFolder();
  const works = [
    { name: "FN forecast", models: 64, comparedModels: 8, make: forecasts(densePlan) },
    { name: "cFN forecast", models: 4, comparedModels: 1, make: forecasts(convPlan) },
    { name: "paper's cFN forecast", models: 4, comparedModels: 1, make: forecasts(paperConvPlan) },
    { name: "FN step, batch 64", models: 16, comparedModels: 2, make: steps(densePlan, 64) },
    { name: "FN step, batch 16", models: 16, comparedModels: 2, make: steps(densePlan, 16) },
    { name: "cFN step, batch 64", models: 4, comparedModels: 1, make: steps(convPlan, 64) },
    { name: "cFN step, batch 16", models: 4, comparedModels: 1, make: steps(convPlan, 16) },
  ].filter(({ name }) => isWanted(name));
  if (works.length === 0) return;
  const field = await openField({ python: flags.python, authors: flags.authors ?? null });
  const rounds = isQuick ? 3 : 9;
  const duels: Duel[] = [];
  const peak: number[] = [];
  for (const { name, models, comparedModels, make } of works) {
    const work = make(folder, name, models);
    const begin = performance.now();
    await field.load(work);
    peak.push(await field.measurePeak());
    const { oracle } = field;
    const turnMs = isQuick ? 150 : 300;
    const outcomes = await duel(work, field.contestants, { folder, oracle, comparedModels, rounds, turnMs });
    duels.push({ work, outcomes });
    process.stderr.write(`${name}: ${((performance.now() - begin) / 1000).toFixed(0)} s\n`);
  }
  field.close();
  const { absences, aboutByTitle } = field;
  const report = { duels, absences, aboutByTitle, rounds, isPinned, peak };
  add({ sections: duelSections(report), bars: duelBars(report) });
}

function forecasts(plan: typeof densePlan) {
  return (folder: string, name: string, models: number) => forecastWork(folder, name, plan, models);
}

function steps(plan: typeof densePlan, batch: number) {
  return (folder: string, name: string, models: number) =>
    trainingWork(folder, name, plan, { models, batch });
}
