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
    `\`npm run soak -- --minutes ${minutes} --seed ${seed} --write\` writes this page. Do not edit it; run the command again.`,
    `Three brokers (Kafka ${kafkaVersion}, replication 3, \`min.insync.replicas\` 2) and three workers with retraining run on one`,
    "machine. The faults are random; the same seed gives the same faults. An idempotent librdkafka producer sends, and a librdkafka",
    "subscriber reads the committed forecasts as they are written. Neither shares code with the product.",
    "",
    `- Machine: ${describeMachine()}`,
    `- Date: ${result.date}`,
    `- Length: ${minutes} minutes under ${faults} faults, then until all work was settled`,
    "",
    "## Count",
    "",
    ...table(
      ["what", "count"],
      [
        ["observations in", counts.observations],
        ["forecasts expected", counts.owed],
        ["forecasts read", counts.read],
        ["of them by models", counts.byModels],
        ["compared byte for byte (cold tier, before the first model of a series)", counts.comparedToTheByte],
        ["lost", counts.lost],
        ["duplicated", counts.doubled],
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
    "Resident memory of each worker process, after its first half minute and at its last sample. The first one runs",
    "from beginning to end; faults replace the others.",
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
      `- ${worker}, code ${code}${wasStopped ? ", stopped during a fault" : ""}: ${reason}`,
  );
  return ["", "## Workers that did not stop cleanly", "", ...lines];
}

function seconds(ms: number | undefined): string {
  return ms === undefined ? "with another" : `${(ms / 1000).toFixed(1)} s`;
}

function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string[] {
  const rule = head.map((_, at) => (at === 0 ? "---" : "---:"));
  return [head, rule, ...rows].map((cells) => `| ${cells.join(" | ")} |`);
}
