// The schema by dotted key and as a convict store. The only file that imports convict.

import convict from "convict";
import type { Setting } from "./formats.ts";
import { type GivenConfig, schema } from "./schema.ts";

/** Settings by dotted key, in the order of the schema. */
export const settings: ReadonlyMap<string, Setting<unknown>> = new Map(listSettings("", schema));

export function environmentName(key: string): string {
  return `FORECASTNET_${key.replaceAll(".", "_").replace(/[A-Z]/g, "_$&").toUpperCase()}`;
}

export function isSecretFile(key: string): boolean {
  return key.endsWith("File");
}

/** A new convict configuration with the defaults. It reads neither the environment nor arguments. */
export function createStore(): convict.Config<GivenConfig> {
  return convict<GivenConfig>(toConvict("", schema) as convict.Schema<GivenConfig>, { env: {}, args: [] });
}

function* listSettings(prefix: string, node: object): Generator<[string, Setting<unknown>]> {
  for (const [name, child] of Object.entries(node)) {
    if (isSetting(child)) {
      yield [prefix + name, child];
    } else {
      yield* listSettings(`${prefix}${name}.`, child);
    }
  }
}

function isSetting(node: object): node is Setting<unknown> {
  return "format" in node && "default" in node;
}

function toConvict(prefix: string, node: object): Record<string, unknown> {
  const entries = Object.entries(node).map(([name, child]) => {
    const key = prefix + name;
    return [name, isSetting(child) ? toConvictLeaf(key, child) : toConvict(`${key}.`, child)];
  });
  return Object.fromEntries(entries);
}

function toConvictLeaf(key: string, { doc, format, default: fallback }: Setting<unknown>) {
  // Each key is a convict format of its own. Coercion is switched off: convict would read "12abc" as 12 and any text but
  // "false" as true. `format.read` has already converted the text.
  convict.addFormat({
    name: key,
    coerce: (value) => value,
    validate(value) {
      for (const flaw of format.flaws(value)) {
        throw new Error(`${flaw.path} ${flaw.what}, ${flaw.advice}`);
      }
    },
  });
  return { doc, format: key, default: fallback, env: environmentName(key) };
}
