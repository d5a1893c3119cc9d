// What the benches say: sections of prose and one table each, printed and written to docs/benchmarks.md.

import { readFileSync, writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { join } from "node:path";
import type { Broker } from "../../test/rig/kafka-broker.ts";
import { projectRoot } from "../../test/rig/project.ts";

export interface Section {
  readonly title: string;
  /** What is compared with what, and how. */
  readonly method: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** What the figures come to. */
  readonly outcome?: string;
}

export interface Machine {
  readonly cpu: string;
  readonly broker: string;
}

export function describeMachine(broker: Broker): Machine {
  const cores = cpus();
  const memoryGib = Math.round(totalmem() / 2 ** 30);
  return {
    cpu: `${cores.length} × ${cores[0]?.model.trim()}, ${memoryGib} GiB, Node ${process.versions.node}`,
    broker: `Kafka ${brokerVersion(broker)}, one node, on the same machine`,
  };
}

export function toMarkdown(section: Section): string {
  const widths = section.columns.map((column, i) =>
    Math.max(column.length, ...section.rows.map((row) => row[i]?.length ?? 0)),
  );
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join(" | ")} |`;
  const rule = `| ${widths.map((width, i) => (i === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`)).join(" | ")} |`;
  const table = [line(section.columns), rule, ...section.rows.map(line)].join("\n");
  const outcome = section.outcome === undefined ? "" : `\n${section.outcome}\n`;
  return `## ${section.title}\n\n${section.method}\n\n${table}\n${outcome}`;
}

export function writeReport(sections: readonly Section[], machine: Machine, date: string): void {
  const head = `# Benchmarks

Written by \`npm run bench:pipeline\`; run it again rather than edit this page. All figures are of one run on one machine,
which is shared and noisy: what is compared ran in turns, figures are medians with the range in brackets, and only
ratios within a run mean anything elsewhere.

- Machine: ${machine.cpu}
- Broker: ${machine.broker}
- Date: ${date}
`;
  const text = [head, ...sections.map(toMarkdown)].join("\n");
  writeFileSync(join(projectRoot, "docs", "benchmarks.md"), text);
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

export function quantile(values: readonly number[], level: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const position = level * (sorted.length - 1);
  const below = Math.floor(position);
  const above = Math.min(below + 1, sorted.length - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (position - below);
}

/** The median, and the range it comes from. */
export function spread(values: readonly number[], show: (value: number) => string): string {
  return `${show(median(values))} [${show(Math.min(...values))} … ${show(Math.max(...values))}]`;
}

export function whole(value: number): string {
  return Math.round(value).toLocaleString("en");
}

export function decimals(digits: number): (value: number) => string {
  return (value) => value.toFixed(digits);
}

/** The broker tells it only in its log. */
function brokerVersion({ dataDir }: Broker): string {
  const log = readFileSync(join(dataDir, "..", "kafka.log"), "utf8");
  return /Kafka version: (\S+)/.exec(log)?.[1] ?? "of unknown version";
}
