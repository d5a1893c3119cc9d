// Reads a spec that came from outside: from a stored model, a file, a configuration. Refuses what no engine could
// run, naming every field that is wrong and what it may be.

import { ForecastnetError } from "../../runtime/errors.ts";
import { cellProblems } from "./cells/cell-kinds.ts";
import { cellInputSize } from "./plan.ts";
import { cellAt, type ForecastNetSpec, type Framing, specVersion } from "./spec.ts";

/** `where` names the spec in the error: a model key and version, or a file. */
export function parseSpec(value: unknown, where: string): ForecastNetSpec {
  if (typeof value !== "object" || value === null) throw unfit(where, ["a spec is an object"]);
  const spec = value as ForecastNetSpec;
  if (spec.version !== specVersion) {
    throw unfit(where, [`version: ${String(spec.version)}; this release reads version ${specVersion}`]);
  }
  const problems = [...shapeProblems(spec), ...choiceProblems(spec)];
  if (problems.length === 0) problems.push(...cellsProblems(spec), ...framingProblems(spec));
  if (problems.length > 0) throw unfit(where, problems);
  return spec;
}

function unfit(where: string, problems: readonly string[]): ForecastnetError {
  return new ForecastnetError("MODEL_UNFIT", `spec of ${where}: ${problems.join("; ")}`);
}

function shapeProblems({ horizon, inputLength, channels, targets }: ForecastNetSpec): string[] {
  const problems = Object.entries({ horizon, inputLength, channels })
    .filter(([, value]) => !Number.isInteger(value) || value < 1)
    .map(([field, value]) => `${field}: ${String(value)}; give a whole number above 0`);
  const isSound =
    Array.isArray(targets) &&
    targets.length > 0 &&
    targets.every((c, i) => Number.isInteger(c) && c >= 0 && c < channels && (i === 0 || c > targets[i - 1]));
  if (!isSound) {
    problems.push(`targets: ${JSON.stringify(targets)}; give channels from 0 to ${channels - 1}, ascending`);
  }
  return problems;
}

function choiceProblems({ output, shortcut, framing, cell, overrides }: ForecastNetSpec): string[] {
  const problems = [
    ...oneOf("output", output, ["gaussian", "linear"]),
    ...oneOf("shortcut", shortcut, ["none", "linear"]),
  ];
  for (const [field, value] of Object.entries({ framing, cell, overrides })) {
    if (typeof value !== "object" || value === null) problems.push(`${field}: missing; give an object`);
  }
  return problems;
}

function cellsProblems(spec: ForecastNetSpec): string[] {
  const stray = Object.keys(spec.overrides).filter(
    (key) => !(Number(key) >= 0 && Number(key) < spec.horizon),
  );
  const problems = stray.map((key) => `overrides.${key}: there are cells 0 to ${spec.horizon - 1}`);
  for (let h = 0; h < spec.horizon; h++) {
    const name = spec.overrides[h] === undefined ? "cell" : `overrides.${h}`;
    // A cell's input depends on the cell before it, so the first unsound cell ends the search.
    const found = cellProblems(cellAt(spec, h), cellInputSize(spec, h));
    if (found.length > 0) return [...problems, ...found.map((problem) => `${name}.${problem}`)];
  }
  return problems;
}

function framingProblems({ framing, inputLength }: ForecastNetSpec): string[] {
  const { level, scale, season }: Framing = framing;
  const problems = [
    ...oneOf("framing.level", level, ["none", "mean", "season", "last"]),
    ...oneOf("framing.scale", scale, ["none", "deviation"]),
  ];
  const isSound = season === null || (Number.isInteger(season) && season >= 1 && season <= inputLength);
  if (!isSound) {
    problems.push(`framing.season: ${String(season)}; give null, or a whole number from 1 to ${inputLength}`);
  }
  if (level === "season" && season === null) {
    problems.push('framing.season: null; framing.level "season" needs to know how long a season is');
  }
  return problems;
}

function oneOf(field: string, value: string, allowed: readonly string[]): string[] {
  return allowed.includes(value) ? [] : [`${field}: ${String(value)}; give ${allowed.join(" or ")}`];
}
