// A worker: the pipeline on a log, its HTTP pages, and its life from start to stop.
//
// Start: HTTP first, so that a worker that cannot start says why; then engine, topics, formats, group. A broker
// that does not answer is waited for. Stop goes upstream to downstream: lanes drain and settle, the group is left,
// engine and log are closed, HTTP last. Three quarters of the grace period are gentle, the rest is force.

import { chooseEngine } from "./engine/choose-engine.ts";
import type { Engine } from "./engine/engine.ts";
import type { SchemaRegistry } from "./log/codec/registry.ts";
import type { Log, Membership } from "./log/log.ts";
import { createLaneView, type LaneView, type PipelineParts, runLane } from "./pipeline.ts";
import { buildPipelineParts, type Surroundings } from "./pipeline-parts.ts";
import { ForecastnetError } from "./runtime/errors.ts";
import { type Answer, type HttpServer, json, type Routes, serveHttp, text } from "./runtime/http.ts";
import { Lifecycle } from "./runtime/lifecycle.ts";
import type { WorkerFacts } from "./runtime/metrics.ts";
import { backoff, fired, settlesWithin } from "./runtime/waiting.ts";

export interface WorkerParts extends Surroundings {
  readonly openLog: () => Promise<Log>;
  /** What runs the models; by default what the configuration asks for. */
  readonly openEngine?: () => Promise<Engine>;
  /** Pages beside the worker's own. */
  readonly routes?: Routes;
}

export interface WorkerStatus {
  readonly isReady: boolean;
  /** Why it is not ready, or "ready". */
  readonly reason: string;
}

export class Worker {
  /** Resolves once stopped; rejects with the reason when the worker cannot go on. */
  readonly done: Promise<void>;
  readonly #parts: WorkerParts;
  readonly #lifecycle: Lifecycle;
  readonly #laneByPartition = new Map<number, LaneView>();
  readonly #stopping = new AbortController();
  #http: HttpServer | undefined;
  #engine: Engine | undefined;
  #log: Log | undefined;
  #registry: SchemaRegistry | null = null;
  #membership: Membership | undefined;
  #trouble = "starting";

  constructor(parts: WorkerParts) {
    const { logger, metrics } = parts;
    this.#parts = parts;
    this.#lifecycle = new Lifecycle(logger, metrics.moved);
    this.done = this.#live();
    this.done.catch(() => undefined); // Told to whoever awaits it; stop() alone must not crash the process.
  }

  get port(): number | undefined {
    return this.#http?.port;
  }

  status(): WorkerStatus {
    const { state } = this.#lifecycle;
    if (state === "starting" || state === "joining") return notReady(this.#trouble);
    if (state !== "running") return notReady(state);
    const broken = this.#engine?.status().trouble ?? null;
    if (broken !== null) return notReady(broken);
    const membership = this.#membership?.status();
    if (membership === undefined || !membership.isJoined) return notReady("joining the group");
    if (membership.outage !== null) return notReady(`the log does not answer: ${membership.outage}`);
    const registryOutage = this.#registry?.outage ?? null;
    if (registryOutage !== null) return notReady(`the schema registry does not answer: ${registryOutage}`);
    // A partition whose lane has not begun yet is not restored either.
    const isRestored = (partition: number) => this.#laneByPartition.get(partition)?.isRestored === true;
    const restoring = membership.partitions.filter((partition) => !isRestored(partition));
    if (restoring.length > 0) return notReady(`restoring partitions ${restoring.join(", ")}`);
    return { isReady: true, reason: "ready" };
  }

  /** Asks the worker to stop; `done` tells when it has. */
  stop(why: string): void {
    if (this.#stopping.signal.aborted) return;
    this.#parts.logger.info({ why }, "stop requested");
    this.#stopping.abort();
  }

  async #live(): Promise<void> {
    try {
      await this.#serve();
      // A start that is stopped is not waited for: it may hang on a broker that does not answer.
      await Promise.race([this.#run(), fired(this.#stopping.signal)]);
    } catch (error) {
      if (!this.#stopping.signal.aborted) {
        await this.#fail(error);
        throw error;
      }
    }
    await this.#stop();
  }

  async #serve(): Promise<void> {
    const { worker } = this.#parts.config;
    this.#http = await serveHttp({ ...this.#pages(), ...this.#parts.routes }, worker.host, worker.port);
    this.#parts.logger.info({ host: worker.host, port: this.#http.port }, "http listening");
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    const engine = await this.#openEngine();
    const log = await this.#retry(this.#parts.openLog);
    this.#log = log;
    const parts = await this.#retry(() => buildPipelineParts(log, engine, this.#parts));
    this.#registry = parts.registry;
    signal.throwIfAborted();
    this.#lifecycle.move("joining");
    this.#membership = await this.#retry(() => this.#join(log, parts));
    signal.throwIfAborted();
    this.#lifecycle.move("running");
    await this.#membership.done;
  }

  async #openEngine(): Promise<Engine> {
    const { config, logger, openEngine = () => chooseEngine(config.engine, logger) } = this.#parts;
    const engine = await openEngine();
    if (this.#stopping.signal.aborted)
      await engine.close(); // Nobody waits for it any more.
    else this.#engine = engine;
    return engine;
  }

  /** Tries again for as long as the failure is one that passes and nobody asked to stop. */
  async #retry<T>(act: () => Promise<T>): Promise<T> {
    const { signal } = this.#stopping;
    for (let attempt = 0; ; attempt++) {
      try {
        return await act();
      } catch (error) {
        if (!(error instanceof ForecastnetError && error.retryable) || signal.aborted) throw error;
        const { code, message, remedy } = error;
        this.#trouble = message;
        this.#parts.logger.warn({ code, reason: message, remedy }, "cannot start yet, trying again");
        await backoff(attempt, signal);
      }
    }
  }

  #join(log: Log, parts: PipelineParts): Promise<Membership> {
    const { group, topics, pipeline } = this.#parts.config;
    const subscription = {
      group,
      inputs: topics.inputs.map(({ topic }) => topic),
      start: pipeline.start,
      maxBatchRecords: pipeline.maxBatchRecords,
    };
    return log.join(subscription, async (owned) => {
      const view = createLaneView(owned.partition, parts);
      this.#laneByPartition.set(owned.partition, view);
      try {
        await runLane(owned, parts, view);
      } finally {
        // A later lane of the same partition may have taken the place.
        if (this.#laneByPartition.get(owned.partition) === view)
          this.#laneByPartition.delete(owned.partition);
      }
    });
  }

  async #stop(): Promise<void> {
    const { graceMs } = this.#parts.config.worker;
    this.#lifecycle.move("stopping");
    try {
      if (!(await settlesWithin(this.#drain(0.75 * graceMs), graceMs))) {
        throw new ForecastnetError(
          "SHUTDOWN_FORCED",
          `the worker could not close within its grace of ${graceMs} ms`,
        );
      }
    } catch (error) {
      this.#lifecycle.move("failed", { reason: String(error) });
      throw error;
    }
    this.#lifecycle.move("stopped");
  }

  async #drain(gentleMs: number): Promise<void> {
    this.#registry?.close(); // A lane that waits for a schema holds nothing to settle.
    await this.#leave(gentleMs);
    await this.#membership?.done; // A lane may have failed while it drained.
  }

  /** Leaves at once, so that the others need not wait for our session to time out. */
  async #fail(error: unknown): Promise<void> {
    this.#lifecycle.move("failed", { reason: String(error) });
    try {
      await this.#leave(0);
    } catch (cause) {
      this.#parts.logger.warn({ reason: String(cause) }, "closing after the failure failed as well");
    }
  }

  async #leave(graceMs: number): Promise<void> {
    try {
      await this.#membership?.stop(graceMs);
    } finally {
      await this.#engine?.close();
      await this.#log?.close();
      await this.#http?.close();
    }
  }

  #pages(): Routes {
    return {
      "/metrics": async (): Promise<Answer> => {
        const { contentType, text: body } = await this.#parts.metrics.expose(this.#facts());
        return { status: 200, contentType, body };
      },
      // Alive as long as it answers: a lost broker or a long restore is no reason to be restarted.
      "/healthz": () => this.#health(),
      "/readyz": () => {
        const { isReady, reason } = this.status();
        return text(isReady ? 200 : 503, reason);
      },
      "/": () => json(200, { service: "forecastnet", ...this.#facts(), ...this.status() }),
    };
  }

  #health(): Answer {
    const { state } = this.#lifecycle;
    if (this.#engine === undefined) return text(state === "failed" ? 503 : 200, state);
    const { description } = this.#engine;
    const { trouble } = this.#engine.status();
    if (trouble !== null) return text(503, trouble);
    const engine = `engine ${description.name} on ${description.device}`;
    return text(state === "failed" ? 503 : 200, `${state}, ${engine}`);
  }

  #facts(): WorkerFacts {
    const engine = this.#engine;
    const lanes = [...this.#laneByPartition.values()];
    const membership = this.#membership?.status();
    return {
      state: this.#lifecycle.state,
      partitions: membership?.partitions.length ?? 0,
      series: lanes.reduce((sum, lane) => sum + lane.store.size, 0),
      lag: membership?.lag ?? 0,
      bufferedBatches: lanes.reduce((sum, lane) => sum + lane.bufferedBatches, 0),
      models: lanes.reduce((sum, lane) => sum + lane.models.size, 0),
      engine: engine === undefined ? null : { ...engine.description, ...engine.status() },
    };
  }
}

function notReady(reason: string): WorkerStatus {
  return { isReady: false, reason };
}
