// The models that serve, as retraining sees them. They are held by the forecast stage; this is what is handed over.

import type { ModelRecord } from "../log/codec/schemas.generated.ts";
import { isCohortKey } from "../models/cohort.ts";
import type { ForecastNetModel } from "../models/forecastnet/model.ts";
import type { RefusalReason } from "../runtime/metric-groups.ts";
import type { ServingFacts } from "./decision.ts";

export interface Shelved {
  readonly model: ForecastNetModel;
  readonly facts: Omit<ModelRecord, "weights" | "previous">;
  /** The encoded record that this one replaced; null when there is none, or when it was let go. */
  readonly previous: Buffer | null;
}

export interface ModelShelf {
  /** The model of this very key. */
  get(modelKey: string): Shelved | undefined;
  /** The model that serves a series: its own, or else its cohort's. */
  of(seriesId: string): Shelved | undefined;
  /** Why the record cannot serve; null when it does from now on. What served before goes on when it cannot. */
  put(record: ModelRecord): { readonly reason: RefusalReason; readonly detail: string } | null;
  remove(modelKey: string): void;
  forgetPrevious(modelKey: string): void;
  keys(): Iterable<string>;
}

export function servingFacts({ facts }: Shelved): ServingFacts {
  const { modelKey, version, validation, trainedAt, trainedTo } = facts;
  return {
    ...{ modelKey, version },
    // Members differ in scale: each is measured by itself.
    naiveErrors: isCohortKey(modelKey) ? [] : validation.naiveErrors,
    validationMase: validation.scoredSteps > 0 ? validation.mase : null,
    ...{ trainedAtMs: trainedAt, trainedToMs: trainedTo },
  };
}
