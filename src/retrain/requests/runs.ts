// Cuts a batch of the training topic into runs: requests that are trained and answered together. A request that was
// begun before is a run of its own; what needs no training goes along with its neighbours.

import type { StoredBatch, StoredRecord } from "../../log/log.ts";
import type { TrainingTask } from "../training-task.ts";
import { decodeRequest, type RefusedRequest } from "./request-codec.ts";

export type RunItem = { readonly record: StoredRecord } & (
  | { readonly kind: "task"; readonly task: TrainingTask }
  | ({ readonly kind: "refused" } & RefusedRequest)
  /** Asked already by an earlier item of the run. */
  | { readonly kind: "repeated" }
);

export interface Run {
  readonly items: readonly RunItem[];
  /** The position after the run. */
  readonly nextOffset: number;
  readonly isAlone: boolean;
}

export interface AttemptRule {
  /** How often the work on a request was begun. */
  readonly attemptsOf: (requestId: string) => number;
  /** After so many it is begun no more. */
  readonly most: number;
}

export function cutRuns({ records, nextOffset }: StoredBatch, rule: AttemptRule): Run[] {
  const groups: { items: RunItem[]; isAlone: boolean }[] = [];
  for (const record of records) {
    const item = readItem(record, rule);
    const isAlone = item.kind === "task" && rule.attemptsOf(item.task.id) > 0;
    const last = groups.at(-1);
    if (last === undefined || isAlone || last.isAlone) groups.push({ items: [item], isAlone });
    else last.items.push(isRepeated(item, last.items) ? { kind: "repeated", record } : item);
  }
  return groups.map((group, g) => {
    const next = groups[g + 1]?.items[0].record.offset ?? nextOffset;
    return { ...group, nextOffset: next };
  });
}

function readItem(record: StoredRecord, { attemptsOf, most }: AttemptRule): RunItem {
  const read = decodeRequest(record.value);
  if (!("task" in read)) return { kind: "refused", record, ...read };
  const { id, modelKey } = read.task;
  const attempts = attemptsOf(id);
  if (attempts < most) return { kind: "task", record, task: read.task };
  const detail = `the work on request ${id} was begun ${attempts} times and never came to an end`;
  const refusal = { reason: "poisoned-request", detail } as const;
  return { kind: "refused", record, refusal, asker: { requestId: id, modelKey } };
}

function isRepeated(item: RunItem, earlier: readonly RunItem[]): boolean {
  return (
    item.kind === "task" && earlier.some((other) => other.kind === "task" && other.task.id === item.task.id)
  );
}
