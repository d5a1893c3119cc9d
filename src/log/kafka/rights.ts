// What to say of a failure that comes of missing rights. The client names neither the resource nor the right, and of
// a coordinator that it may not ask it says no more than of one that is gone: whoever asked knows what it asked for.

import { ForecastnetError } from "../../runtime/errors.ts";
import type { Subscription } from "../log.ts";
import { isCoordinatorUnknown, reasonOf, refusedKind } from "./kafka-errors.ts";

/** What a request asked for, by the kind of resource that a broker may refuse; words such as "Read on group a". */
export interface NeededRights {
  readonly topic?: string;
  readonly group?: string;
  readonly transactionalId?: string;
  readonly cluster?: string;
}

/** The reason, and where rights are missing, or may be, those that are needed. */
export function reasonWithRights(error: unknown, needed: NeededRights): string {
  const reason = reasonOf(error);
  const kind = refusedKind(error);
  if (kind !== null) return `${reason}: the user needs ${needed[kind] ?? "more rights"}`;
  const likely = needed.transactionalId ?? needed.group;
  if (!isCoordinatorUnknown(error) || likely === undefined) return reason;
  return `${reason}: if this stays, the user may lack ${likely}`;
}

/** Of a member that cannot go on. */
export function groupReason(
  error: unknown,
  { group, inputs }: Pick<Subscription, "group" | "inputs">,
): string {
  return reasonWithRights(error, { group: `Read on group ${group}`, topic: rightOnTopics("Read", inputs) });
}

/** For what a retry cannot mend. */
export function logFailure(
  message: string,
  cause: unknown,
  context: Readonly<Record<string, unknown>> = {},
): ForecastnetError {
  const code = refusedKind(cause) === null ? "LOG_FAILED" : "NOT_AUTHORIZED";
  return new ForecastnetError(code, message, { cause, context });
}

export function notAuthorized(error: unknown, needed: NeededRights): ForecastnetError {
  return new ForecastnetError("NOT_AUTHORIZED", reasonWithRights(error, needed), { cause: error });
}

export function rightOnTopics(operation: string, topics: readonly string[]): string {
  return `${operation} on topic ${[...new Set(topics)].join(", ")}`;
}
