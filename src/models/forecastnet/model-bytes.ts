// A ForecastNet model as bytes, and back. The envelope is that of every family; `model-header.ts` describes the header. The
// numbers are, for each member, its weights in the layout of `plan.ts` and its residuals (float32), then the spread
// (float32). Decoding checks every number, so a model that decodes can run.

import { ForecastnetError } from "../../runtime/errors.ts";
import type { Storage } from "../family.ts";
import { decodeEnvelope, encodeEnvelope, readSections, type Section } from "../model-envelope.ts";
import type { ForecastNetModel, Member } from "./model.ts";
import { headerOf, type ModelHeader, parseHeader, toHeaderJson } from "./model-header.ts";
import { sharedPlan } from "./shared-plan.ts";

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
