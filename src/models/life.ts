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
  /** No training starts before this event time; 0 for no such time. Of a cohort, which has no event time, wall time. */
  readonly restsUntilMs: number;
  /** Event time since which the series differs from what its model was trained on. */
  readonly driftSinceMs: number | null;
  /** The training in progress. */
  readonly requestId: string | null;
  readonly probation: Probation | null;
  /** Event time when all families last competed; null when they have not, or when the series has changed since. */
  readonly competedMs: number | null;
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
  competedMs: null,
  verdict: null,
});

/** Whether no training may start at this time, which is before 0 for series older than 1970. */
export function isResting({ restsUntilMs }: Life, ms: number): boolean {
  return restsUntilMs !== 0 && ms < restsUntilMs;
}

/** The life after a move. Throws on a move that is not in the table: that is a bug. */
export function moveLife(life: Life, to: Phase, nowMs: number, changes: Partial<Life> = {}): Life {
  if (to === life.phase) return { ...life, ...changes };
  const legal: readonly string[] = legalMoves[life.phase];
  if (!legal.includes(to)) throw new Error(`a series that is ${life.phase} cannot become ${to}`);
  return { ...life, ...changes, phase: to, sinceMs: nowMs };
}

/**
 * A model that was fitted to newer data is named after the first one of its line: "20240601T120000Z-1f2e3d4c+20240608T120000Z-5a6b7c8d".
 * Live scores and calibration are those of the line.
 */
export function refreshedVersion(refreshed: string, version: string): string {
  return `${lineOf(refreshed)}+${version}`;
}

/** True when one of the two was made from the other by fitting it to newer data. Null is no model, and of no line. */
export function isSameLine(one: string | null, other: string | null): boolean {
  return one !== null && other !== null && lineOf(one) === lineOf(other);
}

export function lineOf(version: string): string {
  const end = version.indexOf("+");
  return end < 0 ? version : version.slice(0, end);
}
