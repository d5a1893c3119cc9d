// A ForecastNet model as bytes, and back. The envelope is that of every family. The numbers are, for each member, its weights
// in the layout of `plan.ts` and its residuals (float32), then the spread (float32). Decoding checks every number, so a model
// that decodes can run. The header has the rest, as JSON:
//   { key, version, scaler: { offset[], scale[], ofRoots? }, members: [{ spec, share, residualsPerStep }], hasSpread }
// A stored spec has one field more than a spec: framing.season, which belonged to a seasonal shortcut that was
// removed. It is written as null, so that equal models keep equal bytes, and any other value is refused.

import { ForecastnetError } from "../../runtime/errors.ts";
import type { Scaler, Storage } from "../family.ts";
import { isRecord } from "../field-problems.ts";
import {
  decodeEnvelope,
  encodeEnvelope,
  parseHeaderJson,
  readSections,
  type Section,
} from "../model-envelope.ts";
import type { Unchecked } from "./cells.ts";
import type { ForecastNetModel, Member } from "./model.ts";
import { parseSpec } from "./parse-spec.ts";
import { sharedPlan } from "./shared-plan.ts";
import type { ForecastNetSpec } from "./spec.ts";

/** Throws MODEL_UNFIT for a model that cannot be read back. */
export function encodeModel(model: ForecastNetModel, storage: Storage = "float32"): Uint8Array {
  const where = `model ${model.key}@${model.version}`;
  const header = headerOf(model);
  const headerJson = toHeaderJson(header);
  parseHeader(Buffer.from(headerJson), where);
  const values = [
    ...model.members.flatMap(({ weights, residuals }) => [weights, residuals ?? []]),
    model.spread ?? [],
  ];
  const sections = sectionsOf(header, storage);
  return encodeEnvelope(
    headerJson,
    storage,
    sections.map((section, i) => ({ section, values: values[i] })),
    where,
  );
}

/** `where` names the source in errors: a topic and offset, or a file. Throws MODEL_UNFIT. */
export function decodeModel(bytes: Uint8Array, where: string): ForecastNetModel {
  const { storage, header: headerBytes, numbers } = decodeEnvelope(bytes, where);
  const header = parseHeader(headerBytes, where);
  const { key, version, scaler, hasSpread } = header;
  const name = `${where}: model ${key}@${version}`;
  const values = readSections(numbers, sectionsOf(header, storage), name);
  const members = header.members.map(({ spec, share, residualsPerStep }, m): Member => {
    const weights = values[2 * m];
    const residuals = values[2 * m + 1];
    requireAscending(residuals, residualsPerStep, `${name}: residuals of member ${m}`);
    return { spec, weights, share, residuals: spec.output === "linear" ? residuals : null };
  });
  const spread = hasSpread ? values[values.length - 1] : null;
  return { family: "forecastnet", key, version, scaler, members, spread };
}

function sectionsOf({ members, hasSpread }: ModelHeader, storage: Storage): readonly Section[] {
  const { horizon, targets } = members[0].spec;
  const rows = horizon * targets.length;
  return [
    ...members.flatMap(({ spec, residualsPerStep }, m): Section[] => [
      { name: `weights of member ${m}`, count: sharedPlan(spec).weightCount, storage },
      { name: `residuals of member ${m}`, count: residualsPerStep * rows, storage: "float32" },
    ]),
    { name: "spread", count: hasSpread ? rows : 0, storage: "float32" },
  ];
}

function requireAscending(residuals: Float32Array, perStep: number, what: string): void {
  const at = residuals.findIndex((value, i) => i % perStep !== 0 && value < residuals[i - 1]);
  if (at < 0) return;
  throw new ForecastnetError(
    "MODEL_UNFIT",
    `${what} has ${residuals[at]} after ${residuals[at - 1]} at ${at}; the errors of a step must ascend`,
  );
}

interface MemberHeader {
  readonly spec: ForecastNetSpec;
  readonly share: number;
  /** Held-out errors per target and step; 0 for Gaussian outputs. */
  readonly residualsPerStep: number;
}

interface ModelHeader {
  readonly key: string;
  readonly version: string;
  readonly scaler: Scaler;
  readonly members: readonly MemberHeader[];
  readonly hasSpread: boolean;
}

function headerOf({ key, version, scaler, members, spread }: ForecastNetModel): ModelHeader {
  return {
    key,
    version,
    scaler: {
      offset: scaler.offset,
      scale: scaler.scale,
      ...(scaler.ofRoots && { ofRoots: true }),
    },
    members: members.map(({ spec, share, residuals }) => ({
      spec,
      share,
      residualsPerStep: (residuals?.length ?? 0) / (spec.horizon * spec.targets.length),
    })),
    hasSpread: spread !== null,
  };
}

function toHeaderJson(header: ModelHeader): string {
  const members = header.members.map((member) => {
    const { level, scale } = member.spec.framing;
    return { ...member, spec: { ...member.spec, framing: { level, scale, season: null } } };
  });
  return JSON.stringify({ ...header, members });
}

/** `where` names the source in errors. Equal specs of different models become one object. */
function parseHeader(bytes: Uint8Array, where: string): ModelHeader {
  const header: Unchecked<ModelHeader> = parseHeaderJson(bytes, where);
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

function unfit(where: string, field: string, found: unknown, expected: string): ForecastnetError {
  const problem = `${where}: ${field} is ${JSON.stringify(found) ?? "missing"}; expected ${expected}`;
  return new ForecastnetError("MODEL_UNFIT", problem, { context: { where, field } });
}

function parseScaler(value: unknown, channels: number, where: string): Scaler {
  const { offset, scale, ofRoots } = (value ?? {}) as Unchecked<Scaler>;
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
  if (ofRoots !== undefined && typeof ofRoots !== "boolean")
    throw unfit(where, "scaler.ofRoots", ofRoots, "true, false or nothing");
  return { offset, scale, ...(ofRoots && { ofRoots }) };
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
