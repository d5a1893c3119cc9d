// What is decided about the outcome of a training: the gate judges the challengers on what happened after they were
// trained, against the model that serves and against seasonal-naive.

import type { Engine } from "../engine/engine.ts";
import { avroCodec } from "../log/codec/avro.ts";
import type { ModelRecord } from "../log/codec/schemas.generated.ts";
import { encodeModel } from "../models/forecastnet/model-bytes.ts";
import { meanOf, naiveErrorOf } from "../models/scores.ts";
import type { GatherHistories } from "./cohorts.ts";
import type { Decision } from "./decision.ts";
import { passGate } from "./gate/gate.ts";
import type { LaneDesk } from "./lane-desk.ts";
import { toModelRecord } from "./requests/model-record.ts";
import type { FinishedTraining } from "./requests/outcome-codec.ts";
import type { Shelved } from "./shelf.ts";
import { historiesOf } from "./task-for.ts";
import type { History, TrainedModel } from "./training-task.ts";

export interface Court {
  readonly desk: LaneDesk;
  readonly modelKey: string;
  readonly engine: Engine;
  readonly gather: GatherHistories;
  readonly signal: AbortSignal;
  readonly nowMs: number;
}

const recordCodec = avroCodec("ModelRecord");

export async function verdictOn(
  result: FinishedTraining,
  court: Court,
  imported: Imported | null = null,
): Promise<Decision> {
  const { desk, modelKey, engine, gather, signal } = court;
  const { shelf, settingsOf, rulesOf } = desk.parts;
  const champion = shelf.of(modelKey);
  const about = { modelKey, fromVersion: champion?.facts.version ?? null };
  if (result.outcome === "failed") return { ...about, kind: "failed", reason: result.reason, numbers: {} };
  if (imported?.skipsGate) {
    const record = recordOf(result.challengers[0], { court, champion, imported, numbers: {} });
    const reason = "asked for by hand, without the gate";
    return { ...about, kind: "promoted", record, predecessorMase: maseIn(record, desk), reason, numbers: {} };
  }
  const histories = await historiesOf(desk, modelKey, gather, signal);
  const verdict = await passGate(engine, {
    challengers: result.challengers,
    champion:
      champion === undefined ? null : { model: champion.model, trainedToMs: champion.facts.trainedTo },
    histories,
    rules: rulesOf(settingsOf(histories[0]?.seriesId ?? modelKey)),
  });
  const { reason, numbers } = verdict;
  if (verdict.outcome === "promoted") {
    const record = recordOf(verdict.challenger, { court, champion, imported, numbers });
    return { ...about, kind: "promoted", record, predecessorMase: maseIn(record, desk), reason, numbers };
  }
  // A cohort's model is not a member's to retire.
  if (verdict.retire && shelf.get(modelKey) !== undefined)
    return { ...about, kind: "retired", reason, numbers };
  const toVersion = verdict.challenger?.model.version ?? null;
  return { ...about, kind: "refused", toVersion, reason, numbers };
}

/** A model that somebody brought. */
export interface Imported {
  readonly record: ModelRecord;
  /** Whether it serves whatever the gate would say. */
  readonly skipsGate: boolean;
}

/** The live MASE of what served so far, in units of the naive errors that the new model will be measured by. */
function maseIn({ modelKey, validation }: ModelRecord, { parts }: LaneDesk): number | null {
  const live = parts.book.get(modelKey);
  const mase = live?.scores()?.mase;
  const units = live?.tenure?.frame.naiveErrors;
  if (mase === undefined || units === undefined) return null;
  return (mase * meanOf(units)) / meanOf(validation.naiveErrors);
}

interface Promotion {
  readonly court: Court;
  readonly champion: Shelved | undefined;
  readonly imported: Imported | null;
  readonly numbers: Readonly<Record<string, number>>;
}

function recordOf(trained: TrainedModel, { court, champion, imported, numbers }: Promotion): ModelRecord {
  const { desk, modelKey, nowMs } = court;
  const record =
    imported?.record ??
    toModelRecord(trained, {
      requestId: desk.parts.book.get(modelKey)?.life.requestId ?? null,
      trainedAtMs: nowMs,
    });
  const validation =
    imported === null ? record.validation : inUnitsOf(desk.parts.historyOf(modelKey), record);
  const { naiveMase = 0, naiveCrps = 0 } = numbers;
  // What a member gives up when it gets its own model is its cohort's, which is not its predecessor to go back to.
  const own = champion?.facts.modelKey === modelKey ? champion : undefined;
  return {
    ...record,
    validation: { ...validation, baselineMase: naiveMase, baselineCrps: naiveCrps },
    previousVersion: own?.facts.version ?? null,
    previous: own === undefined ? null : encodeShelved(own),
  };
}

/** A model that learnt from another series is measured by the naive errors of the one that it serves. */
function inUnitsOf(history: History | null, { validation }: ModelRecord): ModelRecord["validation"] {
  if (history === null || history.channels !== validation.naiveErrors.length) return validation;
  const { values, channels } = history;
  const naiveErrors = Array.from({ length: channels }, (_, channel) => {
    const own = values.filter((_, i) => i % channels === channel);
    return naiveErrorOf(own, 0, own.length) ?? 1;
  });
  const crps = (validation.crps * meanOf(naiveErrors)) / meanOf(validation.naiveErrors);
  return { ...validation, naiveErrors, crps };
}

function encodeShelved({ facts, model }: Shelved): Buffer {
  return recordCodec.encode({ ...facts, weights: Buffer.from(encodeModel(model)), previous: null });
}
