// What a soak came to, as Markdown.

import { describeMachine } from "../../bench/rig/report.ts";
import { kafkaVersion } from "../rig/kafka-broker.ts";
import type { WorkerFailure, WorkerSample } from "./fleet.ts";
import type { LedgerCounts } from "./forecast-ledger.ts";

export interface SoakResult {
  readonly minutes: number;
  readonly seed: number;
  readonly date: string;
  readonly counts: LedgerCounts;
  readonly timesByFault: ReadonlyMap<string, number>;
  /** The longest time until every partition had gone on after a fault of the kind. */
  readonly longestMsByFault: ReadonlyMap<string, number>;
  readonly samples: readonly WorkerSample[];
  readonly failures: readonly WorkerFailure[];
}

export function isFaultless({ counts }: SoakResult): boolean {
  const { lost, doubled, unexpected, different, outOfOrder } = counts;
  return lost + doubled + unexpected + different + outOfOrder === 0;
}

export function toReport(result: SoakResult): string {
  const { minutes, seed, counts } = result;
  const faults = [...result.timesByFault.values()].reduce((sum, times) => sum + times, 0);
  const sum = (of: (sample: WorkerSample) => number) =>
    result.samples.reduce((total, sample) => total + of(sample), 0);
  return [
    "# Reliability",
    "",
    `Written by \`npm run soak -- --minutes ${minutes} --seed ${seed} --write\`; run that again rather than edit this page.`,
    `Three brokers (Kafka ${kafkaVersion}, replication 3, \`min.insync.replicas\` 2) and three workers with retraining on, on one`,
    "machine. Random faults, the same for the same seed. An idempotent librdkafka producer sends, and a librdkafka",
    "subscriber reads the committed forecasts while they are written; neither shares code with the product.",
    "",
    `- Machine: ${describeMachine()}`,
    `- Date: ${result.date}`,
    `- Length: ${minutes} minutes under ${faults} faults, then until everything was settled`,
    "",
    "## Count",
    "",
    ...table(
      ["what", "count"],
      [
        ["observations in", counts.observations],
        ["forecasts owed", counts.owed],
        ["forecasts read", counts.read],
        ["of them by models", counts.byModels],
        ["compared to the byte (cold tier, before the first model of a series)", counts.comparedToTheByte],
        ["lost", counts.lost],
        ["doubled", counts.doubled],
        ["different", counts.different],
        ["unexpected", counts.unexpected],
        ["out of order within a series", counts.outOfOrder],
        ["transactions committed", sum(({ committed }) => committed)],
        ["transactions aborted and repeated", sum(({ aborted }) => aborted)],
        ["workers that ended by themselves", result.failures.filter(({ wasStopped }) => !wasStopped).length],
        [
          "stops during a fault that had to be forced",
          result.failures.filter((one) => one.wasStopped).length,
        ],
      ],
    ),
    "",
    "## Faults",
    "",
    "Longest standstill: from the end of the fault until every partition had new committed forecasts.",
    "",
    ...table(
      ["fault", "times", "longest standstill"],
      [...result.timesByFault]
        .toSorted(([a], [b]) => a.localeCompare(b))
        .map(([kind, times]) => [kind, times, seconds(result.longestMsByFault.get(kind))]),
    ),
    "",
    "## Memory",
    "",
    "Resident memory of each worker process, after its first half minute and when it was last seen. The first one is",
    "there from beginning to end; the others are replaced by faults.",
    "",
    ...table(
      ["worker", "start, MiB", "end, MiB", "transactions"],
      longLived(result.samples).map(({ name, firstRssMb, lastRssMb, committed }) => [
        ...[name, firstRssMb, lastRssMb, committed],
      ]),
    ),
    ...(result.failures.length === 0 ? [] : failureLines(result.failures)),
    "",
  ].join("\n");
}

/** The first worker, and those that worked most. */
function longLived(samples: readonly WorkerSample[]): WorkerSample[] {
  const [first, ...others] = samples;
  const busiest = others.toSorted((a, b) => b.committed - a.committed).slice(0, 7);
  return first === undefined ? busiest : [first, ...busiest];
}

function failureLines(failures: readonly WorkerFailure[]): string[] {
  const lines = failures.map(
    ({ worker, wasStopped, code, reason }) =>
      `- ${worker}, code ${code}${wasStopped ? ", told to stop during a fault" : ""}: ${reason}`,
  );
  return ["", "## Workers that did not end in order", "", ...lines];
}

function seconds(ms: number | undefined): string {
  return ms === undefined ? "with another" : `${(ms / 1000).toFixed(1)} s`;
}

function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string[] {
  const rule = head.map((_, at) => (at === 0 ? "---" : "---:"));
  return [head, rule, ...rows].map((cells) => `| ${cells.join(" | ")} |`);
}
