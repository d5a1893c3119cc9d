// The workers of a soak, kept at their number as an orchestrator does it: one that ends by itself is noted and started
// again. Samples their memory and their transactions.

import { setTimeout as pause } from "node:timers/promises";
import type { ClusterStory } from "../integrity/support/cluster-story.ts";
import type { WorkerProcess } from "../rig/worker-process.ts";

export interface WorkerSample {
  readonly name: string;
  readonly firstRssMb: number;
  readonly lastRssMb: number;
  readonly committed: number;
  readonly aborted: number;
}

/** A worker that did not end with code 0. */
export interface WorkerFailure {
  readonly worker: string;
  /** True when it was told to stop, and its stop had to be forced. */
  readonly wasStopped: boolean;
  readonly code: number | null;
  readonly reason: string;
}

const sampleMs = 2_000;
/** A worker's memory counts from then on: it has loaded its code and filled its buffers. */
const warmUpMs = 30_000;

export class Fleet {
  readonly failures: WorkerFailure[] = [];
  readonly #story: ClusterStory;
  readonly #slots: WorkerProcess[] = [];
  readonly #sampleByName = new Map<string, WorkerSample>();
  readonly #startedMsByName = new Map<string, number>();
  readonly #expectedToEnd = new Set<WorkerProcess>();
  #watching: Promise<void> | undefined;
  #isStopping = false;

  constructor(story: ClusterStory) {
    this.#story = story;
  }

  async start(size: number): Promise<void> {
    for (let slot = 0; slot < size; slot++) this.#slots.push(await this.#story.startReadyWorker());
    for (const { name } of this.#slots) this.#startedMsByName.set(name, performance.now());
    this.#watching = this.#watch();
    this.#watching.catch(() => undefined); // told by stopWatching()
  }

  get samples(): readonly WorkerSample[] {
    return [...this.#sampleByName.values()];
  }

  /** The first worker is never ended, so that its memory tells of the whole run. */
  get mortal(): readonly WorkerProcess[] {
    return this.#slots.slice(1);
  }

  get all(): readonly WorkerProcess[] {
    return this.#slots;
  }

  /** Ends the worker as a fault does; somebody calls `replace` then. */
  async end(worker: WorkerProcess, signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    this.#expectedToEnd.add(worker);
    await this.#sample(worker);
    const { code } = await this.#story.endWorker(worker, signal);
    // One that is asked before it has begun to run knows no better than to end by the signal.
    const hasBegun = worker.lastLines(1) !== "";
    if (signal === "SIGTERM" && code !== 0 && hasBegun) this.#noteFailure(worker, code, true);
  }

  async replace(worker: WorkerProcess): Promise<void> {
    const heir = await this.#story.startWorker();
    this.#startedMsByName.set(heir.name, performance.now());
    this.#slots[this.#slots.indexOf(worker)] = heir;
  }

  /** Before the workers are ended for good. */
  async stopWatching(): Promise<void> {
    this.#isStopping = true;
    await this.#watching;
    for (const worker of this.#slots) await this.#sample(worker);
  }

  async #watch(): Promise<void> {
    while (!this.#isStopping) {
      for (const worker of [...this.#slots]) {
        if (worker.isAlive) await this.#sample(worker);
        else if (!this.#expectedToEnd.has(worker)) {
          this.#expectedToEnd.add(worker);
          this.#noteFailure(worker, (await worker.ended).code, false);
          await this.replace(worker);
        }
      }
      await pause(sampleMs);
    }
  }

  #noteFailure(worker: WorkerProcess, code: number | null, wasStopped: boolean): void {
    const told = worker.linesOf("worker failed").at(-1);
    const reason = told === undefined ? worker.lastLines(1) : String(told.reason);
    this.failures.push({ worker: worker.name, wasStopped, code, reason });
    process.stderr.write(`${worker.name} ended with code ${code}: ${reason}\n`);
  }

  async #sample(worker: WorkerProcess): Promise<void> {
    const [rss, committed, aborted] = await Promise.all([
      worker.metric("process_resident_memory_bytes"),
      worker.metric("forecastnet_transactions_total", 'outcome="committed"'),
      worker.metric("forecastnet_transactions_total", 'outcome="aborted"'),
    ]);
    if (rss === null || committed === null || aborted === null) return; // frozen, starting or gone
    const { name } = worker;
    const rssMb = Math.round(rss / 2 ** 20);
    const ageMs = performance.now() - (this.#startedMsByName.get(name) ?? 0);
    const earlier = this.#sampleByName.get(name);
    const firstRssMb = earlier === undefined || ageMs < warmUpMs ? rssMb : earlier.firstRssMb;
    this.#sampleByName.set(name, { name, firstRssMb, lastRssMb: rssMb, committed, aborted });
  }
}
