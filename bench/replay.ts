// `npm run bench:replay`: how long a year of one hourly series takes, against the same observations in full batches.
// Prints the figures, and writes its part of docs/benchmarks.md unless the run is a quick one.
//
//   npm run bench:replay              a few minutes, most of them training
//   npm run bench:replay -- --quick   sixty days instead of a year

import type { Observation } from "../src/domain.ts";
import { Replay } from "../src/replay/replay.ts";
import { systemClock } from "../src/runtime/clock.ts";
import { loadConfig } from "../src/runtime/config/load.ts";
import { createRandom } from "../src/runtime/random.ts";
import { createInProcessTrainer } from "../src/training/in-process-trainer.ts";
import type { ModelTrainer } from "../src/training/training-task.ts";
import {
  decimals,
  describeMachine,
  type Section,
  spread,
  toMarkdown,
  whole,
  writePart,
} from "./rig/report.ts";

const isQuick = process.argv.includes("--quick");
const hours = 24 * (isQuick ? 60 : 365);
const rounds = isQuick ? 1 : 3;
const hourMs = 3_600_000;
const firstMs = Date.UTC(2023, 0, 1);
const observations = [...hourly()];

type Run = "full batches" | "replay" | "replay, retraining quick";

interface Facts {
  readonly seconds: number;
  readonly trainings: number;
  readonly trainingSeconds: number;
}

const factsByRun = new Map<Run, Facts[]>([
  ["full batches", []],
  ["replay", []],
  ["replay, retraining quick", []],
]);
for (let round = 0; round < rounds; round++) {
  for (const [run, facts] of factsByRun) facts.push(await measure(run));
}
const section = sectionOf();
process.stdout.write(`${toMarkdown(section)}\n`);
if (!isQuick) {
  writePart({
    name: "replay",
    title: "Replay",
    command: "npm run bench:replay",
    facts: { Machine: describeMachine(), Date: new Date(systemClock.nowMs()).toISOString().slice(0, 10) },
    sections: [section],
  });
}

/** A daily and a weekly season, and noise. */
function* hourly(): Generator<Observation> {
  const random = createRandom(7);
  for (let hour = 0; hour < hours; hour++) {
    const seasons = 4 * Math.sin((2 * Math.PI * hour) / 24) + 2 * Math.sin((2 * Math.PI * hour) / 168);
    yield { seriesId: "a", timeMs: firstMs + hour * hourMs, values: [10 + seasons + random.normal()] };
  }
}

async function measure(run: Run): Promise<Facts> {
  const where = run === "replay, retraining quick" ? "worker" : "off";
  const argv = ["--series.interval=PT1H", "--series.horizon=24", "--retrain.effort=quick"];
  const config = loadConfig({ argv: [...argv, `--retrain.where=${where}`], env: {} });
  // A clock past the last observation never moves: all of them are written, and read, at once.
  const startMs = run === "full batches" ? firstMs + hours * hourMs : firstMs;
  let trainings = 0;
  let trainingMs = 0;
  const replay = await Replay.open({
    ...{ config, startMs },
    openTrainer: async (families): Promise<ModelTrainer> => {
      const trainer = createInProcessTrainer(families);
      const train: ModelTrainer["train"] = async (tasks, signal) => {
        const beganMs = performance.now();
        const results = await trainer.train(tasks, signal);
        trainings += tasks.length;
        trainingMs += performance.now() - beganMs;
        return results;
      };
      return { ...trainer, train };
    },
  });
  const beganMs = performance.now();
  await replay.feed(observations);
  const seconds = (performance.now() - beganMs) / 1000;
  const made = (await replay.forecasts()).length;
  if (made !== hours - 1) throw new Error(`${hours} observations brought ${made} forecasts`);
  await replay.close();
  return { seconds, trainings, trainingSeconds: trainingMs / 1000 };
}

function sectionOf(): Section {
  const plain = factsByRun.get("full batches") ?? [];
  return {
    title: `${whole(hours / 24)} days of one hourly series`,
    method:
      `${whole(hours)} observations, horizon 24, on one thread. Full batches: all observations are written at once, so that only the pipeline itself takes ` +
      "time. Replay: the clock moves from observation to observation in steps of five minutes at most, and everything is settled at each step. " +
      `Retraining quick: with a training at least every week. ${rounds} rounds in turns. Every observation but the first got its forecast.`,
    columns: ["", "seconds", "to full batches", "models trained", "seconds in training"],
    rows: [...factsByRun].map(([run, facts]) => [
      run,
      spread(
        facts.map(({ seconds }) => seconds),
        decimals(1),
      ),
      spread(
        facts.map(({ seconds }, round) => seconds / plain[round].seconds),
        decimals(1),
      ),
      whole(facts[0].trainings),
      spread(
        facts.map(({ trainingSeconds }) => trainingSeconds),
        decimals(1),
      ),
    ]),
  };
}
