// The header of a model file: everything about a model but its numbers, as JSON.
//   { key, version, scaler: { offset[], scale[] }, members: [{ spec, share, residualsPerStep }], hasSpread }

import { ForecastnetError } from "../../runtime/errors.ts";
import type { ForecastNetModel, Scaler } from "./model.ts";
import { parseSpec } from "./parse-spec.ts";
import { sharedPlan } from "./shared-plan.ts";
import type { ForecastNetSpec } from "./spec.ts";

export interface MemberHeader {
  readonly spec: ForecastNetSpec;
  readonly share: number;
  /** Held-out errors per target and step; 0 for Gaussian outputs. */
  readonly residualsPerStep: number;
}

export interface ModelHeader {
  readonly key: string;
  readonly version: string;
  readonly scaler: Scaler;
  readonly members: readonly MemberHeader[];
  readonly hasSpread: boolean;
}

export function headerOf({ key, version, scaler, members, spread }: ForecastNetModel): ModelHeader {
  return {
    key,
    version,
    scaler: { offset: scaler.offset, scale: scaler.scale },
    members: members.map(({ spec, share, residuals }) => ({
      spec,
      share,
      residualsPerStep: (residuals?.length ?? 0) / (spec.horizon * spec.targets.length),
    })),
    hasSpread: spread !== null,
  };
}

type Unchecked<T> = { readonly [Field in keyof T]?: unknown };

/** `where` names the source in errors. Equal specs of different models come back as one object. */
export function parseHeader(bytes: Uint8Array, where: string): ModelHeader {
  const header = parseJson(bytes, where);
  const { key, version, hasSpread } = header;
  if (typeof key !== "string" || key === "") throw unfit(where, "key", key, "a name that is not empty");
  if (typeof version !== "string" || version === "") {
    throw unfit(where, "version", version, "a name that is not empty");
  }
  const name = `${where}: model ${key}@${version}`;
  if (typeof hasSpread !== "boolean") throw unfit(name, "hasSpread", hasSpread, "true or false");
  const members = parseMembers(header.members, name);
  const scaler = parseScaler(header.scaler, members[0].spec.channels, name);
  return { key, version, scaler, members, hasSpread };
}

function parseJson(bytes: Uint8Array, where: string): Unchecked<ModelHeader> {
  try {
    const header: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    if (typeof header === "object" && header !== null) return header;
  } catch (cause) {
    const problem = cause instanceof Error ? cause.message : String(cause);
    throw new ForecastnetError("MODEL_UNFIT", `${where}: header is not JSON: ${problem}`, { cause });
  }
  throw new ForecastnetError("MODEL_UNFIT", `${where}: header is no object; expected is one`);
}

function unfit(where: string, field: string, found: unknown, expected: string): ForecastnetError {
  const problem = `${where}: ${field} is ${JSON.stringify(found) ?? "missing"}; expected is ${expected}`;
  return new ForecastnetError("MODEL_UNFIT", problem, { context: { where, field } });
}

function parseScaler(value: unknown, channels: number, where: string): Scaler {
  const { offset, scale } = (value ?? {}) as Unchecked<Scaler>;
  if (!isNumbers(offset, channels)) throw unfit(where, "scaler.offset", offset, `${channels} finite numbers`);
  if (!isNumbers(scale, channels) || scale.includes(0)) {
    throw unfit(where, "scaler.scale", scale, `${channels} finite numbers, none of them zero`);
  }
  return { offset, scale };
}

function isNumbers(value: unknown, count: number): value is readonly number[] {
  return Array.isArray(value) && value.length === count && value.every(Number.isFinite);
}

function parseMembers(value: unknown, where: string): readonly MemberHeader[] {
  if (!Array.isArray(value) || value.length === 0) throw unfit(where, "members", value, "one or more");
  const members = value.map((member: unknown, m) => parseMember(member, `${where}, member ${m}`));
  const sum = members.reduce((total, { share }) => total + share, 0);
  if (Math.abs(sum - 1) > 1e-6) throw unfit(where, "sum of the members' shares", sum, "1");
  const shape = ({ spec: { horizon, channels, targets } }: MemberHeader) =>
    JSON.stringify({ horizon, channels, targets });
  for (const [m, member] of members.entries()) {
    if (shape(member) === shape(members[0])) continue;
    throw unfit(where, `shape of member ${m}`, shape(member), `that of member 0, ${shape(members[0])}`);
  }
  return members;
}

function parseMember(value: unknown, where: string): MemberHeader {
  const { spec: stored, share, residualsPerStep } = (value ?? {}) as Unchecked<MemberHeader>;
  const spec = sharedPlan(parseSpec(stored, where)).spec;
  if (typeof share !== "number" || !(share > 0 && share <= 1)) {
    throw unfit(where, "share", share, "a number above 0, at most 1");
  }
  const isCount = typeof residualsPerStep === "number" && Number.isInteger(residualsPerStep);
  const isSound = isCount && (spec.output === "linear" ? residualsPerStep > 0 : residualsPerStep === 0);
  if (!isSound) {
    const expected = spec.output === "linear" ? "a whole number above 0" : "0, since its output is Gaussian";
    throw unfit(where, "residualsPerStep", residualsPerStep, expected);
  }
  return { spec, share, residualsPerStep };
}
