// What is written in answer to a request: its outcome for the worker that asked, and a dead letter for a request that
// is not trained.

import type { Outgoing } from "../../domain.ts";
import { type DeadLetterTopic, toDeadLetter } from "../../log/dead-letter.ts";
import type { Fitting } from "./commit-fitting.ts";
import { outcomeKey } from "./model-keys.ts";
import { encodeOutcome, type FinishedTraining } from "./outcome-codec.ts";
import type { Asker } from "./request-codec.ts";
import type { RunItem } from "./runs.ts";

/** Where the request came from, and where its answers go. */
export interface AnswerPlace {
  readonly requestTopic: string;
  /** Of the training topic and of the models topic: the one that the asker owns. */
  readonly partition: number;
  readonly modelsTopic: string;
  readonly deadLetters: DeadLetterTopic;
  readonly nowMs: number;
}

/** The result is null for an item without a training of its own. */
export function answersTo(item: RunItem, result: FinishedTraining | null, place: AnswerPlace): Fitting[] {
  switch (item.kind) {
    case "repeated":
      return []; // The one it repeats is answered.
    case "refused":
      return refusalOf(item, place);
    case "task": {
      const { id: requestId, modelKey } = item.task;
      return result === null ? [] : [outcomeOf({ requestId, modelKey }, result, place)];
    }
  }
}

function refusalOf(item: RunItem & { readonly kind: "refused" }, place: AnswerPlace): Fitting[] {
  const { record, refusal, asker } = item;
  const { requestTopic: topic, partition, deadLetters } = place;
  const letter = (value: Buffer | null, detail: string) =>
    toDeadLetter({ topic, partition, record: { ...record, value } }, { ...refusal, detail }, deadLetters);
  const deadLetter: Fitting = {
    record: letter(record.value, refusal.detail),
    smaller: (why) => letter(null, `${refusal.detail}; its value is left out: ${why}`),
  };
  if (asker === null) return [deadLetter];
  const reason = `${refusal.reason}: ${refusal.detail}`;
  return [deadLetter, outcomeOf(asker, { outcome: "failed", reason }, place)];
}

function outcomeOf(asker: Asker, result: FinishedTraining, place: AnswerPlace): Fitting {
  const { modelsTopic: topic, partition, nowMs: endedAtMs } = place;
  const toRecord = (told: FinishedTraining): Outgoing => ({
    ...{ topic, partition, key: Buffer.from(outcomeKey(asker.modelKey)) },
    value: encodeOutcome({ ...asker, result: told, endedAtMs }),
  });
  const smaller = (why: string) =>
    toRecord({ outcome: "failed", reason: `what was trained cannot be written: ${why}` });
  return { record: toRecord(result), smaller: result.outcome === "trained" ? smaller : null };
}
