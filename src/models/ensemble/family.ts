// The ensemble family: models of other families, averaged. Training trains a model of every member family and weighs them by
// their held-out forecasts (combine.ts). A family that cannot be trained takes no part. If no average beats the best member,
// that member is the whole ensemble, and is stored as itself.

import { ForecastnetError } from "../../runtime/errors.ts";
import {
  type Distribution,
  type FamilyResult,
  type FamilyTask,
  type ForecastAnswer,
  type ForecastOptions,
  type ForecastTask,
  type Model,
  type ModelFamily,
  type Storage,
  unnamed,
} from "../family.ts";
import type { HeldOutForecasts } from "../held-out.ts";
import { decodeEnvelope, encodeParts, parseHeaderJson, readParts, unfit } from "../model-envelope.ts";
import { combine } from "./combine.ts";

interface Member {
  readonly model: Model;
  /** Above 0; all shares add up to 1. */
  readonly share: number;
}

export interface EnsembleModel extends Model {
  /** At least one. Each has the key and version of the ensemble. */
  readonly members: readonly Member[];
  /** Factor on the distance of every quantile from the median. */
  readonly width: number;
}

/** What an ensemble needs of all families. */
export interface MemberFamilies {
  named(name: string, where?: string): ModelFamily;
  of(model: Model): ModelFamily;
  forecast(tasks: readonly ForecastTask[], options: ForecastOptions): Promise<readonly ForecastAnswer[]>;
}

/** `trained` names the families whose models are averaged, the cheapest first. */
export function createEnsemble(
  families: () => MemberFamilies,
  trained: readonly string[],
): ModelFamily<EnsembleModel> {
  return {
    name: "ensemble",
    shapeOf: ({ members }) => {
      const shapes = members.map(({ model }) => families().of(model).shapeOf(model));
      return { ...shapes[0], inputSteps: Math.max(...shapes.map(({ inputSteps }) => inputSteps)) };
    },
    describe: ({ members, width }) =>
      JSON.stringify({
        family: "ensemble",
        width,
        members: members.map(({ model, share }) => ({
          share,
          family: model.family,
          model: JSON.parse(families().of(model).describe(model)),
        })),
      }),
    forecast: (tasks, options) => forecastEnsembles(families(), tasks, options),
    train: (task, signal) => trainEnsemble(families(), trained, task, signal),
    encode: (model, storage) => encodeEnsemble(families(), model, storage),
    decode: (bytes, where) => decodeEnsemble(families(), bytes, where),
    release: ({ members }) => {
      for (const { model } of members) families().of(model).release(model);
    },
  };
}

/** The model itself, or the only member of an ensemble. */
export function simplestOf(model: Model): Model {
  if (model.family !== "ensemble") return model;
  const { members, version } = model as EnsembleModel;
  return members.length === 1 ? { ...members[0].model, version } : model;
}

async function forecastEnsembles(
  families: MemberFamilies,
  tasks: readonly ForecastTask<EnsembleModel>[],
  options: ForecastOptions,
): Promise<readonly ForecastAnswer[]> {
  // The median is needed to widen by; it is asked for as one more level where it is not among them.
  const isMedianAsked = options.levels.includes(0.5);
  const levels = isMedianAsked ? options.levels : [...options.levels, 0.5].sort((a, b) => a - b);
  const asked: ForecastTask[] = [];
  for (const { model, input } of tasks)
    for (const member of model.members) asked.push({ model: member.model, input });
  const answers = await families.forecast(asked, { ...options, levels });
  const median = levels.indexOf(0.5);
  let at = 0;
  return tasks.map(({ model }) => {
    const from = at;
    at += model.members.length;
    for (let m = from; m < at; m++) if (answers[m] instanceof Error) return answers[m];
    // Safe: errors have just been returned.
    const own = answers.slice(from, at) as readonly Distribution[];
    const pooled = poolOf(model, own, median);
    return isMedianAsked ? pooled : { ...pooled, quantiles: pooled.quantiles.toSpliced(median, 1) };
  });
}

/** The weighted mean of the members' quantiles, widened. The answers are plain arrays, as those of linear models. */
function poolOf(
  { members, width }: EnsembleModel,
  distributions: readonly Distribution[],
  median: number,
): Distribution {
  const average = (parts: readonly ArrayLike<number>[]) => averageOf(members, parts);
  const mean = average(distributions.map((one) => one.mean));
  const standardDeviation = average(distributions.map((one) => one.standardDeviation));
  const quantiles = distributions[0].quantiles.map((_, l) =>
    average(distributions.map((one) => one.quantiles[l])),
  );
  const centre = quantiles[median];
  widen(mean, centre, width);
  for (let i = 0; i < standardDeviation.length; i++) standardDeviation[i] *= width;
  for (let l = 0; l < quantiles.length; l++) if (l !== median) widen(quantiles[l], centre, width);
  return { mean, standardDeviation, quantiles };
}

function averageOf(members: readonly Member[], parts: readonly ArrayLike<number>[]): number[] {
  const average = new Array<number>(parts[0].length);
  for (let i = 0; i < average.length; i++) {
    let sum = 0;
    for (let m = 0; m < parts.length; m++) sum += members[m].share * parts[m][i];
    average[i] = sum;
  }
  return average;
}

function widen(values: number[], centre: readonly number[], width: number): void {
  for (let i = 0; i < values.length; i++) values[i] = centre[i] + width * (values[i] - centre[i]);
}

type Trained = Extract<FamilyResult, { outcome: "trained" }>;

async function trainEnsemble(
  families: MemberFamilies,
  names: readonly string[],
  task: FamilyTask,
  signal: AbortSignal,
): Promise<FamilyResult<EnsembleModel>> {
  const trained: Trained[] = [];
  const reasons: string[] = [];
  for (const name of names) {
    const { champion: _, ...others } = task;
    const champion = memberOf(task.champion, name);
    const own = { ...others, plan: { ...task.plan, family: name }, ...(champion && { champion }) };
    const result = await families.named(name).train(own, signal);
    if (result.outcome === "cancelled") return result;
    if (result.outcome === "trained") trained.push(result);
    else reasons.push(`${name}: ${result.reason}`);
  }
  if (trained.length === 0) return { outcome: "failed", reason: reasons.join("; ") };
  return assemble(trained, task.key);
}

/** The model of this family that serves, alone or in an ensemble. */
function memberOf(champion: Model | undefined, family: string): Model | undefined {
  if (champion?.family !== "ensemble") return champion?.family === family ? champion : undefined;
  return (champion as EnsembleModel).members.find(({ model }) => model.family === family)?.model;
}

function assemble(trained: readonly Trained[], key: string): FamilyResult<EnsembleModel> {
  const ensemble = { family: "ensemble", key, version: unnamed };
  const isWeighable = (one: Trained): one is Trained & { heldOut: HeldOutForecasts } =>
    one.heldOut !== undefined;
  const weighable = trained.filter(isWeighable);
  const combination = weighable.length > 1 ? combine(weighable.map(({ heldOut }) => heldOut)) : null;
  if (combination === null) {
    const best = trained.reduce((one, other) => (other.folds.crps < one.folds.crps ? other : one));
    const { model, folds } = best;
    return { outcome: "trained", model: { ...ensemble, members: [{ model, share: 1 }], width: 1 }, folds };
  }
  const { shares, width, folds } = combination;
  const members = weighable
    .map(({ model }, i) => ({ model, share: shares[i] }))
    .filter(({ share }) => share > 0);
  return { outcome: "trained", model: { ...ensemble, members, width }, folds };
}

function encodeEnsemble(families: MemberFamilies, model: EnsembleModel, storage: Storage): Uint8Array {
  const { key, version, members, width } = model;
  const shares = members.map(({ model: { family }, share }) => ({ family, share }));
  const parts = members.map((member) =>
    families.of(member.model).encode({ ...member.model, key, version }, storage),
  );
  return encodeParts(
    JSON.stringify({ family: "ensemble", key, version, width, members: shares }),
    storage,
    parts,
  );
}

function decodeEnsemble(families: MemberFamilies, bytes: Uint8Array, where: string): EnsembleModel {
  const { header, numbers } = decodeEnvelope(bytes, where);
  const { family, key, version, width, members } = parseHeaderJson(header, where);
  if (family !== "ensemble")
    throw unfit(where, "family", `is ${JSON.stringify(family)}; expected "ensemble"`);
  if (typeof key !== "string" || typeof version !== "string" || key === "" || version === "")
    throw unfit(where, "name", "is missing; expected a key and a version");
  if (!isAbove0(width)) throw unfit(where, "width", `is ${JSON.stringify(width)}; expected a number above 0`);
  const parts = readParts(numbers, where);
  if (!Array.isArray(members) || members.length === 0 || members.length !== parts.length)
    throw unfit(
      where,
      "members",
      `are ${JSON.stringify(members)}; expected one for each of ${parts.length} models`,
    );
  const read = members.map((member: unknown, i): Member => {
    const { family: name, share } = (member ?? {}) as { readonly family?: unknown; readonly share?: unknown };
    const place = `${where}: member ${i}`;
    if (typeof name !== "string" || name === "ensemble" || !isAbove0(share))
      throw unfit(place, "header", `is ${JSON.stringify(member)}; expected a family and a share above 0`);
    const model = families.named(name, place).decode(parts[i], place);
    return { model, share };
  });
  const total = read.reduce((sum, { share }) => sum + share, 0);
  if (Math.abs(total - 1) > 1e-6) throw unfit(where, "shares", `add up to ${total}; expected 1`);
  requireAlike(families, read, where);
  return { family, key, version, members: read, width };
}

function isAbove0(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value > 0;
}

function requireAlike(families: MemberFamilies, members: readonly Member[], where: string): void {
  const shapes = members.map(({ model }) => {
    const { horizon, channels, targets } = families.of(model).shapeOf(model);
    return JSON.stringify({ horizon, channels, targets });
  });
  if (new Set(shapes).size > 1)
    throw new ForecastnetError("MODEL_UNFIT", `${where}: its members differ in shape: ${shapes.join(", ")}`);
}
