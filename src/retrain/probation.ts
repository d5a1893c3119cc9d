// The end of a promoted model's probation: it is confirmed, or its predecessor is put back. What decides is how the
// predecessor would have done meanwhile: comparing with how it did before would blame the model for a series that has
// become harder, and praise it for one that has become easier. Both live scores are told.

import type { Engine } from "../engine/engine.ts";
import { avroCodec } from "../log/codec/avro.ts";
import type { ModelRecord } from "../log/codec/schemas.generated.ts";
import { cohortKey } from "../models/cohort.ts";
import { decodeModel } from "../models/forecastnet/model-bytes.ts";
import type { Decision } from "./decision.ts";
import { provesWorse } from "./gate/proves-worse.ts";
import type { LaneDesk } from "./lane-desk.ts";
import { orWhyNot } from "./or-why-not.ts";

const recordCodec = avroCodec("ModelRecord");

/** Null while there is too little to go by. */
export async function endProbation(
  desk: LaneDesk,
  seriesId: string,
  engine: Engine,
): Promise<Decision | null> {
  const { book, shelf, settingsOf, rulesOf, historyOf } = desk.parts;
  const live = book.get(seriesId);
  const probation = live?.life.probation ?? null;
  const serving = shelf.get(seriesId);
  if (live === undefined || probation === null || serving === undefined) return null;
  // The scores begin anew with the first forecast of another version.
  if (live.version !== serving.facts.version) return null;
  const rules = rulesOf(settingsOf(seriesId));
  const mase = live.scores()?.mase;
  if (live.scoredSlots < rules.probationSteps || mase === undefined) return null;
  const { predecessorMase, sinceMs } = probation;
  const about = { modelKey: seriesId, fromVersion: serving.facts.version };
  const lived = { liveMase: mase, ...(predecessorMase !== null && { livePredecessorMase: predecessorMase }) };
  const history = historyOf(seriesId);
  if (history === null) return null;
  const predecessor = await orWhyNot(() => readPredecessor(desk, seriesId));
  if (typeof predecessor === "string") {
    const reason = `its predecessor cannot be read: ${predecessor}`;
    return { ...about, kind: "confirmed", reason, numbers: lived };
  }
  const judged = await provesWorse(engine, {
    model: serving.model,
    predecessor: predecessor.model,
    histories: [history],
    afterMs: sinceMs,
    rules: { ...rules, tailSteps: rules.probationSteps },
  });
  const { reason } = judged;
  const numbers = { ...lived, ...judged.numbers };
  if (!judged.isWorse) return { ...about, kind: "confirmed", reason, numbers };
  return { ...about, kind: "rolled-back", record: predecessor.record, reason, numbers };
}

/** What would serve in its place; both null when that is seasonal-naive. */
async function readPredecessor(desk: LaneDesk, seriesId: string) {
  const record = await previousRecord(desk, seriesId);
  if (record !== null) return { record, model: decodeModel(record.weights, `predecessor of ${seriesId}`) };
  // A member that gives its own model up is served by its cohort's again.
  const { shelf, settingsOf } = desk.parts;
  const { cohort } = settingsOf(seriesId);
  return { record, model: cohort === "" ? null : (shelf.get(cohortKey(cohort))?.model ?? null) };
}

/** What served before the present model, if it was a model. */
export async function previousRecord(desk: LaneDesk, modelKey: string): Promise<ModelRecord | null> {
  const { shelf, readRecord } = desk.parts;
  const serving = shelf.get(modelKey);
  if (serving === undefined || serving.facts.previousVersion === null) return null;
  // Kept in memory only for those on probation; it lies in the record on the topic all the time.
  const bytes = serving.previous ?? (await readRecord(modelKey))?.previous ?? null;
  return bytes === null ? null : recordCodec.decode(Buffer.from(bytes));
}
