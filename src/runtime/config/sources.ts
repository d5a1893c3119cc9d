// The sources of values: flags, environment, file. Each source gives values by dotted key, with a note of their source. A
// key without a setting is a problem; values are checked elsewhere.

import { extname } from "node:path";
import { LineCounter, parseDocument } from "yaml";
import { isPlainObject } from "./formats.ts";
import { type Flaw, type Problem, refusal, unknownKey } from "./problems.ts";
import { environmentName, settings } from "./settings.ts";

export interface ConfigInput {
  /** The flags: `--<key>=value`, `--<key> value`, `--config PATH`. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Reads a text file; throws if it cannot be read. */
  readonly readFile?: (path: string) => string;
}

export interface Given {
  readonly value: unknown;
  readonly source: string;
}

export interface Gathered {
  readonly givenByKey: ReadonlyMap<string, Given>;
  readonly problems: readonly Problem[];
}

interface Collector {
  readonly givenByKey: Map<string, Given>;
  readonly problems: Problem[];
}

const pathVariable = "FORECASTNET_CONFIG";
const groups = new Set([...settings.keys()].flatMap(parentsOf));

/** All given values. Flags override the environment, which overrides the file. */
export function gatherValues(input: ConfigInput, readFile: (path: string) => string): Gathered {
  const file: Collector = { givenByKey: new Map(), problems: [] };
  const environment: Collector = { givenByKey: new Map(), problems: [] };
  const flags: Collector = { givenByKey: new Map(), problems: [] };
  const pathByFlag = readFlags(input.argv, flags);
  const pathByVariable = readEnvironment(input.env, environment);
  const path = pathByFlag ?? pathByVariable;
  if (path !== undefined) {
    readConfigFile(path, readFile, file);
  }
  return {
    givenByKey: new Map([...file.givenByKey, ...environment.givenByKey, ...flags.givenByKey]),
    problems: [...file.problems, ...environment.problems, ...flags.problems],
  };
}

function readFlags(argv: readonly string[], into: Collector): Given | undefined {
  let path: Given | undefined;
  for (let i = 0; i < argv.length; i++) {
    const [flag, inline] = splitFlag(argv[i]);
    const source = `flag ${flag}`;
    const key = flag.slice(2);
    if (!flag.startsWith("--")) {
      into.problems.push(stray(flag));
      continue;
    }
    const hasNext = i + 1 < argv.length && !argv[i + 1].startsWith("--");
    const value = inline ?? (hasNext ? argv[++i] : undefined);
    if (key !== "config" && !settings.has(key)) {
      into.problems.push(problemAt(key, source, unknownKey("", key, [...settings.keys(), "config"])));
    } else if (value === undefined) {
      into.problems.push({ key, source, what: "no value given", advice: `write ${flag}=value` });
    } else if (key === "config") {
      path = { value, source };
    } else {
      into.givenByKey.set(key, { value, source });
    }
  }
  return path;
}

function readEnvironment(env: ConfigInput["env"], into: Collector): Given | undefined {
  const keyByVariable = new Map([...settings.keys()].map((key) => [environmentName(key), key]));
  for (const [variable, value] of Object.entries(env)) {
    if (value === undefined || !variable.startsWith("FORECASTNET_") || variable === pathVariable) {
      continue;
    }
    const key = keyByVariable.get(variable);
    if (key !== undefined) {
      into.givenByKey.set(key, { value, source: `environment ${variable}` });
    } else if (!isServiceLink(variable)) {
      const known = [...keyByVariable.keys(), pathVariable];
      into.problems.push(problemAt(variable, "environment", unknownKey("", variable, known)));
    }
  }
  const path = env[pathVariable];
  return path ? { value: path, source: `environment ${pathVariable}` } : undefined;
}

/** Kubernetes sets such variables in every pod for a service whose name begins with "forecastnet". */
function isServiceLink(variable: string): boolean {
  return /_SERVICE_(HOST|PORT)(_\w+)?$|_PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?$/.test(variable);
}

function readConfigFile(path: Given, readFile: (path: string) => string, into: Collector): void {
  const name = String(path.value);
  if (![".yaml", ".yml", ".json"].includes(extname(name).toLowerCase())) {
    const flaw = refusal("", name, "a file ending in .yaml, .yml or .json");
    into.problems.push(problemAt("config", path.source, flaw));
    return;
  }
  try {
    collect("", parseTree(readFile(name)), `file ${name}`, into);
  } catch (error) {
    const what = `${name} cannot be read: ${messageOf(error)}`;
    into.problems.push({ key: "config", source: path.source, what, advice: "correct the file or its name" });
  }
}

/** JSON is a subset of YAML, so one parser reads both. It reports line numbers and refuses duplicate keys. */
function parseTree(content: string): unknown {
  const lines = new LineCounter();
  const document = parseDocument(content, { lineCounter: lines, prettyErrors: false });
  if (document.errors.length > 0) {
    const faults = document.errors.map(({ pos, message }) => {
      const { line, col } = lines.linePos(pos[0]);
      return `line ${line}, column ${col}: ${message}`;
    });
    throw new Error(faults.join("; "));
  }
  return document.toJS() ?? {};
}

function collect(prefix: string, node: unknown, source: string, into: Collector): void {
  if (!isPlainObject(node)) {
    const key = prefix.slice(0, -1) || "config";
    into.problems.push(problemAt(key, source, refusal("", node, "a group of keys")));
    return;
  }
  for (const [name, value] of Object.entries(node)) {
    const key = prefix + name;
    if (settings.has(key)) {
      into.givenByKey.set(key, { value, source });
    } else if (groups.has(key)) {
      collect(`${key}.`, value ?? {}, source, into);
    } else {
      into.problems.push(problemAt(key, source, unknownKey("", key, [...settings.keys(), ...groups])));
    }
  }
}

export function problemAt(key: string, source: string, flaw: Flaw): Problem {
  return { key: key + flaw.path, source, what: flaw.what, advice: flaw.advice };
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function splitFlag(argument: string): readonly [string, string | undefined] {
  const equals = argument.indexOf("=");
  return equals < 0 ? [argument, undefined] : [argument.slice(0, equals), argument.slice(equals + 1)];
}

function stray(argument: string): Problem {
  return { key: argument, source: "command line", what: "unexpected argument", advice: "write --key=value" };
}

function parentsOf(key: string): readonly string[] {
  const names = key.split(".").slice(0, -1);
  return names.map((_, index) => names.slice(0, index + 1).join("."));
}
