// Measures the whole engine with a fleet of models: forecasts from raw window to quantiles, two threads against one, how
// time grows with the fleet, and the memory of a model. By wall time, on all cores, with the event loop on one of them.

import { ChildTask } from "../rig/child-task.ts";
import { decimals, type Section, spread, whole } from "../rig/report.ts";
import type { Bar } from "./bars.ts";
import { differenceOf, tolerance } from "./duel.ts";
import { type EngineAnswer, type EngineQuestion, levels, weightBytes } from "./engine-questions.ts";

interface FleetOptions {
  readonly rounds: number;
  readonly isQuick: boolean;
}

export interface FleetReport {
  readonly sections: readonly Section[];
  readonly bars: readonly Bar[];
}

type Subject = ChildTask<EngineQuestion, EngineAnswer>;

async function openSubject(engine: "simd" | "reference", threads: number, models: number): Promise<Subject> {
  const subject: Subject = new ChildTask(new URL("./engine-subject.js", import.meta.url));
  await subject.ask({ kind: "open", engine, threads });
  await subject.ask({ kind: "grow", models });
  return subject;
}

/** Asks each in turn, `rounds` times; returns the answers by subject. */
async function inTurns(
  subjects: readonly Subject[],
  rounds: number,
  ask: (subject: Subject, index: number) => Promise<EngineAnswer>,
): Promise<readonly (readonly EngineAnswer[])[]> {
  const answers = subjects.map((): EngineAnswer[] => []);
  // The first round warms up compilers and caches and does not count.
  for (const [i, subject] of subjects.entries()) await ask(subject, i);
  for (let round = 0; round < rounds; round++) {
    for (const [i, subject] of subjects.entries()) answers[i].push(await ask(subject, i));
  }
  return answers;
}

const wallOf = (answers: readonly EngineAnswer[]) => answers.map(({ wallMs }) => wallMs);

function perRound(
  above: readonly EngineAnswer[],
  below: readonly EngineAnswer[],
  key: "wallMs" | "cpuMs" = "wallMs",
): number[] {
  return above.map((answer, round) => answer[key] / below[round][key]);
}

/** The same forecasts and fits with one thread and with two, after a comparison with the reference. */
export async function measureThreads({ rounds, isQuick }: FleetOptions): Promise<FleetReport> {
  const models = isQuick ? 200 : 1_000;
  const nets = isQuick ? 8 : 24;
  const difference = await compareWithReference();
  const subjects = [await openSubject("simd", 1, models), await openSubject("simd", 2, models)];
  const forecasts = await inTurns(subjects, rounds, (subject) =>
    subject.ask({ kind: "forecast", passes: 1 }),
  );
  const loops = await inTurns(subjects, rounds, (subject) => subject.ask({ kind: "spin" }));
  const fits = await inTurns(subjects, rounds, (subject) => subject.ask({ kind: "fit", nets }));
  for (const subject of subjects) subject.close();
  const row = (what: string, count: number, answers: readonly (readonly EngineAnswer[])[]) => [
    what,
    ...answers.map((ofOne) => spread(perSecond(count, wallOf(ofOne)), whole)),
    spread(perRound(answers[0], answers[1]), decimals(2)),
    spread(
      answers[0].map(({ cpuMs }) => (1000 * count) / cpuMs),
      whole,
    ),
  ];
  return {
    sections: [
      {
        title: "The whole engine, one thread and two",
        method:
          `From raw windows to mean, deviation and ${levels.length} quantiles: framing, 100 sample paths, Gaussian mixture, back to raw units. ` +
          `The calling event loop runs on the same cores. ${whole(models)} FN models are forecast and ${nets} nets are trained per ` +
          "round, with two learning rates, batches of 64 and validation. Rates are per wall time; the last column is per CPU time of the " +
          `engine with one thread, including the event loop. ${rounds} rounds in turns. First, forecasts and a fit were compared with those of ` +
          `the reference. They differ by at most ${difference.toExponential(1)}, relative to the largest value.`,
        columns: ["per second", "one thread", "two threads", "two to one", "per CPU second"],
        rows: [row("forecasts", models, forecasts), row("fits", nets, fits)],
        outcome:
          "The machine itself at that time: two concurrent bare loops did " +
          `${spread(perRound(loops[0], loops[1]).map(twice), decimals(2))} times the work of one.`,
      },
    ],
    bars: [
      {
        what: "forecasts: two threads to one",
        values: perRound(forecasts[0], forecasts[1]),
        atLeast: 1.7,
      },
      { what: "training: two threads to one", values: perRound(fits[0], fits[1]), atLeast: 1.7 },
    ],
  };
}

function twice(ratio: number): number {
  return 2 * ratio;
}

function perSecond(count: number, wallMs: readonly number[]): number[] {
  return wallMs.map((ms) => (1000 * count) / ms);
}

async function compareWithReference(): Promise<number> {
  const models = 8;
  const results: Float64Array[] = [];
  for (const engine of ["reference", "simd"] as const) {
    const subject = await openSubject(engine, 2, models);
    results.push(Float64Array.from((await subject.ask({ kind: "results", models })).results));
    subject.close();
  }
  // The last number is a loss; the others are raw values.
  const [ofForecasts, ofFit] = [
    [0, -1],
    [-1, undefined],
  ].map(([from, to]) => differenceOf(results[1].slice(from, to), results[0].slice(from, to)));
  const difference = Math.max(ofForecasts, ofFit);
  if (!(difference <= tolerance)) {
    throw new Error(`the engine's forecasts or fits differ by ${difference} from those of the reference`);
  }
  return difference;
}

/** Ten times the series: each fleet in its own process, the same number of forecasts per round. */
export async function measureEngineGrowth({ rounds, isQuick }: FleetOptions): Promise<FleetReport> {
  const few = isQuick ? 100 : 200;
  const sizes = [few, 10 * few];
  const subjects: Subject[] = [];
  for (const models of sizes) subjects.push(await openSubject("simd", 1, models));
  // The small fleet ten times, the large one once: rounds of equal length.
  const answers = await inTurns(subjects, rounds, (subject, i) => {
    return subject.ask({ kind: "forecast", passes: sizes[1] / sizes[i] });
  });
  for (const subject of subjects) subject.close();
  const growth = perRound(answers[1], answers[0]).map((ratio) => 10 * ratio);
  const cpuGrowth = perRound(answers[1], answers[0], "cpuMs").map((ratio) => 10 * ratio);
  const perForecast = (key: "wallMs" | "cpuMs", i: number) =>
    answers[i].map((answer) => (1000 * answer[key]) / sizes[1]);
  return {
    sections: [
      {
        title: "Ten times the series",
        method:
          `Every series has its own FN model, resident in the engine, which has one thread. A round is ${whole(sizes[1])} forecasts: every model of ` +
          `the small fleet ten times, every model of the large one once. ${rounds} rounds in turns, each fleet in its own process.`,
        columns: ["series", "µs per forecast", "CPU µs per forecast"],
        rows: [
          ...sizes.map((models, i) => [
            whole(models),
            spread(perForecast("wallMs", i), whole),
            spread(perForecast("cpuMs", i), whole),
          ]),
          ["10 × the series cost", spread(growth, times), spread(cpuGrowth, times)],
        ],
      },
    ],
    bars: [{ what: "time for ten times the series", values: growth, atMost: 10.5 }],
  };
}

function times(value: number): string {
  return `${value.toFixed(2)} ×`;
}

/** The growth of the process when models are added, after a forecast of each. */
export async function measureEngineMemory({ isQuick }: FleetOptions): Promise<FleetReport> {
  // Caches of fixed size are full after the first 600 models.
  const sizes = isQuick ? [10, 600, 1_000] : [10, 600, 2_600];
  const shares: { readonly threads: number; readonly all: number; readonly more: number }[] = [];
  for (const threads of [1, 2]) {
    const subject = await openSubject("simd", threads, sizes[0]);
    const bytes: number[] = [];
    for (const models of sizes) {
      await subject.ask({ kind: "grow", models });
      bytes.push((await subject.ask({ kind: "memory" })).residentBytes);
    }
    subject.close();
    const share = (from: number) => (bytes[2] - bytes[from]) / (sizes[2] - sizes[from]) / weightBytes;
    shares.push({ threads, all: share(0), more: share(1) });
  }
  const [all, more] = [sizes[2] - sizes[0], sizes[2] - sizes[1]];
  return {
    sections: [
      {
        title: "Memory of a resident model",
        method:
          "The growth of the process's resident memory per added FN model, after garbage collection. Every model was " +
          `decoded from its bytes and forecast once. Its weights are ${whole(weightBytes)} bytes. The first figure includes a share of the ` +
          "fixed-size cache in which each thread keeps packed models, so it falls as the fleet grows. For the last models that cache is full.",
        columns: [
          "threads",
          `all ${whole(all)}: bytes per model`,
          "to its weights",
          `the last ${whole(more)}: bytes per model`,
          "to its weights",
        ],
        rows: shares.map((share) => [
          String(share.threads),
          ...[share.all, share.more].flatMap((ofModel) => [
            whole(ofModel * weightBytes),
            decimals(2)(ofModel),
          ]),
        ]),
      },
    ],
    bars: shares.map((share) => ({
      what: `memory of a model to its weights, ${share.threads} thread${share.threads === 1 ? "" : "s"}`,
      values: [share.all],
      atMost: 1.2,
    })),
  };
}
