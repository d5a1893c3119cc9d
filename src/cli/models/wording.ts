// Models, times and decisions as people read them.

import type { ModelEventRecord } from "../../log/codec/schemas.generated.ts";

/** UTC, to the second. */
export function timeText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace("T", " ")}Z`;
}

/** Four digits that matter, and no more zeros than needed. */
export function numberText(value: number): string {
  return Number.isFinite(value) ? String(Number(value.toPrecision(4))) : "–";
}

export function optionalNumber(value: number | null): string {
  return value === null ? "–" : numberText(value);
}

/** A series id or a reason comes from elsewhere: what would move the cursor of a terminal is shown, not done. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (character) => {
    const code = character.codePointAt(0) as number;
    return `\\u{${code.toString(16)}}`;
  });
}

/** One line, and a second one with the numbers that decided, if there are any. */
export function eventLines(event: ModelEventRecord): readonly string[] {
  const { time, kind, fromVersion, toVersion, reason } = event;
  const word = kind.toLowerCase().replace("_", " ").padEnd(11);
  const versions = toVersion === null ? (fromVersion ?? "") : `${fromVersion ?? "cold"} → ${toVersion}`;
  const numbers = Object.entries(event.numbers).map(([name, value]) => `${name} ${numberText(value)}`);
  const head = [timeText(time), word, ...(versions === "" ? [] : [`${versions}:`]), reason].join("  ");
  return [head, ...(numbers.length > 0 ? [`${" ".repeat(22)}${numbers.join(", ")}`] : [])].map(printable);
}

export interface Column<T> {
  readonly title: string;
  readonly text: (row: T) => string;
  readonly isNumber?: boolean;
}

/** Rows under their titles, each column as wide as its widest text; nothing follows the last one. */
export function tableLines<T>(columns: readonly Column<T>[], rows: readonly T[]): readonly string[] {
  const cells = [
    columns.map(({ title }) => title),
    ...rows.map((row) => columns.map(({ text }) => printable(text(row)))),
  ];
  const widths = columns.map((_, c) => cells.reduce((most, line) => Math.max(most, lengthOf(line[c])), 0));
  return cells.map((line) =>
    line
      .map((cell, c) => {
        const space = " ".repeat(widths[c] - lengthOf(cell));
        return columns[c].isNumber ? space + cell : cell + space;
      })
      .join("  ")
      .trimEnd(),
  );
}

function lengthOf(text: string): number {
  return [...text].length;
}
