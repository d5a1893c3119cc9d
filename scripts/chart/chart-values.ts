// Reads the chart's values.yaml with its comments, from which the schema and the table in the docs are made: every
// value with its default, what its comment says it means, and what its comment narrows it to. Refuses a value that
// nobody has described.

import { isMap, isScalar, LineCounter, type Pair, parse, parseDocument, type YAMLMap } from "yaml";
import { isPlainObject, type JsonSchema } from "../../src/runtime/config/formats.ts";
import { kubernetesShapes } from "./kubernetes-shapes.ts";

export interface ChartValue {
  /** Names from the top down, the value's own last. */
  readonly path: readonly string[];
  /** Null for a group of values, which needs none. */
  readonly doc: string | null;
  /** From a `@schema` comment; narrows what the default tells of the type. */
  readonly narrowing: JsonSchema;
  readonly fallback: unknown;
  /** The values in a group; null where a value ends. */
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
  if (!isMap(document.contents)) throw new Error("the values are no group of keys");
  return readGroup(document.contents, [], { lines: text.split("\n"), counter });
}

/** The values of a tree that are no groups, in the order of the file. */
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
  if (!isScalar(key) || key.range == null) throw new Error(`below ${above.join(".")} a key is no plain name`);
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

/** The unbroken run of comment lines that ends above a line, from the top down, without their signs. */
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
  if (!isPlainObject(narrowing)) throw new Error(`${path.join(".")}: @schema ${given} is none we know`);
  return { doc: after("--"), narrowing };
}
