// Messages between a backtest and its threads.

import type { FromThread } from "../engine/threads/job-thread.ts";
import type { ConfigInput } from "../runtime/config/sources.ts";
import type { SystemResult } from "./replay-system.ts";
import type { SeriesPoints } from "./series-points.ts";

/**
 * "production": what workers would have published. "rolling": each model is fitted once, and forecasts from origins that lie a horizon
 * apart.
 */
export const protocols = ["production", "rolling"] as const;
export type Protocol = (typeof protocols)[number];

/** Some series under one system. */
export interface ReplayTask {
  readonly protocol: Protocol;
  /** The configuration is loaded again in the thread. */
  readonly config: Pick<ConfigInput, "argv" | "env">;
  readonly series: readonly SeriesPoints[];
  readonly testShare: number;
  readonly resolutionMs: number;
  /** One number in memory that threads share: points replayed so far. */
  readonly progress: Int32Array;
}

export type ToReplayThread =
  | { readonly kind: "replay"; readonly job: number; readonly task: ReplayTask }
  | { readonly kind: "close" };

export type FromReplayThread = FromThread<SystemResult, null>;
