// The observations of CSV files, in the order of their rows. A row that cannot be read is refused with its file and line. An
// empty cell, or one that says "NA", is a missing value.

import type { Observation } from "../domain.ts";
import { readNumber, readTime } from "./cells.ts";
import { type Columns, findColumns, saysNothing, type ValueColumn, type WantedColumns } from "./columns.ts";
import { type CsvRow, type CsvSource, inputInvalid, openRows } from "./rows.ts";

export interface PointOptions {
  readonly wanted: WantedColumns;
  /** Time of the n-th row of a series, for files without a column of times. */
  readonly timeOfRow: (row: number) => number;
  /** Called for each file with what its columns were taken for. */
  readonly onColumns?: (source: CsvSource, columns: Columns) => void;
}

/** One observation for each value, in batches. Throws INPUT_INVALID. */
export async function* readPoints(
  sources: readonly CsvSource[],
  options: PointOptions,
): AsyncGenerator<readonly Observation[]> {
  for (const source of sources) yield* readFile(source, sources.length > 1, options);
}

async function* readFile(
  source: CsvSource,
  isOneOfMany: boolean,
  { wanted, timeOfRow, onColumns }: PointOptions,
): AsyncGenerator<readonly Observation[]> {
  const { delimiter, batches } = await openRows(source);
  const hasDecimalComma = delimiter !== ",";
  const { name } = source;
  let reader: RowReader | null = null;
  for await (const rows of batches) {
    if (reader === null) {
      const columns = findColumns({ name, rows, hasDecimalComma }, wanted);
      onColumns?.(source, columns);
      const ids = columns.values.map((column) => idOf(column, name, { columns, isOneOfMany }));
      reader = new RowReader({ name, ids, columns, hasDecimalComma, timeOfRow });
      yield reader.read(columns.hasHeader ? rows.slice(1) : rows);
    } else yield reader.read(rows);
  }
  if (reader === null) findColumns({ name, rows: [], hasDecimalComma }, wanted); // Throws: the file is empty.
}

/** The series of a column in a wide file: the name of the column, or of the file where that says more. */
function idOf(
  column: ValueColumn,
  file: string,
  { columns, isOneOfMany }: { readonly columns: Columns; readonly isOneOfMany: boolean },
): string {
  const stem = file.replace(/^.*[\\/]/, "").replace(/\.[^.]*$/, "");
  if (columns.values.length === 1 && saysNothing(column.name)) return stem;
  return isOneOfMany ? `${stem}/${column.name}` : column.name;
}

interface ReaderOptions {
  readonly name: string;
  /** The series of each column of values; not used in a long file. */
  readonly ids: readonly string[];
  readonly columns: Columns;
  readonly hasDecimalComma: boolean;
  readonly timeOfRow: (row: number) => number;
}

class RowReader {
  readonly #options: ReaderOptions;
  readonly #rowsBySeries = new Map<string, number>();

  constructor(options: ReaderOptions) {
    this.#options = options;
  }

  read(rows: readonly CsvRow[]): readonly Observation[] {
    const { columns, ids } = this.#options;
    const points: Observation[] = [];
    for (const row of rows) {
      this.#checkWidth(row);
      const named = columns.series === null ? null : this.#seriesOf(row, columns.series);
      for (const [i, { index, name }] of columns.values.entries()) {
        const seriesId = named ?? ids[i];
        const timeMs = columns.time === null ? this.#nextTime(seriesId) : this.#timeOf(row, columns.time);
        const value = this.#valueOf(row, index, name);
        if (!Number.isNaN(value)) points.push({ seriesId, timeMs, values: [value] });
      }
    }
    return points;
  }

  #checkWidth(row: CsvRow): void {
    const { width } = this.#options.columns;
    const { length } = row.cells;
    if (length === width) return;
    throw inputInvalid(
      this.#at(row),
      `the row has ${length} ${length === 1 ? "cell" : "cells"}, the first row has ${width}`,
      "correct the row; a cell that contains the delimiter must be quoted",
    );
  }

  #seriesOf(row: CsvRow, index: number): string {
    const id = row.cells[index];
    if (id !== "") return id;
    throw inputInvalid(this.#at(row), "the series is empty", "name the series, or remove the row");
  }

  #timeOf(row: CsvRow, index: number): number {
    const cell = row.cells[index];
    const timeMs = readTime(cell);
    if (timeMs !== null) return timeMs;
    throw inputInvalid(
      this.#at(row),
      `"${cell}" is not a time that has one meaning`,
      "write 2024-01-31T13:00:00Z, 2024-01-31 13:00 (UTC), 31.01.2024 13:00 or seconds since 1970",
    );
  }

  #nextTime(seriesId: string): number {
    const row = this.#rowsBySeries.get(seriesId) ?? 0;
    this.#rowsBySeries.set(seriesId, row + 1);
    return this.#options.timeOfRow(row);
  }

  #valueOf(row: CsvRow, index: number, column: string): number {
    const cell = row.cells[index];
    const value = readNumber(cell, this.#options.hasDecimalComma);
    if (value !== null) return value;
    throw inputInvalid(
      this.#at(row),
      `"${cell}" in column "${column}" is not a number`,
      "write numbers without thousands separators, and leave the cell empty where a value is missing",
    );
  }

  #at({ line }: CsvRow): string {
    return `${this.#options.name}:${line}`;
  }
}
