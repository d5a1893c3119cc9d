// Commands that read series from CSV files: their operands, their flags for columns, and the files behind them.

import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { WantedColumns } from "../csv/columns.ts";
import { readPoints } from "../csv/points.ts";
import { type CsvSource, fileSource, inputInvalid } from "../csv/rows.ts";
import type { Observation } from "../domain.ts";
import { parseInterval } from "../models/interval.ts";
import { text } from "../runtime/config/formats.ts";
import { option } from "./command.ts";

export const csvOperands = { name: "FILE...", doc: "CSV files or folders of them; - reads standard input" };

export const columnFlags = {
  time: option("column of the times: name, or number from 1; found if absent", "COLUMN", text("column", /./)),
  series: option("column that names the series of a row", "COLUMN", text("column", /./)),
  value: option("columns of the values, separated by commas", "COLUMN", text("column", /./)),
};

/** Rows are so far apart where neither a column nor the configuration says. */
const assumedInterval = "PT1H";
export const assumption = "no column holds times: rows are taken as hourly; --series.interval says otherwise";

interface CsvInput {
  /** Reading throws INPUT_INVALID. */
  readonly points: AsyncIterable<readonly Observation[]>;
  /** Whether all rows read so far carry a time. */
  hasTimes(): boolean;
  /** Whether the rows read so far were taken as hourly. */
  isAssumed(): boolean;
}

/** `interval`: as configured. */
export function openCsv(operands: readonly string[], wanted: WantedColumns, interval: string): CsvInput {
  const isAuto = interval === "auto";
  const step = parseInterval(isAuto ? assumedInterval : interval);
  let hasTimes = true;
  const points = readPoints(csvSources(operands), {
    wanted,
    timeOfRow: (row) => step.timeOf(row, 0),
    onColumns: (_, { time }) => {
      hasTimes &&= time !== null;
    },
  });
  return { points, hasTimes: () => hasTimes, isAssumed: () => !hasTimes && isAuto };
}

function csvSources(operands: readonly string[]): readonly CsvSource[] {
  return operands.flatMap((operand) => {
    if (operand === "-") return [{ name: "standard input", open: () => process.stdin }];
    if (statSync(operand, { throwIfNoEntry: false })?.isDirectory() !== true) return [fileSource(operand)];
    const files = readdirSync(operand).filter((name) => /\.(csv|tsv)$/i.test(name));
    if (files.length === 0) throw inputInvalid(operand, "the folder has no .csv or .tsv file", "name a file");
    return files.sort().map((name) => fileSource(join(operand, name)));
  });
}
