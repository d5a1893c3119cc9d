// Generates the chart's values.schema.json, by which Helm refuses unknown values. The part for Kubernetes comes from
// values.yaml and its comments; the part under `config` comes from the product's own schema. Writes nothing.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonSchema } from "../../src/runtime/config/formats.ts";
import { settings } from "../../src/runtime/config/settings.ts";
import { type ChartValue, leavesOf, readChartValues } from "./chart-values.ts";

/** The value under which the chart takes the product's configuration. */
const configKey = "config";

export function generateChartSchema(root: string): Map<string, string> {
  const values = readChartValues(readFileSync(join(root, "helm/forecastnet/values.yaml"), "utf8"));
  const schema = {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "Values of the forecastnet chart",
    $comment: "Generated from values.yaml and src/runtime/config/schema.ts by `npm run generate`.",
    ...groupSchema(values, {
      // Helm passes it to every subchart.
      global: { type: "object", description: "Values shared with other charts; not used by this one." },
    }),
  };
  return new Map([["helm/forecastnet/values.schema.json", `${JSON.stringify(schema, null, 2)}\n`]]);
}

function groupSchema(
  values: readonly ChartValue[],
  more: Readonly<Record<string, JsonSchema>> = {},
): JsonSchema {
  const properties = values.map((value) => [value.path.at(-1), valueSchema(value)]);
  return {
    type: "object",
    properties: { ...Object.fromEntries(properties), ...more },
    additionalProperties: false,
  };
}

function valueSchema(value: ChartValue): JsonSchema {
  const { path, doc, narrowing, fallback, children } = value;
  if (path.join(".") === configKey) return configSchema(value);
  if (children !== null) return groupSchema(children);
  const type = "enum" in narrowing ? {} : { type: typeOf(fallback) };
  return { description: doc, ...type, ...narrowing, default: fallback };
}

function typeOf(value: unknown): string {
  if (Array.isArray(value)) return "array";
  return Number.isInteger(value) ? "integer" : typeof value;
}

/** The chart itself reads the keys in values.yaml: they may be changed, but not removed. */
function configSchema(value: ChartValue): JsonSchema {
  const readByChart = [...leavesOf([value])].map(({ path }) => path.slice(1).join("."));
  const unknown = readByChart.filter((key) => !settings.has(key));
  if (unknown.length > 0) throw new Error(`values.yaml has unknown settings: ${unknown.join(", ")}`);
  return configGroup("", [...settings.keys()], new Set(readByChart));
}

function configGroup(prefix: string, keys: readonly string[], readByChart: ReadonlySet<string>): JsonSchema {
  const names = [...new Set(keys.map((key) => key.slice(prefix.length).split(".", 1)[0] as string))];
  const below = (name: string) => keys.filter((key) => key.startsWith(`${prefix}${name}.`));
  const properties = names.map((name) => {
    const setting = settings.get(prefix + name);
    if (setting === undefined) return [name, configGroup(`${prefix}${name}.`, below(name), readByChart)];
    const { doc, format, default: fallback } = setting;
    return [name, { description: doc, ...format.schema, default: fallback }];
  });
  const isRead = (name: string) => [...readByChart].some((key) => `${key}.`.startsWith(`${prefix}${name}.`));
  const required = names.filter(isRead);
  return {
    type: "object",
    properties: Object.fromEntries(properties),
    ...(required.length > 0 ? { required } : {}),
    additionalProperties: false,
  };
}
