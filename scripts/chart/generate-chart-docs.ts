// Generates the table of values in docs/helm.md, between its two marks. The rest of the page is written by hand. Writes
// nothing.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type ChartValue, leavesOf, readChartValues } from "./chart-values.ts";

const begin = "<!-- values: generated from helm/forecastnet/values.yaml by `npm run generate` -->";
const end = "<!-- end of values -->";

export function generateChartDocs(root: string): Map<string, string> {
  const path = "docs/helm.md";
  const page = readFileSync(join(root, path), "utf8");
  const values = readChartValues(readFileSync(join(root, "helm/forecastnet/values.yaml"), "utf8"));
  const [before, rest] = splitAt(page, begin);
  const [, after] = splitAt(rest, end);
  return new Map([[path, `${before}${begin}\n\n${valuesTable(values)}\n${end}${after}`]]);
}

function splitAt(text: string, mark: string): readonly [string, string] {
  const at = text.indexOf(mark);
  if (at < 0) throw new Error(`docs/helm.md has lost its line ${mark}`);
  return [text.slice(0, at), text.slice(at + mark.length)];
}

function valuesTable(values: readonly ChartValue[]): string {
  const rows = [...leavesOf(values)].map(({ path, fallback, narrowing, doc }) => [
    `\`${path.join(".")}\``,
    showDefault(fallback),
    `${doc ?? ""}${showChoices(narrowing.enum)}`,
  ]);
  const lines = [["value", "default", "meaning"], ["---", "---", "---"], ...rows];
  return lines.map((cells) => `| ${cells.join(" | ")} |\n`).join("");
}

/** Long defaults are not repeated. */
function showDefault(fallback: unknown): string {
  const text = JSON.stringify(fallback);
  return text.length > 60 ? "see values.yaml" : `\`${text}\``;
}

function showChoices(choices: unknown): string {
  return Array.isArray(choices) ? ` One of ${choices.map((choice) => `\`${choice}\``).join(", ")}.` : "";
}
