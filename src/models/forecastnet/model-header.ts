// The header of a model file: everything about a model but its weights, as JSON.
//   { key, version, scaler: { offset[], scale[] }, members: [{ spec, share, residualsPerStep }], hasSpread }
// A stored spec has one field more than a spec: framing.season, which belonged to a seasonal shortcut that was
// removed. It is written as null, so that equal models keep equal bytes, and any other value is refused.

import { ForecastnetError } from "../../runtime/errors.ts";
import type { Scaler } from "../family.ts";
import { isRecord } from "../field-problems.ts";
import type { Unchecked } from "./cells.ts";
import type { ForecastNetModel } from "./model.ts";
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

export function toHeaderJson(header: ModelHeader): string {
  const members = header.members.map((member) => {
    const { level, scale } = member.spec.framing;
    return { ...member, spec: { ...member.spec, framing: { level, scale, season: null } } };
  });
  return JSON.stringify({ ...header, members });
}

/** `where` names the source in errors. Equal specs of different models become one object. */
export function parseHeader(bytes: Uint8Array, where: string): ModelHeader {
  const header = parseJson(bytes, where);
  const { key, version, hasSpread } = header;
  if (typeof key !== "string" || key === "") throw unfit(where, "key", key, "a non-empty name");
  if (typeof version !== "string" || version === "") {
    throw unfit(where, "version", version, "a non-empty name");
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
  throw new ForecastnetError("MODEL_UNFIT", `${where}: header is not an object`);
}

function unfit(where: string, field: string, found: unknown, expected: string): ForecastnetError {
  const problem = `${where}: ${field} is ${JSON.stringify(found) ?? "missing"}; expected ${expected}`;
  return new ForecastnetError("MODEL_UNFIT", problem, { context: { where, field } });
}

function parseScaler(value: unknown, channels: number, where: string): Scaler {
  const { offset, scale } = (value ?? {}) as Unchecked<Scaler>;
  if (!isNumbers(offset, channels))
    throw unfit(where, "scaler.offset", offset, `a finite number for each of ${channels} channels`);
  if (!isNumbers(scale, channels) || scale.includes(0)) {
    throw unfit(
      where,
      "scaler.scale",
      scale,
      `a finite number other than zero for each of ${channels} channels`,
    );
  }
  return { offset, scale };
}

function isNumbers(value: unknown, count: number): value is readonly number[] {
  return Array.isArray(value) && value.length === count && value.every(Number.isFinite);
}

function parseMembers(value: unknown, where: string): readonly MemberHeader[] {
  if (!Array.isArray(value) || value.length === 0)
    throw unfit(where, "members", value, "a list of one or more");
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
  const spec = sharedPlan(parseSpec(withoutSeason(stored, where), where)).spec;
  if (typeof share !== "number" || !(share > 0 && share <= 1)) {
    throw unfit(where, "share", share, "a number above 0 and at most 1");
  }
  const isCount = typeof residualsPerStep === "number" && Number.isInteger(residualsPerStep);
  const isSound = isCount && (spec.output === "linear" ? residualsPerStep > 0 : residualsPerStep === 0);
  if (!isSound) {
    const expected = spec.output === "linear" ? "a whole number above 0" : "0 for a Gaussian output";
    throw unfit(where, "residualsPerStep", residualsPerStep, expected);
  }
  return { spec, share, residualsPerStep };
}

/** A stored spec without framing.season. Values that are not specs pass through: `parseSpec` refuses them. */
function withoutSeason(stored: unknown, where: string): unknown {
  if (!isRecord(stored) || !isRecord(stored.framing)) return stored;
  const { season, ...framing } = stored.framing;
  if (season === null) return { ...stored, framing };
  throw unfit(where, "spec.framing.season", season, "null, since this release has no seasonal shortcut");
}
