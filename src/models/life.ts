// The lifecycle of a series' model: its phases, the legal moves between them, and the one setter.
//
//              ┌────── refused, failed ──────┐
//              ▼                             │
//   cold ─► training ─► champion ─► drifting ─► training ─► …
//     ▲         │           │           │
//     └─────────┴── rolled back, retired, refused
//
// In training, the old model, if there is one, continues to serve.

const legalMoves = {
  cold: ["training", "champion"],
  training: ["cold", "champion", "drifting"],
  champion: ["training", "drifting", "cold"],
  drifting: ["training", "champion", "cold"],
} as const satisfies Record<string, readonly string[]>;

export type Phase = keyof typeof legalMoves;
export const phases = Object.keys(legalMoves) as readonly Phase[];

/** The probation of a promoted model. */
export interface Probation {
  /** Live MASE of the predecessor; null when it had none. */
  readonly predecessorMase: number | null;
  /** Event time of the promotion. */
  readonly sinceMs: number;
}

/** Stored with the live scores of the series. */
export interface Life {
  readonly phase: Phase;
  readonly sinceMs: number;
  /** No training starts before this event time. Of a cohort, which has no event time, wall time. */
  readonly restsUntilMs: number;
  /** Event time since which the series differs from what its model was trained on. */
  readonly driftSinceMs: number | null;
  /** The training in progress. */
  readonly requestId: string | null;
  readonly probation: Probation | null;
  /** The newest decision, in words. */
  readonly verdict: string | null;
}

export const newLife: Life = Object.freeze({
  phase: "cold",
  sinceMs: 0,
  restsUntilMs: 0,
  driftSinceMs: null,
  requestId: null,
  probation: null,
  verdict: null,
});

/** The life after a move. Throws on a move that is not in the table: that is a bug. */
export function moveLife(life: Life, to: Phase, nowMs: number, changes: Partial<Life> = {}): Life {
  if (to === life.phase) return { ...life, ...changes };
  const legal: readonly string[] = legalMoves[life.phase];
  if (!legal.includes(to)) throw new Error(`a series that is ${life.phase} cannot become ${to}`);
  return { ...life, ...changes, phase: to, sinceMs: nowMs };
}
