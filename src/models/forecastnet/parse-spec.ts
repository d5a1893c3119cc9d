// Parses a spec from outside the process. Refuses a spec that no engine can run, with every wrong field and its
// allowed values in the message. Accepts any value as input; throws MODEL_UNFIT and nothing else.

import { ForecastnetError } from "../../runtime/errors.ts";
import { choiceProblems, countProblems, isRecord, isWhole, shown } from "../field-problems.ts";
import { cellProblems, type Unchecked } from "./cells.ts";
import { cellInputSize, planNet } from "./plan.ts";
import { cellAt, type ForecastNetSpec, specVersion } from "./spec.ts";

/** A week of minutes. Keeps a damaged spec from exhausting the machine. */
const longestHorizon = 10_000;

/** 256 MB in single precision; training takes four times as much. cFN at τ 24 has a million weights. */
const mostWeights = 2 ** 26;

/** `where` names the spec in errors: a model key and version, or a file. */
export function parseSpec(value: unknown, where: string): ForecastNetSpec {
  if (!isRecord(value)) throw unfit(where, [`${shown(value)}; a spec is an object`]);
  if (value.version !== specVersion) {
    throw unfit(where, [`version: ${shown(value.version)}; this release reads version ${specVersion}`]);
  }
  const problems = [...shapeProblems(value), ...optionProblems(value)];
  // Checking the cells needs a valid number of cells and a valid input size.
  if (problems.length === 0) problems.push(...framingProblems(value), ...cellsProblems(value));
  const spec = value as unknown as ForecastNetSpec;
  if (problems.length === 0) problems.push(...sizeProblems(spec));
  if (problems.length > 0) throw unfit(where, problems);
  return spec;
}

function unfit(where: string, problems: readonly string[]): ForecastnetError {
  return new ForecastnetError("MODEL_UNFIT", `spec of ${where}: ${problems.join("; ")}`);
}

function shapeProblems({ horizon, inputLength, channels, targets }: Unchecked<ForecastNetSpec>): string[] {
  const problems = [
    ...countProblems("horizon", horizon, { most: longestHorizon }),
    ...countProblems("inputLength", inputLength),
    ...countProblems("channels", channels),
  ];
  const last = isWhole(channels) ? channels - 1 : Infinity;
  const isSound =
    Array.isArray(targets) &&
    targets.length > 0 &&
    targets.every((c, i) => isWhole(c) && c >= 0 && c <= last && (i === 0 || c > targets[i - 1]));
  if (!isSound) {
    const range = last === Infinity ? "" : ` from 0 to ${last}`;
    problems.push(`targets: ${shown(targets)}; give a list of channels${range}, ascending`);
  }
  return problems;
}

function optionProblems({
  output,
  loss,
  shortcut,
  framing,
  cell,
  overrides,
}: Unchecked<ForecastNetSpec>): string[] {
  const objects = Object.entries({ framing, cell, overrides }).filter(([, value]) => !isRecord(value));
  return [
    ...choiceProblems("output", output, ["gaussian", "linear"]),
    ...choiceProblems("loss", loss, output === "linear" ? ["squares"] : ["likelihood", "crps"]),
    ...choiceProblems("shortcut", shortcut, ["none", "linear"]),
    ...objects.map(([field, value]) => `${field}: ${shown(value)}; give an object`),
  ];
}

function framingProblems({ framing }: Unchecked<ForecastNetSpec>): string[] {
  const { level, scale } = framing as Readonly<Record<string, unknown>>;
  return [
    ...choiceProblems("framing.level", level, ["none", "mean", "last"]),
    ...choiceProblems("framing.scale", scale, ["none", "deviation"]),
  ];
}

function cellsProblems(unchecked: Unchecked<ForecastNetSpec>): string[] {
  const spec = unchecked as ForecastNetSpec;
  const problems: string[] = [];
  for (const [key, cell] of Object.entries(spec.overrides)) {
    const h = Number(key);
    // "1.0" and " 1" convert to numbers but name no cell.
    const isCell = isWhole(h) && h >= 0 && h < spec.horizon && String(h) === key;
    if (!isCell) problems.push(`overrides.${key}: there are cells 0 to ${spec.horizon - 1}`);
    else if (!isRecord(cell)) problems.push(`overrides.${key}: ${shown(cell)}; give a cell or leave it out`);
  }
  if (problems.length > 0) return problems;
  for (let h = 0; h < spec.horizon; h++) {
    const name = spec.overrides[h] === undefined ? "cell" : `overrides.${h}`;
    const found = cellProblems(cellAt(spec, h), cellInputSize(spec, h));
    // A cell's input size depends on the cell before it, so the check ends at the first bad cell.
    if (found.length > 0) return found.map((problem) => `${name}.${problem}`);
  }
  return [];
}

function sizeProblems(spec: ForecastNetSpec): string[] {
  const { weightCount } = planNet(spec);
  if (weightCount <= mostWeights) return [];
  return [
    `horizon, inputLength, channels, cell: ${weightCount} weights; choose a net of ${mostWeights} or fewer`,
  ];
}
