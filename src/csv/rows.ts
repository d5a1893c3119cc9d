// The rows of a CSV file or of standard input, in batches, each row with its line. The delimiter is found in the first line:
// comma, semicolon, tab or bar. Quotes, CRLF and a byte order mark are understood. The file is never held as a whole.

import { createReadStream } from "node:fs";
import { Readable } from "node:stream";
import { type CsvError, type Info, parse } from "csv-parse";
import { ForecastnetError } from "../runtime/errors.ts";

export interface CsvSource {
  /** As errors name it. */
  readonly name: string;
  open(): Readable;
}

export interface CsvRow {
  /** The line on which it ends, counted from 1. */
  readonly line: number;
  readonly cells: readonly string[];
}

export interface CsvRows {
  readonly delimiter: string;
  readonly batches: AsyncIterable<readonly CsvRow[]>;
}

const delimiters = [",", ";", "\t", "|"];
const rowsPerBatch = 1_000;
/** The first line is looked for in so many bytes at most. */
const headBytes = 1_048_576;
/** A longer row has an open quote, or is no row. */
const rowBytes = 4_194_304;

export function fileSource(path: string): CsvSource {
  return { name: path, open: () => createReadStream(path) };
}

export function inputInvalid(where: string, what: string, advice: string): ForecastnetError {
  return new ForecastnetError("INPUT_INVALID", `${where}: ${what}; ${advice}`);
}

/** Throws INPUT_INVALID. */
export async function openRows(source: CsvSource): Promise<CsvRows> {
  const chunks = source.open()[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  const head = await readHead(chunks, source.name);
  const delimiter = findDelimiter(head.toString("utf8"));
  return { delimiter, batches: toBatches(parseAll(head, chunks, delimiter), source.name) };
}

async function readHead(chunks: AsyncIterator<Buffer>, name: string): Promise<Buffer> {
  let head = Buffer.alloc(0);
  while (head.length < headBytes && !head.includes("\n")) {
    const next = await readChunk(chunks, name);
    if (next === null) break;
    head = Buffer.concat([head, next]);
  }
  const isUtf16 = head.length > 1 && (head.readUInt16LE(0) === 0xfeff || head.readUInt16BE(0) === 0xfeff);
  if (isUtf16) throw inputInvalid(name, "the text is in UTF-16", "save it as UTF-8");
  if (head.includes(0)) throw inputInvalid(name, "this is not a text file", "give a CSV file");
  return head;
}

async function readChunk(chunks: AsyncIterator<Buffer>, name: string): Promise<Buffer | null> {
  try {
    const { value, done } = await chunks.next();
    return done === true ? null : value;
  } catch (error) {
    throw inputInvalid(
      name,
      `it cannot be read: ${(error as Error).message}`,
      "give a file that can be read",
    );
  }
}

/** The delimiter that the first line has most of, outside quotes. */
function findDelimiter(head: string): string {
  const [first = ""] = head.replaceAll(/"[^"]*"/g, "").split(/\r?\n/, 1);
  const counts = delimiters.map((delimiter) => first.split(delimiter).length);
  return delimiters[counts.indexOf(Math.max(...counts))];
}

function parseAll(head: Buffer, chunks: AsyncIterator<Buffer>, delimiter: string) {
  const whole = async function* () {
    yield head;
    for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) yield next.value;
  };
  const parser = parse({
    ...{ delimiter, bom: true, info: true, trim: true },
    // A row with too few or too many cells is refused with its line by whoever knows the header.
    ...{ relax_column_count: true, skip_empty_lines: true, max_record_size: rowBytes },
  });
  const input = Readable.from(whole());
  input.once("error", (error) => parser.destroy(error));
  return input.pipe(parser);
}

async function* toBatches(
  parsed: AsyncIterable<{ readonly record: readonly string[]; readonly info: Info }>,
  name: string,
): AsyncGenerator<readonly CsvRow[]> {
  let batch: CsvRow[] = [];
  try {
    for await (const { record, info } of parsed) {
      batch.push({ line: info.lines, cells: record });
      if (batch.length < rowsPerBatch) continue;
      yield batch;
      batch = [];
    }
  } catch (error) {
    if (error instanceof ForecastnetError) throw error;
    throw unreadable(name, error as CsvError);
  }
  if (batch.length > 0) yield batch;
}

function unreadable(name: string, { code, lines, message }: CsvError & { lines?: number }): ForecastnetError {
  const where = lines === undefined ? name : `${name}:${lines}`;
  if (code === "CSV_QUOTE_NOT_CLOSED" || code === "CSV_MAX_RECORD_SIZE")
    return inputInvalid(where, "a quote is opened and never closed", "close it, or remove it");
  if (code === "INVALID_OPENING_QUOTE" || code === "CSV_INVALID_CLOSING_QUOTE")
    return inputInvalid(
      where,
      "a quote stands inside a cell",
      'quote the whole cell and double the quote: "a ""b"""',
    );
  return inputInvalid(where, `it cannot be read: ${message}`, "give a CSV file");
}
