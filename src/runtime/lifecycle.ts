// The states of a service, the moves between them that are legal, and the one setter that logs and counts.
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

export type ServiceState = keyof typeof legalMoves;

/** What a service is to the others, and what its log calls it. */
export type Role = "worker" | "trainer";

export class Lifecycle {
  readonly #role: Role;
  readonly #logger: Logger;
  readonly #onMove: (from: ServiceState, to: ServiceState) => void;
  #state: ServiceState = "starting";

  constructor(role: Role, logger: Logger, onMove: (from: ServiceState, to: ServiceState) => void) {
    this.#role = role;
    this.#logger = logger;
    this.#onMove = onMove;
  }

  get state(): ServiceState {
    return this.#state;
  }

  move(to: ServiceState, facts: Readonly<Record<string, unknown>> = {}): void {
    const from = this.#state;
    const legal: readonly string[] = legalMoves[from];
    if (!legal.includes(to)) throw new Error(`a ${this.#role} that is ${from} cannot become ${to}`);
    this.#state = to;
    this.#logger.info({ from, to, ...facts }, `${this.#role} state changed`);
    this.#onMove(from, to);
  }
}
