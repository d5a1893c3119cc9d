// Which decisions answer an order. Events name the model, not the order: what a training that was already under way
// decides about the same model must not be taken for the answer to a rollback or an import.

import type { ModelEventRecord, ModelOrderRecord } from "../../log/codec/schemas.generated.ts";

/** "progress": worth telling, but more is to come. Null: about something else. */
export type Bearing = "done" | "refused" | "progress" | null;

export interface Asked extends Pick<ModelOrderRecord, "kind"> {
  /** Import only: the version brought. */
  readonly version: string | null;
}

export function bearingOf({ kind, toVersion }: ModelEventRecord, asked: Asked): Bearing {
  switch (asked.kind) {
    case "ROLL_BACK":
      if (kind === "ROLLED_BACK") return "done";
      // A refusal that names a version is about a challenger.
      return kind === "REFUSED" && toVersion === null ? "refused" : null;
    case "IMPORT":
      if (kind === "PROMOTED") return toVersion === asked.version ? "done" : null;
      if (kind === "RETIRED") return "refused";
      return kind === "REFUSED" && (toVersion === null || toVersion === asked.version) ? "refused" : null;
    default:
      if (kind === "REQUESTED") return "progress";
      if (kind === "PROMOTED") return "done";
      return kind === "REFUSED" || kind === "FAILED" || kind === "RETIRED" ? "refused" : null;
  }
}
