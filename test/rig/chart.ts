// The chart as tests see it: linted, rendered and checked by the real tools. Where they cannot be had, the reason for
// a loud skip.

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { parseAllDocuments } from "yaml";
import { isCi } from "./ci.ts";
import { goTools, missingGo } from "./go-tools.ts";
import type { KubernetesObject } from "./kubernetes-object.ts";
import { missingPython, schemaLocations } from "./kubernetes-schemas.ts";
import { filesBelow, projectRoot } from "./project.ts";

export const chartFolder = join(projectRoot, "helm/forecastnet");

/** Files of values to render the chart with, each a case of its own; paths from the repository's root. */
export const valueSets: readonly string[] = [
  ...filesBelow("helm/forecastnet/ci"),
  ...filesBelow("deploy/examples").filter((path) => path.endsWith("/values.yaml")),
];

/** Short, and fit for a file name. */
export function titleOf(values: string): string {
  const [, name = values] =
    /^(?:helm\/forecastnet\/ci|deploy\/examples)\/(.*).values\.yaml$/.exec(values) ?? [];
  return name;
}

export interface ToolResult {
  readonly isOk: boolean;
  /** Both streams, for messages. */
  readonly output: string;
  readonly stdout: string;
}

/** Options of a test that needs the tools: `test("…", await chartTools(), () => …)`. In CI their lack is an error. */
export async function chartTools(): Promise<{ readonly skip: string | false }> {
  const missing = await missingChartTools();
  if (missing !== null && isCi) throw new Error(missing);
  return { skip: missing ?? false };
}

/** Null when the tools are in place, after building them if need be; otherwise what to install. */
export async function missingChartTools(): Promise<string | null> {
  const missing = missingGo() ?? missingPython();
  if (missing !== null) return missing;
  try {
    await goTools();
    await schemaLocations();
    return null;
  } catch (error) {
    return `the tools for the tests of the chart could not be set up: ${(error as Error).message}`;
  }
}

export async function runChartTool(
  command: "helm" | "helm-unittest" | "kubeconform",
  args: readonly string[],
): Promise<ToolResult> {
  const path = join(await goTools(), command);
  try {
    const options = { cwd: projectRoot, maxBuffer: 64 * 1024 * 1024 };
    const { stdout, stderr } = await promisify(execFile)(path, args, options);
    return { isOk: true, stdout, output: stdout + stderr };
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    return { isOk: false, stdout, output: stdout + stderr };
  }
}

/** What `helm template` says of the chart with these options, hooks and tests included. */
export function template(...options: readonly string[]): Promise<ToolResult> {
  return runChartTool("helm", ["template", "plant", chartFolder, "--namespace", "factory", ...options]);
}

/** The objects of the chart with these options. */
export async function render(...options: readonly string[]): Promise<readonly KubernetesObject[]> {
  const { isOk, stdout, output } = await template(...options);
  if (!isOk) throw new Error(output);
  return parseAllDocuments(stdout)
    .map((document) => document.toJS() as KubernetesObject | null)
    .filter((object) => object !== null);
}
