// Loads the configuration: gathers the values, checks each, checks them together, and reads the secret files. Reports all
// problems at once. Also prints the effective configuration. Has no side effect besides reading files.

import { readFileSync } from "node:fs";
import { Document, isMap, isSeq, type Node } from "yaml";
import { isPlainObject } from "./formats.ts";
import { configInvalid, type Problem, refusal } from "./problems.ts";
import { findBrokenRules } from "./rules.ts";
import type { AppConfig, GivenConfig } from "./schema.ts";
import { mask, Secret } from "./secret.ts";
import { createStore, isSecretFile, settings } from "./settings.ts";
import { type ConfigInput, gatherValues, messageOf, problemAt } from "./sources.ts";

export interface LoadedConfig {
  readonly config: AppConfig;
  /** The values with paths in place of secrets: safe to print. */
  readonly given: GivenConfig;
  readonly sourceOf: (key: string) => string;
}

/** The environment of this process. No other file reads it. */
export function processEnvironment(): ConfigInput["env"] {
  return process.env;
}

export function loadConfig(input: ConfigInput): AppConfig {
  return loadWithSources(input).config;
}

export function loadWithSources(input: ConfigInput): LoadedConfig {
  const readFile = input.readFile ?? ((path: string) => readFileSync(path, "utf8"));
  const { givenByKey, problems: sourceProblems } = gatherValues(input, readFile);
  const sourceOf = (key: string) => givenByKey.get(key)?.source ?? "default";

  const store = createStore();
  const flawed = new Set<string>();
  const valueProblems: Problem[] = [];
  for (const [key, { value, source }] of givenByKey) {
    const format = formatOf(key);
    const read = format.read(value);
    const flaws = format.flaws(read);
    if (flaws.length === 0) {
      store.set(key, read);
    } else {
      flawed.add(key);
      valueProblems.push(...flaws.map((flaw) => problemAt(key, source, flaw)));
    }
  }

  const given = store.validate({ allowed: "strict" }).getProperties();
  const ruleProblems = findBrokenRules(given)
    .filter(({ keys }) => !keys.some((key) => flawed.has(key)))
    .map(({ keys: [key], within = "", given: value, allowed }) =>
      problemAt(key, sourceOf(key), refusal(within, value, allowed)),
    );
  const { config, problems: secretProblems } = readSecrets(given, readFile, sourceOf);

  const problems = [...sourceProblems, ...valueProblems, ...ruleProblems, ...secretProblems];
  if (problems.length > 0) {
    throw configInvalid(problems);
  }
  return { config: deepFreeze(config), given, sourceOf };
}

function formatOf(key: string) {
  const setting = settings.get(key);
  if (setting === undefined) {
    throw new Error(`no setting ${key}: a source did not refuse an unknown key`);
  }
  return setting.format;
}

/** Replaces every `xFile` by `x`, the contents of that file; null where no file is named. */
function readSecrets(
  given: GivenConfig,
  readFile: (path: string) => string,
  sourceOf: (key: string) => string,
): { readonly config: AppConfig; readonly problems: readonly Problem[] } {
  const problems: Problem[] = [];
  const convert = (prefix: string, node: object): object => {
    const entries = Object.entries(node).map(([name, value]) => {
      const key = prefix + name;
      if (isPlainObject(value)) return [name, convert(`${key}.`, value)];
      if (!isSecretFile(key)) return [name, value];
      const secret = value === "" ? null : readSecret(value, readFile);
      if (typeof secret === "string") {
        const advice = `allowed: ${formatOf(key).allowed}`;
        problems.push({ key, source: sourceOf(key), what: secret, advice });
      }
      return [name.slice(0, -"File".length), secret];
    });
    return Object.fromEntries(entries);
  };
  return { config: convert("", given) as AppConfig, problems };
}

/** The secret, or the reason why it cannot be read. */
function readSecret(path: string, readFile: (path: string) => string): Secret | string {
  // The value may be the password itself, given by mistake. Only what looks like a path is repeated.
  const shown = /[\\/]/.test(path) ? path : mask;
  try {
    const read = () => readFile(path).trim();
    return read() === "" ? `file ${shown} is empty` : new Secret(read);
  } catch (error) {
    return `file ${shown} cannot be read: ${messageOf(error).replaceAll(path, shown)}`;
  }
}

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) {
    for (const child of Object.values(value)) deepFreeze(child);
    Object.freeze(value);
  }
  return value;
}

/** YAML with the source of each value in a comment. It can be loaded again. Secrets appear as paths. */
export function printConfig({ given, sourceOf }: LoadedConfig): string {
  const document = new Document(given);
  for (const key of settings.keys()) {
    const path = key.split(".");
    const node = document.getIn(path, true) as Node;
    const isSecret = isSecretFile(key) && document.getIn(path) !== "";
    annotate(node, ` ${sourceOf(key)}${isSecret ? `, contents ${mask}` : ""}`);
  }
  return document.toString({ lineWidth: 0 });
}

/** YAML of what is not a default, below a comment. It can be loaded again. Secrets appear as paths. */
export function printGiven({ given, sourceOf }: LoadedConfig, comment: string): string {
  const all = new Document(given);
  const document = new Document({});
  for (const key of settings.keys()) {
    if (sourceOf(key) === "default") continue;
    const path = key.split(".");
    document.setIn(path, all.getIn(path, true));
  }
  document.commentBefore = comment
    .split("\n")
    .map((line) => ` ${line}`)
    .join("\n");
  return document.toString({ lineWidth: 0 });
}

/** Puts the comment after a value on one line, or above a list of objects. */
function annotate(node: Node, comment: string): void {
  if (isSeq(node) && node.items.some(isMap)) {
    for (const item of node.items.filter(isMap)) item.flow = true;
    node.commentBefore = comment;
    return;
  }
  if (isSeq(node)) {
    node.flow = true;
  }
  node.comment = comment;
}
