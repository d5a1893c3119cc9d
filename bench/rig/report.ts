// What the benches say: sections of prose and one table each, printed and written to docs/benchmarks.md, where each
// bench has a part of its own between two markers.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { join } from "node:path";
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

/** What one bench writes: its own part of the page, and no other. */
export interface Part {
  /** Names the markers around it. */
  readonly name: string;
  readonly title: string;
  /** What writes it. */
  readonly command: string;
  /** What the figures depend on, by name: the machine, the versions, the date. */
  readonly facts: Readonly<Record<string, string>>;
  readonly sections: readonly Section[];
}

const head = `# Benchmarks

The command named in each part writes that part. Do not edit this page; run the command again. The figures of a part come from
one run on one machine, which is shared and noisy. Contestants ran in turns. Figures are medians, with the range in
brackets. Only ratios within a run are meaningful on other machines.
`;

export function describeMachine(): string {
  const cores = cpus();
  const memoryGib = Math.round(totalmem() / 2 ** 30);
  return `${cores.length} × ${cores[0]?.model.trim()}, ${memoryGib} GiB, Node ${process.versions.node}`;
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
  return `### ${section.title}\n\n${section.method}\n\n${table}\n${outcome}`;
}

export function writePart(part: Part): void {
  const path = join(projectRoot, "docs", "benchmarks.md");
  writeFileSync(path, putPart(existsSync(path) ? readFileSync(path, "utf8") : head, part));
}

/** The page with the part in its old place, or at the end when it is new; the other parts stay as they are. */
export function putPart(page: string, part: Part): string {
  const begin = `<!-- ${part.name}: begin -->`;
  const end = `<!-- ${part.name}: end -->`;
  const facts = Object.entries(part.facts).map(([name, fact]) => `- ${name}: ${fact}`);
  const intro = [`## ${part.title}`, "", `Written by \`${part.command}\`.`, "", ...facts, ""].join("\n");
  const text = [begin, [intro, ...part.sections.map(toMarkdown)].join("\n") + end, ""].join("\n");
  const [beginAt, endAt] = [page.indexOf(begin), page.indexOf(end)];
  if (beginAt < 0 !== endAt < 0 || endAt < beginAt) {
    throw new Error(
      `docs/benchmarks.md has only one of the markers "${begin}" and "${end}", or in the wrong order`,
    );
  }
  if (beginAt < 0) return `${page.trimEnd()}\n\n${text}`;
  return page.slice(0, beginAt) + text + page.slice(endAt + end.length + 1);
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

/** The median, and the range it comes from; a single value has none. */
export function spread(values: readonly number[], show: (value: number) => string): string {
  if (values.length === 1) return show(values[0]);
  return `${show(median(values))} [${show(Math.min(...values))} … ${show(Math.max(...values))}]`;
}

export function whole(value: number): string {
  return Math.round(value).toLocaleString("en");
}

export function decimals(digits: number): (value: number) => string {
  return (value) => value.toFixed(digits);
}
