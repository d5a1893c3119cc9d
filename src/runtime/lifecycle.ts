// The states of a worker, the moves between them that are legal, and the one setter that logs and counts.
//
//   starting ─► joining ─► running ─► stopping ─► stopped
//       │          │          │           │
//       └──────────┴──────────┴───────────┴─► failed

import type { Logger } from "./logging.ts";

const legalMoves = {
  starting: ["joining", "stopping", "failed"],
  joining: ["running", "stopping", "failed"],
  running: ["stopping", "failed"],
  stopping: ["stopped", "failed"],
  stopped: [],
  failed: [],
} as const satisfies Record<string, readonly string[]>;

export type WorkerState = keyof typeof legalMoves;

export class Lifecycle {
  readonly #logger: Logger;
  readonly #onMove: (from: WorkerState, to: WorkerState) => void;
  #state: WorkerState = "starting";

  constructor(logger: Logger, onMove: (from: WorkerState, to: WorkerState) => void) {
    this.#logger = logger;
    this.#onMove = onMove;
  }

  get state(): WorkerState {
    return this.#state;
  }

  move(to: WorkerState, facts: Readonly<Record<string, unknown>> = {}): void {
    const from = this.#state;
    const legal: readonly string[] = legalMoves[from];
    if (!legal.includes(to)) throw new Error(`a worker that is ${from} cannot become ${to}`);
    this.#state = to;
    this.#logger.info({ from, to, ...facts }, "worker state changed");
    this.#onMove(from, to);
  }
}
