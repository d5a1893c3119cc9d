// Reads the chart's values.yaml with its comments: every value with its default, its description and its schema. The
// schema of the chart and the table in the docs are generated from that. Refuses a value without a description.

import { isMap, isScalar, LineCounter, type Pair, parse, parseDocument, type YAMLMap } from "yaml";
import { isPlainObject, type JsonSchema } from "../../src/runtime/config/formats.ts";
import { kubernetesShapes } from "./kubernetes-shapes.ts";

export interface ChartValue {
  /** Names from the top down, the value's own last. */
  readonly path: readonly string[];
  /** Null for a group of values. */
  readonly doc: string | null;
  /** From a `@schema` comment; narrows the type of the default. */
  readonly narrowing: JsonSchema;
  readonly fallback: unknown;
  /** The values of a group; null for a single value. */
  readonly children: readonly ChartValue[] | null;
}

interface Source {
  readonly lines: readonly string[];
  readonly counter: LineCounter;
}

export function readChartValues(text: string): readonly ChartValue[] {
  const counter = new LineCounter();
  const document = parseDocument(text, { lineCounter: counter });
  const [error] = document.errors;
  if (error !== undefined) throw error;
  if (!isMap(document.contents)) throw new Error("values.yaml is no group of keys");
  return readGroup(document.contents, [], { lines: text.split("\n"), counter });
}

/** All single values, in the order of the file. */
export function* leavesOf(values: readonly ChartValue[]): Generator<ChartValue> {
  for (const value of values) {
    if (value.children === null) yield value;
    else yield* leavesOf(value.children);
  }
}

function readGroup(map: YAMLMap, above: readonly string[], source: Source): readonly ChartValue[] {
  return map.items.map((pair) => readPair(pair, above, source));
}

function readPair({ key, value }: Pair, above: readonly string[], source: Source): ChartValue {
  if (!isScalar(key) || key.range == null) throw new Error(`a key below ${above.join(".")} is no plain name`);
  const path = [...above, String(key.value)];
  const { line } = source.counter.linePos(key.range[0]);
  const { doc, narrowing } = readComment(commentAbove(source.lines, line - 1), path);
  const isGroup = isMap(value) && value.items.length > 0 && narrowing.type === undefined;
  if (isGroup) {
    return { path, doc, narrowing, fallback: value.toJSON(), children: readGroup(value, path, source) };
  }
  if (doc === null)
    throw new Error(`values.yaml:${line}: ${path.join(".")} has no comment that begins "# --"`);
  const fallback = (value as { toJSON(): unknown }).toJSON();
  return { path, doc, narrowing, fallback, children: null };
}

/** The comment lines directly above a line, without their signs. */
function commentAbove(lines: readonly string[], index: number): readonly string[] {
  let first = index;
  while (first > 0 && /^\s*#/.test(lines[first - 1])) first--;
  return lines.slice(first, index).map((line) => line.trim().replace(/^#\s?/, ""));
}

function readComment(
  lines: readonly string[],
  path: readonly string[],
): Pick<ChartValue, "doc" | "narrowing"> {
  const after = (mark: string) =>
    lines
      .find((line) => line.startsWith(mark))
      ?.slice(mark.length)
      .trim() ?? null;
  const given: unknown = parse(after("@schema") ?? "{}");
  const narrowing = typeof given === "string" ? kubernetesShapes[given] : given;
  if (!isPlainObject(narrowing)) throw new Error(`${path.join(".")}: @schema ${given} is unknown`);
  return { doc: after("--"), narrowing };
}
