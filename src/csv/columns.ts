// Which columns of a file hold the time, the series and the values: as asked for, or found by name and content. A file is long
// (a column names the series of each row) or wide (every column of numbers is a series).

import { readNumber, readTime } from "./cells.ts";
import { type CsvRow, inputInvalid } from "./rows.ts";

/** By name, or by number from 1; null to find it. */
export interface WantedColumns {
  readonly time: string | null;
  readonly series: string | null;
  /** Several are separated by commas. */
  readonly value: string | null;
}

export interface ValueColumn {
  readonly index: number;
  /** The series of a wide file. */
  readonly name: string;
}

export interface Columns {
  readonly hasHeader: boolean;
  /** Cells in a row. */
  readonly width: number;
  /** Null where the rows carry no time. */
  readonly time: number | null;
  /** Null in a wide file. */
  readonly series: number | null;
  /** One in a long file. */
  readonly values: readonly ValueColumn[];
}

const timeNames = ["time", "timestamp", "date", "datetime", "ds", "ts", "year", "month"];
const seriesNames = ["series", "series_id", "seriesid", "unique_id", "item_id", "sensor", "sensor_id", "id"];
const valueNames = ["value", "y", "target", "reading"];

/** Whether a column has the name of any column of values, or none. */
export function saysNothing(name: string): boolean {
  return valueNames.includes(name.toLowerCase()) || /^column \d+$/.test(name);
}

/** The first rows of a file. */
export interface Sample {
  /** As errors name the file. */
  readonly name: string;
  readonly rows: readonly CsvRow[];
  readonly hasDecimalComma: boolean;
}

/** Throws INPUT_INVALID. */
export function findColumns({ name, rows, hasDecimalComma }: Sample, wanted: WantedColumns): Columns {
  const [first] = rows;
  if (first === undefined) throw inputInvalid(name, "it is empty", "give a header and one row for each time");
  const isNumber = (cell: string) => readNumber(cell, hasDecimalComma) !== null;
  const hasHeader = first.cells.some((cell) => !isNumber(cell) && readTime(cell) === null);
  const data = hasHeader ? rows.slice(1) : rows;
  const where = `${name}:${first.line}`;
  if (data.length === 0)
    throw inputInvalid(where, "there is a header and no row", "add one row for each time");
  const names = first.cells.map((cell, i) => (hasHeader && cell !== "" ? cell : `column ${i + 1}`));
  const header = new Header(where, names);

  const cellsOf = (index: number) => data.map(({ cells }) => cells[index] ?? "");
  const isTimes = (index: number) => cellsOf(index).every((cell) => readTime(cell) !== null);
  const isNumbers = (index: number) => cellsOf(index).every(isNumber);
  const all = names.map((_, index) => index);
  const time =
    header.wanted(wanted.time) ??
    all.find((index) => header.isOneOf(timeNames, index) && isTimes(index)) ??
    // A year or seconds since 1970 are numbers as well: without a name they are taken for values.
    all.find((index) => isTimes(index) && !isNumbers(index)) ??
    null;
  const series =
    header.wanted(wanted.series) ??
    all.find((index) => index !== time && header.isOneOf(seriesNames, index) && !isNumbers(index)) ??
    null;
  const columns = { hasHeader, width: names.length, time, series };
  if (wanted.value !== null) {
    const values = wanted.value.split(",").map((column) => header.valueColumn(column.trim()));
    return { ...columns, values: checkLong(where, series, values) };
  }
  const numbers = all.filter((index) => index !== time && index !== series && isNumbers(index));
  const named = numbers.filter((index) => header.isOneOf(valueNames, index));
  const chosen = series !== null && named.length === 1 ? named : numbers;
  const values = chosen.map((index) => ({ index, name: names[index] }));
  if (values.length === 0) {
    const text = all.find((index) => index !== time && index !== series) ?? 0;
    const bad = data.find(({ cells }) => !isNumber(cells[text] ?? ""));
    throw inputInvalid(
      `${name}:${bad?.line ?? first.line}`,
      `"${bad?.cells[text] ?? ""}" in column "${names[text]}" is not a number, and no other column holds numbers`,
      "correct it, or name the column of the values with --value",
    );
  }
  return { ...columns, values: checkLong(where, series, values) };
}

function checkLong(
  where: string,
  series: number | null,
  values: readonly ValueColumn[],
): readonly ValueColumn[] {
  if (series === null || values.length === 1) return values;
  const found = values.map(({ name }) => name).join(", ");
  throw inputInvalid(
    where,
    `a column names the series, and several hold numbers (${found})`,
    "name the one with the values with --value",
  );
}

class Header {
  readonly #where: string;
  readonly #names: readonly string[];

  constructor(where: string, names: readonly string[]) {
    this.#where = where;
    this.#names = names;
  }

  isOneOf(names: readonly string[], index: number): boolean {
    return names.includes(this.#names[index].toLowerCase());
  }

  wanted(column: string | null): number | null {
    return column === null ? null : this.#indexOf(column);
  }

  valueColumn(column: string): ValueColumn {
    const index = this.#indexOf(column);
    return { index, name: this.#names[index] };
  }

  #indexOf(column: string): number {
    const exact = this.#names.indexOf(column);
    if (exact >= 0) return exact;
    const number = /^\d+$/.test(column) ? Number(column) - 1 : -1;
    if (number >= 0 && number < this.#names.length) return number;
    const known = this.#names.join(", ");
    throw inputInvalid(this.#where, `there is no column "${column}"`, `the columns are ${known}`);
  }
}
