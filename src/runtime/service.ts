// The life of a process that works until it is told to stop: its pages, its states, its end. Knows nothing of the
// work itself, which is given: how it runs, what it opens, what it says of itself.
//
// Start: HTTP first, so that a service that cannot start says why; then the work. A failure that passes, such as a
// broker that does not answer, is waited out. Stop: what was opened is closed in the order given, HTTP last. Three
// quarters of the grace period are gentle, the rest is force.

import { ForecastnetError } from "./errors.ts";
import { type HttpServer, type Routes, serveHttp, text } from "./http.ts";
import { Lifecycle, type Role, type ServiceState } from "./lifecycle.ts";
import type { Logger } from "./logging.ts";
import type { Metrics, WorkerFacts } from "./metric-groups.ts";
import { Resource } from "./resource.ts";
import { backoff, fired, settlesWithin } from "./waiting.ts";

export interface Work {
  /** Opens what it needs, moves the service on to joining and to running, and then lasts as long as there is work. */
  run(): Promise<void>;
  /** What keeps it from being ready although it runs; null when nothing does. */
  trouble(): string | null;
  facts(): WorkerFacts;
  /** Beside the service's own pages, or instead of them. */
  readonly pages: Routes;
  /** From the first to be closed to the last. */
  readonly closes: readonly Pick<Resource<unknown>, "seal" | "close">[];
}

export interface ServiceParts {
  readonly role: Role;
  readonly settings: { readonly host: string; readonly port: number; readonly graceMs: number };
  readonly logger: Logger;
  readonly metrics: Pick<Metrics, "moved" | "expose">;
  readonly work: Work;
}

export interface ServiceStatus {
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
    this.done.catch(() => undefined); // Told to whoever awaits it; stop() alone must not crash the process.
  }

  get state(): ServiceState {
    return this.#lifecycle.state;
  }

  get port(): number | undefined {
    return this.#http.opened?.port;
  }

  /** Fires when the service is asked to stop. */
  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  status(): ServiceStatus {
    const trouble = this.#trouble();
    return { isReady: trouble === null, reason: trouble ?? "ready" };
  }

  /** Asks the service to stop; `done` tells when it has. */
  stop(why: string): void {
    if (this.stopping.aborted) return;
    this.#parts.logger.info({ why }, "stop requested");
    this.#stopping.abort();
    this.#seal();
  }

  /** For the work: how far it has come. Throws once the service is asked to stop. */
  move(to: "joining" | "running"): void {
    this.stopping.throwIfAborted();
    this.#lifecycle.move(to);
  }

  /** For the work: tries again for as long as the failure is one that passes and nobody asked to stop. */
  async retry<T>(act: () => Promise<T>): Promise<T> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await act();
      } catch (error) {
        if (!(error instanceof ForecastnetError && error.retryable) || this.stopping.aborted) throw error;
        const { code, message, remedy } = error;
        // Once a minute is enough for what stays as it is.
        if (message !== this.#startTrouble || attempt % 12 === 0)
          this.#parts.logger.warn({ code, reason: message, remedy }, "cannot start yet, trying again");
        this.#startTrouble = message;
        await backoff(attempt, this.stopping);
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
      // A start that is stopped is not waited for: it may hang on a broker that does not answer.
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
    const { host } = settings;
    const pages = { ...this.#pages(), ...work.pages };
    const { port } = await this.#http.open(() => serveHttp(pages, host, settings.port));
    logger.info({ host, port }, "http listening");
  }

  async #end(running: Promise<void> | undefined): Promise<void> {
    this.#lifecycle.move("stopping");
    try {
      // Work that ran may have failed while it drained.
      await this.#close(0.75 * this.#parts.settings.graceMs, running);
    } catch (error) {
      this.#lifecycle.move("failed", { reason: String(error) });
      throw error;
    }
    this.#lifecycle.move("stopped");
  }

  /** Leaves at once, so that the others need not wait for our session to time out. */
  async #fail(error: unknown): Promise<void> {
    this.#lifecycle.move("failed", { reason: String(error) });
    try {
      await this.#close(0);
    } catch (cause) {
      this.#parts.logger.warn({ reason: String(cause) }, "closing after the failure failed as well");
    }
  }

  /** The pages go last, and go even when the rest hangs: whoever comes next may want the port. */
  async #close(gentleMs: number, running?: Promise<void>): Promise<void> {
    const { role, settings } = this.#parts;
    const { graceMs } = settings;
    this.#seal();
    try {
      const closed = this.#closeWork(gentleMs).then(() => running);
      if (await settlesWithin(closed, graceMs)) return;
      throw new ForecastnetError(
        "SHUTDOWN_FORCED",
        `the ${role} could not close within its grace of ${graceMs} ms`,
      );
    } finally {
      await this.#http.close(0);
    }
  }

  /** All of it, whatever becomes of a part; throws what went wrong first. */
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
    for (const other of others) logger.warn({ reason: String(other) }, "closing failed as well");
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
      // Alive as long as it answers: a lost broker or a long restore is no reason to be restarted.
      "/healthz": () => text(this.state === "failed" ? 503 : 200, this.state),
      "/readyz": () => {
        const { isReady, reason } = this.status();
        return text(isReady ? 200 : 503, reason);
      },
    };
  }
}

/** What keeps a member of a group from being ready; null when nothing does. */
export function memberTrouble(
  member: { readonly isJoined: boolean; readonly outage: string | null } | undefined,
): string | null {
  if (member === undefined) return "joining the group";
  if (!member.isJoined) return `joining the group${member.outage === null ? "" : `: ${member.outage}`}`;
  return member.outage === null ? null : `the log does not answer: ${member.outage}`;
}
