// Where a series stands between two models: the phases, the moves between them that are legal, and the one setter.
//
//              ┌────── refused, failed ──────┐
//              ▼                             │
//   cold ─► training ─► champion ─► drifting ─► training ─► …
//     ▲         │           │           │
//     └─────────┴── rolled back, retired, refused
//
// While a series is in training its old model, if it has one, goes on serving.

const legalMoves = {
  cold: ["training", "champion"],
  training: ["cold", "champion", "drifting"],
  champion: ["training", "drifting", "cold"],
  drifting: ["training", "champion", "cold"],
} as const satisfies Record<string, readonly string[]>;

export type Phase = keyof typeof legalMoves;
export const phases = Object.keys(legalMoves) as readonly Phase[];

/** A promoted model that has yet to prove itself. */
export interface Probation {
  /** Live MASE of what served before; null when it had none. */
  readonly predecessorMase: number | null;
  /** Event time of the promotion. */
  readonly sinceMs: number;
}

/** All of it is stored with the series. */
export interface LifeFacts {
  readonly phase: Phase;
  readonly sinceMs: number;
  /** Event time before which no training begins; of a cohort, which has none, wall time. */
  readonly restsUntilMs: number;
  /** Event time since when the series is no longer the one its model learnt. */
  readonly driftSinceMs: number | null;
  /** The training under way. */
  readonly requestId: string | null;
  readonly probation: Probation | null;
  /** The newest decision, in words. */
  readonly verdict: string | null;
}

export const unborn: LifeFacts = Object.freeze({
  phase: "cold",
  sinceMs: 0,
  restsUntilMs: 0,
  driftSinceMs: null,
  requestId: null,
  probation: null,
  verdict: null,
});

/** The facts after a move. Throws on a move that is not in the table: it would be a mistake of ours. */
export function moveLife(
  facts: LifeFacts,
  to: Phase,
  nowMs: number,
  changes: Partial<LifeFacts> = {},
): LifeFacts {
  if (to === facts.phase) return { ...facts, ...changes };
  const legal: readonly string[] = legalMoves[facts.phase];
  if (!legal.includes(to)) throw new Error(`a series that is ${facts.phase} cannot become ${to}`);
  return { ...facts, ...changes, phase: to, sinceMs: nowMs };
}
