// Runs a process until it is told to stop: HTTP routes, states, start and end. The work itself is given.
//
// Start: HTTP first, so that a service that cannot start says why; then the work. A passing failure, such as a broker that
// does not answer, is retried. Stop: what was opened is closed in the order given, HTTP last. Three quarters of the grace
// period are gentle, the rest is force.
//
//   starting ─► joining ─► running ─► stopping ─► stopped
//       │          │          │           │
//       └──────────┴──────────┴───────────┴─► failed

import { ForecastnetError } from "../runtime/errors.ts";
import { type HttpServer, type Routes, serveHttp, text } from "../runtime/http.ts";
import type { Logger } from "../runtime/logging.ts";
import type { Metrics, WorkerFacts } from "../runtime/metric-groups.ts";
import { backoff, fired, settlesWithin } from "../runtime/waiting.ts";
import type { Surroundings } from "./pipeline-parts.ts";
import { Resource } from "./resource.ts";

export interface Work {
  /** Opens what it needs, moves the service to joining and running, and resolves when the work has ended. */
  run(): Promise<void>;
  /** Why it is not ready although it runs; null when it is ready. */
  trouble(): string | null;
  facts(): WorkerFacts;
  /** Routes that add to those of the service or replace them. */
  readonly pages: Routes;
  /** In the order of closing. */
  readonly closes: readonly Pick<Resource<unknown>, "seal" | "close">[];
}

interface ServiceParts extends Pick<Surroundings, "clock" | "random" | "logger"> {
  readonly role: Role;
  readonly settings: {
    readonly host: string;
    /** Null for a service without HTTP pages. */
    readonly port: number | null;
    readonly graceMs: number;
  };
  readonly metrics: Pick<Metrics, "moved" | "expose">;
  readonly work: Work;
}

interface ServiceStatus {
  readonly isReady: boolean;
  /** Why it is not ready, or "ready". */
  readonly reason: string;
}

export class Service {
  /** Resolves once stopped; rejects with the reason when the service cannot go on. */
  readonly done: Promise<void>;
  readonly #parts: ServiceParts;
  readonly #lifecycle: Lifecycle;
  readonly #stopping = new AbortController();
  readonly #http = new Resource<HttpServer>((http) => http.close());
  #startTrouble = "starting";

  constructor(parts: ServiceParts) {
    this.#parts = parts;
    this.#lifecycle = new Lifecycle(parts.role, parts.logger, parts.metrics.moved);
    this.done = this.#live();
    this.done.catch(() => undefined); // Not unhandled when nobody awaits it.
  }

  get state(): ServiceState {
    return this.#lifecycle.state;
  }

  get port(): number | undefined {
    return this.#http.opened?.port;
  }

  /** Aborted when the service is asked to stop. */
  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  status(): ServiceStatus {
    const trouble = this.#trouble();
    return { isReady: trouble === null, reason: trouble ?? "ready" };
  }

  /** Asks the service to stop. Await `done` for its end. */
  stop(why: string): void {
    if (this.stopping.aborted) return;
    this.#parts.logger.info({ why }, "stop requested");
    this.#stopping.abort();
    this.#seal();
  }

  /** For the work, to report progress. Throws once the service is asked to stop. */
  move(to: "joining" | "running"): void {
    this.stopping.throwIfAborted();
    this.#lifecycle.move(to);
  }

  /** For the work: retries passing failures until the service is asked to stop. */
  async retry<T>(act: () => Promise<T>): Promise<T> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await act();
      } catch (error) {
        if (!(error instanceof ForecastnetError && error.retryable) || this.stopping.aborted) throw error;
        const { code, message, remedy } = error;
        // The same problem is logged about once a minute.
        if (message !== this.#startTrouble || attempt % 12 === 0)
          this.#parts.logger.warn({ code, reason: message, remedy }, "cannot start yet, trying again");
        this.#startTrouble = message;
        await backoff(attempt, this.stopping, this.#parts);
        this.stopping.throwIfAborted();
      }
    }
  }

  #trouble(): string | null {
    const { state } = this;
    if (state === "running") return this.#parts.work.trouble();
    return state === "starting" || state === "joining" ? this.#startTrouble : state;
  }

  async #live(): Promise<void> {
    let running: Promise<void> | undefined;
    try {
      await this.#listen();
      running = this.#parts.work.run();
      // Does not wait for a start that is stopped: it may hang on a broker that does not answer.
      await Promise.race([running, fired(this.stopping)]);
    } catch (error) {
      if (!this.stopping.aborted) {
        await this.#fail(error);
        throw error;
      }
    }
    await this.#end(this.state === "running" ? running : undefined);
  }

  async #listen(): Promise<void> {
    const { settings, logger, work } = this.#parts;
    const { host, port } = settings;
    if (port === null) return;
    const pages = { ...this.#pages(), ...work.pages };
    const server = await this.#http.open(() => serveHttp(pages, host, port));
    logger.info({ host, port: server.port }, "http listening");
  }

  async #end(running: Promise<void> | undefined): Promise<void> {
    this.#lifecycle.move("stopping");
    try {
      // The work may fail while it drains.
      await this.#close(0.75 * this.#parts.settings.graceMs, running);
    } catch (error) {
      this.#lifecycle.move("failed", { reason: String(error) });
      throw error;
    }
    this.#lifecycle.move("stopped");
  }

  /** Closes at once, so that the rest of the group need not wait for our session to time out. */
  async #fail(error: unknown): Promise<void> {
    this.#lifecycle.move("failed", { reason: String(error) });
    try {
      await this.#close(0);
    } catch (cause) {
      this.#parts.logger.warn({ reason: String(cause) }, "closing failed after an earlier failure");
    }
  }

  /** HTTP closes last, and also when the rest hangs: the next process may need the port. */
  async #close(gentleMs: number, running?: Promise<void>): Promise<void> {
    const { role, settings, clock } = this.#parts;
    const { graceMs } = settings;
    this.#seal();
    try {
      const closed = this.#closeWork(gentleMs).then(() => running);
      if (await settlesWithin(closed, graceMs, clock)) return;
      throw new ForecastnetError(
        "SHUTDOWN_FORCED",
        `the ${role} could not close within its grace period of ${graceMs} ms`,
      );
    } finally {
      await this.#http.close(0);
    }
  }

  /** Closes everything, even after a failure. Throws the first failure. */
  async #closeWork(gentleMs: number): Promise<void> {
    const { work, logger } = this.#parts;
    const failures: unknown[] = [];
    for (const resource of work.closes) {
      try {
        await resource.close(gentleMs);
      } catch (error) {
        failures.push(error);
      }
    }
    const [first, ...others] = failures;
    for (const other of others) logger.warn({ reason: String(other) }, "closing another resource failed");
    if (failures.length > 0) throw first;
  }

  #seal(): void {
    for (const resource of [...this.#parts.work.closes, this.#http]) resource.seal();
  }

  #pages(): Routes {
    const { metrics, work } = this.#parts;
    return {
      "/metrics": async () => {
        const { contentType, text: body } = await metrics.expose({
          ...work.facts(),
          isReady: this.status().isReady,
        });
        return { status: 200, contentType, body };
      },
      // Alive while it answers: a lost broker or a long restore is no reason for a restart.
      "/healthz": () => text(this.state === "failed" ? 503 : 200, this.state),
      "/readyz": () => {
        const { isReady, reason } = this.status();
        return text(isReady ? 200 : 503, reason);
      },
    };
  }
}

/** A process that runs as a service: what its owner may ask of it. */
export abstract class ServiceProcess {
  protected abstract readonly service: Service;

  /** Resolves once stopped; rejects with the reason when the process cannot go on. */
  get done(): Promise<void> {
    return this.service.done;
  }

  get port(): number | undefined {
    return this.service.port;
  }

  status(): ServiceStatus {
    return this.service.status();
  }

  /** Asks the process to stop. Await `done` for its end. */
  stop(why: string): void {
    this.service.stop(why);
  }
}

/** Why a member of a group is not ready; null when it is. */
export function memberTrouble(
  member: { readonly isJoined: boolean; readonly outage: string | null } | undefined,
): string | null {
  if (member === undefined) return "joining the group";
  if (!member.isJoined) return `joining the group${member.outage === null ? "" : `: ${member.outage}`}`;
  return member.outage === null ? null : `the log does not answer: ${member.outage}`;
}

const legalMoves = {
  starting: ["joining", "stopping", "failed"],
  joining: ["running", "stopping", "failed"],
  running: ["stopping", "failed"],
  stopping: ["stopped", "failed"],
  stopped: [],
  failed: [],
} as const satisfies Record<string, readonly string[]>;

export type ServiceState = keyof typeof legalMoves;

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
