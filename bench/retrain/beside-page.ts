// What forecasting beside training is said to cost: the figures of each condition, and what they are to one another.

import { decimals, type Section, spread, whole } from "../rig/report.ts";
import { batchSize } from "./serving.ts";
import { ratiosWithin, times } from "./turns.ts";

export type Condition = "alone" | "lowered" | "normal";

export interface Facts {
  /** Forecasts, asked for as fast as answers come. */
  readonly perSecond: number;
  /** Of a batch, asked for at an even pace. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** By how much the event loop's timers came late, at an even pace. */
  readonly loopP99Ms: number;
  /** Processor time over time by the clock, at an even pace. */
  readonly cores: number;
}

export interface Circumstances {
  readonly threads: number;
  /** Models. */
  readonly served: number;
  readonly rounds: number;
  /** Of what the engine did alone. */
  readonly load: number;
  readonly perSecond: number;
}

const readers = [
  { read: ({ perSecond }: Facts) => perSecond, show: whole },
  { read: ({ p50Ms }: Facts) => p50Ms, show: decimals(1) },
  { read: ({ p99Ms }: Facts) => p99Ms, show: decimals(1) },
  { read: ({ loopP99Ms }: Facts) => loopP99Ms, show: decimals(1) },
] as const;

export function besideSection(
  facts: Readonly<Record<Condition, readonly Facts[]>>,
  { threads, served, rounds, load, perSecond }: Circumstances,
): Section {
  const { alone, lowered, normal } = facts;
  const row = (what: string, own: readonly Facts[]) => [
    what,
    ...readers.map(({ read, show }) => spread(own.map(read), show)),
    // The forecasts are the same in number: what more is used is the training's.
    own === alone ? "" : spread(trainingCores(own, alone), decimals(2)),
  ];
  const ratio = (what: string, above: readonly Facts[], below: readonly Facts[]) => [
    what,
    ...readers.map(({ read }) => spread(ratiosWithin(above, below, read), times)),
    "",
  ];
  return {
    title: "Forecasts beside training",
    method:
      `${whole(served)} models of the default series as trained above, on the engine of a worker with ${threads} ` +
      `thread${threads === 1 ? "" : "s"}, in batches of ${batchSize}, next to the event loop that sends the requests. Throughput: requests are sent as fast as ` +
      `answers arrive. Latency of a batch: ${whole(perSecond)} forecasts/s at an even pace, ${whole(100 * load)} % of the engine's rate without training, counted from the moment ` +
      `a batch was due. One thread trains models without a pause (τ 24, quick). The three conditions are no such thread, one of low priority as in a worker, and one of ` +
      `normal priority. ${rounds} rounds, the three in turns. Beforehand, forecasts made during training were verified to equal those made without it, bit for bit.`,
    columns: [
      "training beside",
      "forecasts/s",
      "p50 ms",
      "p99 ms",
      "event loop late, p99 ms",
      "cores the training got",
    ],
    rows: [
      row("none", alone),
      row("low priority", lowered),
      row("normal priority", normal),
      ratio("low priority to none", lowered, alone),
      ratio("normal priority to none", normal, alone),
      ratio("low priority to normal", lowered, normal),
    ],
  };
}

function trainingCores(own: readonly Facts[], alone: readonly Facts[]): number[] {
  return own.map(({ cores }, round) => cores - alone[round].cores);
}
