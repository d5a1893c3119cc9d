// From the moment an observation arrives to the moment its forecast is committed, in a true worker with its whole loop
// of retraining: schedule, training, gate, promotion. With trainings and without, in turns.

import { decimals, quantile, type Section, spread, whole } from "../rig/report.ts";
import { askSteadily, askWithoutPause } from "./pace.ts";
import { inTurns, ratiosWithin, times } from "./turns.ts";
import { partitions, WholeWorker } from "./whole-worker.ts";

export interface EndToEndOptions {
  readonly rounds: number;
  readonly isQuick: boolean;
}

type Condition = "without" | "with";

interface Facts {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  readonly trained: number;
}

/** Of what the worker can do without training. */
const load = 0.5;
/** Arrive together; as many as there are partitions, so that every lane has one. */
const together = partitions;
/** Event time runs as fast as observations come, and must not overtake the clock. */
const mostPerSecond = 2_000;

export async function measureEndToEnd({ rounds, isQuick }: EndToEndOptions): Promise<Section> {
  const series = isQuick ? 20 : 100;
  const worker = await WholeWorker.open(series);
  const observe = () => worker.observe(together);
  await worker.verify();
  const rush = { atOnce: 8, forMs: isQuick ? 500 : 2_000 };
  const capacity = together * (await askWithoutPause(observe, rush));
  const perSecond = Math.min(load * capacity, mostPerSecond);
  const everyMs = (1000 * together) / perSecond;
  const pace = { everyMs, times: Math.ceil((isQuick ? 1_500 : 5_000) / everyMs) };
  const facts = await inTurns(["without", "with"] as const, rounds, async (condition): Promise<Facts> => {
    const before = worker.turnstile.trained;
    if (condition === "with") await worker.turnstile.open();
    const waitsMs = await askSteadily(observe, pace);
    await worker.endTraining();
    return {
      ...{ p50Ms: quantile(waitsMs, 0.5), p99Ms: quantile(waitsMs, 0.99), maxMs: Math.max(...waitsMs) },
      trained: worker.turnstile.trained - before,
    };
  });
  await worker.close();
  return sectionOf(facts, { series, rounds, perSecond, capacity });
}

interface Circumstances {
  readonly series: number;
  readonly rounds: number;
  readonly perSecond: number;
  /** Observations per second, without training. */
  readonly capacity: number;
}

function sectionOf(
  facts: Readonly<Record<Condition, readonly Facts[]>>,
  { series, rounds, perSecond, capacity }: Circumstances,
): Section {
  const { without, with: beside } = facts;
  const readers = [
    ({ p50Ms }: Facts) => p50Ms,
    ({ p99Ms }: Facts) => p99Ms,
    ({ maxMs }: Facts) => maxMs,
  ] as const;
  const row = (what: string, own: readonly Facts[]) => [
    what,
    ...readers.map((read) => spread(own.map(read), decimals(1))),
    whole(own.reduce((sum, { trained }) => sum + trained, 0)),
  ];
  return {
    title: "From arrival to committed forecast, beside training",
    method:
      `A whole worker on the embedded log, ${whole(series)} series on ${partitions} partitions, each with a full history and a model. ${whole(perSecond)} ` +
      `observations/s at an even pace, ${together} at a time: ${whole((100 * perSecond) / capacity)} % of the worker's rate without training. The latency counts from the due time ` +
      "until all their forecasts are committed. Sender and subscriber share the worker's event loop. With training: the worker trains one model " +
      "after the other on its low-priority thread (quick), judges each at the gate and promotes those that pass. Probation outlasts the run. " +
      `${rounds} rounds in turns. Every observation got its forecast, and the first forecasts of every series were verified to come from its model.`,
    columns: ["trainings", "p50 ms", "p99 ms", "max ms", "models trained"],
    rows: [
      row("without", without),
      row("with", beside),
      ["with to without", ...readers.map((read) => spread(ratiosWithin(beside, without, read), times)), ""],
    ],
  };
}
