// The formats of settings. A format describes what it allows, reads text (environment variables and flags are always
// text) and checks a value. It never guesses: "12abc" is no number and "yes" is no boolean. It also describes itself as a
// JSON Schema for other tools.

import { parse as parseYaml } from "yaml";
import { cronProblem } from "../cron.ts";
import { type Flaw, refusal, unknownKey } from "./problems.ts";

/** For tools that check a value without running our code. */
export type JsonSchema = Readonly<Record<string, unknown>>;

export interface Format<T> {
  /** Part of every message about the setting, and of docs/configuration.md. */
  readonly allowed: string;
  /** Describes the value as read. It may accept what `flaws` refuses, never the reverse. */
  readonly schema: JsonSchema;
  /** Converts what a source gave. Returns what it cannot convert unchanged, for `flaws` to refuse. */
  read(given: unknown): unknown;
  flaws(value: unknown): readonly Flaw[];
  /** Never set: it carries T to the compiler. */
  readonly type?: T;
}

export interface Setting<T> {
  readonly doc: string;
  readonly format: Format<T>;
  readonly default: T;
}

export function setting<T>(doc: string, format: Format<T>, fallback: NoInfer<T>): Setting<T> {
  return { doc, format, default: fallback };
}

type Formats<T> = { readonly [K in keyof T]-?: Format<Required<T>[K]> };

export const boolean: Format<boolean> = scalar(
  "true or false",
  { type: "boolean" },
  (value) => typeof value === "boolean",
  (text) => (text === "true" ? true : text === "false" ? false : text),
);

export function text(allowed: string, pattern: RegExp): Format<string> {
  const schema = { type: "string", pattern: portablePattern(pattern) };
  return scalar(allowed, schema, (value) => typeof value === "string" && pattern.test(value));
}

export function oneOf<const T extends readonly string[]>(...values: T): Format<T[number]> {
  return scalar(
    values.join(", "),
    { enum: values },
    (value) => typeof value === "string" && values.includes(value),
  );
}

export function integer(min: number, max: number): Format<number> {
  return scalar(
    `integer from ${min} to ${max}`,
    integerSchema(min, max),
    (value) => isIntegerWithin(value, min, max),
    readNumber,
  );
}

/** An integer in a range, or one special value outside it. */
export function integerOr(special: number, min: number, max: number): Format<number> {
  return scalar(
    `${special} or integer from ${min} to ${max}`,
    { anyOf: [{ const: special }, integerSchema(min, max)] },
    (value) => value === special || isIntegerWithin(value, min, max),
    readNumber,
  );
}

export function number(min: number, max: number): Format<number> {
  return scalar(
    `number from ${min} to ${max}`,
    { type: "number", minimum: min, maximum: max },
    (value) => typeof value === "number" && value >= min && value <= max,
    readNumber,
  );
}

export const anyNumber: Format<number> = scalar(
  "number",
  { type: "number" },
  (value) => Number.isFinite(value),
  readNumber,
);

/** One of some words, or what another format allows. */
export function wordOr<const W extends readonly string[], T>(
  words: W,
  other: Format<T>,
): Format<W[number] | T> {
  const isWord = (value: unknown) => typeof value === "string" && words.includes(value.trim());
  const allowed = `${words.join(", ")} or ${other.allowed}`;
  return {
    allowed,
    schema: { anyOf: [{ enum: words }, other.schema] },
    read: (given) => (isWord(given) ? String(given).trim() : other.read(given)),
    flaws: (value) => (isWord(value) || other.flaws(value).length === 0 ? [] : [refusal("", value, allowed)]),
  };
}

export const cron = scalar<string>(
  "cron expression in UTC, such as */5 * * * *",
  { type: "string" },
  (value) => typeof value === "string" && cronProblem(value) === null,
);

export const freeText = text("text of 1 to 255 characters", /^\S([\s\S]{0,253}\S)?$/);
export const optionalText = text("text of up to 255 characters", /^[\s\S]{0,255}$/);
export const filePath = text("path of a readable file that is not empty", /^.*$/);

export const topicName = text(
  "topic name of up to 249 letters, digits, dots, dashes and underscores",
  /^(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}$/,
);

export const url = text(
  "empty, or http(s)://host[:port][/path] without user and password",
  /^(https?:\/\/[^\s/@?#]+(\/[^\s@?#]*)?)?$/,
);

/** Checks only the syntax; whether a grid of that step is possible is decided where the grid is built. */
export const interval = text(
  "auto, or an ISO 8601 duration such as PT5M, PT1H, P1D or P1M",
  /^(auto|P(?=.*[1-9])(\d+Y)?(\d+M)?(\d+W)?(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?)$/,
);

/** Fixed lengths only: a month has no fixed length. */
export const silence = text(
  "never, or an ISO 8601 duration of weeks, days, hours and minutes such as P30D or PT12H",
  /^(never|P(?=.*[1-9])(\d{1,4}W)?(\d{1,5}D)?(T(?=\d)(\d{1,6}H)?(\d{1,7}M)?)?)$/,
);

const hostAndPortPattern = /^(?:[\w.-]+|\[[\da-fA-F:.]+\]):(\d{1,5})$/;
const hostAndPort = scalar<string>(
  "host:port",
  { type: "string", pattern: portablePattern(hostAndPortPattern) },
  (value) => {
    const port = typeof value === "string" && hostAndPortPattern.exec(value)?.[1];
    return isIntegerWithin(Number(port || 0), 1, 65_535);
  },
);
const level = scalar<number>(
  "number between 0 and 1, both excluded",
  { type: "number", exclusiveMinimum: 0, exclusiveMaximum: 1 },
  (value) => typeof value === "number" && value > 0 && value < 1,
  readNumber,
);

export const brokers = listOf("comma-separated list of host:port", hostAndPort);

const levels = listOf("comma-separated list of strictly increasing numbers between 0 and 1", level);

export const quantileLevels: Format<readonly number[]> = {
  ...levels,
  flaws(value) {
    const flaws = levels.flaws(value);
    return flaws.length > 0 || isRising(value as number[]) ? flaws : [refusal("", value, levels.allowed)];
  },
};

/** A list of at least `minLength` items. As text it is comma-separated, YAML or JSON. */
export function listOf<T>(allowed: string, item: Format<T>, minLength = 1): Format<readonly T[]> {
  return {
    allowed,
    schema: { type: "array", items: item.schema, minItems: minLength },
    read(given) {
      const list = typeof given === "string" ? readList(given) : given;
      return Array.isArray(list) ? list.map((one) => item.read(one)) : list;
    },
    flaws(value) {
      if (!Array.isArray(value) || value.length < minLength) {
        return [refusal("", value, allowed)];
      }
      return value.flatMap((one, index) =>
        item.flaws(one).map((flaw) => ({ ...flaw, path: `[${index}]${flaw.path}` })),
      );
    },
  };
}

/** An object with one required key; the other keys have `defaults` or are optional. */
export function record<T extends object>(
  allowed: string,
  formats: Formats<T>,
  required: keyof T & string,
  defaults: Partial<T>,
): Format<T> {
  const formatByName = new Map<string, Format<unknown>>(Object.entries(formats));
  return {
    allowed,
    schema: {
      type: "object",
      properties: Object.fromEntries([...formatByName].map(([name, { schema }]) => [name, schema])),
      required: [required],
      additionalProperties: false,
    },
    read(given) {
      if (!isPlainObject(given)) {
        return given;
      }
      const fields = Object.entries(given).map(([name, value]) => {
        const format = formatByName.get(name);
        return [name, format === undefined ? value : format.read(value)];
      });
      return { [required]: undefined, ...defaults, ...Object.fromEntries(fields) };
    },
    flaws(value) {
      if (!isPlainObject(value)) {
        return [refusal("", value, allowed)];
      }
      return Object.entries(value).flatMap(([name, field]) => {
        const format = formatByName.get(name);
        return format === undefined
          ? [unknownKey(`.${name}`, name, formatByName.keys())]
          : format.flaws(field).map((flaw) => ({ ...flaw, path: `.${name}${flaw.path}` }));
      });
    },
  };
}

export function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function scalar<T>(
  allowed: string,
  schema: JsonSchema,
  accepts: (value: unknown) => boolean,
  readText: (text: string) => unknown = (text) => text,
): Format<T> {
  return {
    allowed,
    schema,
    read: (given) => (typeof given === "string" ? readText(given.trim()) : given),
    flaws: (value) => (accepts(value) ? [] : [refusal("", value, allowed)]),
  };
}

/** Not every regular expression engine knows lookahead. It only narrows what a pattern accepts, so it is left out. */
function portablePattern({ source }: RegExp): string {
  return source.replace(/\(\?[=!][^()]*\)/g, "");
}

function integerSchema(min: number, max: number): JsonSchema {
  return { type: "integer", minimum: min, maximum: max };
}

function isIntegerWithin(value: unknown, min: number, max: number): boolean {
  return Number.isInteger(value) && (value as number) >= min && (value as number) <= max;
}

function isRising(numbers: readonly number[]): boolean {
  return numbers.every((number, index) => index === 0 || number > numbers[index - 1]);
}

function readNumber(text: string): unknown {
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : text;
}

function readList(text: string): unknown {
  if (!text.trim().startsWith("[")) {
    return text.split(",");
  }
  try {
    return parseYaml(text);
  } catch {
    return text; // `flaws` refuses it.
  }
}
