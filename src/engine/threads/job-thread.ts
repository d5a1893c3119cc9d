// One thread, seen from the event loop: sends it numbered jobs, matches answers to jobs, and notices its end. An idle thread
// does not keep the process alive; one with a pending job does.

import { Worker } from "node:worker_threads";
import { type ErrorCode, ForecastnetError } from "../../runtime/errors.ts";
import { settlesWithin } from "../../runtime/waiting.ts";

/** Longer than any stretch of work that does not yield. A thread that has not ended by then is terminated. */
const closingMs = 5_000;

/** A ForecastnetError in a message. */
export interface Failure {
  readonly code: ErrorCode;
  readonly message: string;
}

export function toFailure({ code, message }: ForecastnetError): Failure {
  return { code, message };
}

export function fromFailure({ code, message }: Failure): ForecastnetError {
  return new ForecastnetError(code, message);
}

/** Messages from a thread. Each job is answered once, unless the thread ends before. */
export type FromThread<Result, Facts> =
  /** Its executor exists. */
  | { readonly kind: "ready"; readonly facts: Facts }
  | { readonly kind: "done"; readonly job: number; readonly result: Result }
  | { readonly kind: "failed"; readonly job: number; readonly failure: Failure };

interface PendingJob<Result> {
  readonly resolve: (result: Result) => void;
  readonly reject: (error: ForecastnetError) => void;
}

interface JobThreadOptions {
  /** Given to the thread as its data. */
  readonly setup: unknown;
  readonly entry: URL;
  /** For error messages: "an engine thread". */
  readonly name: string;
  /** Limit of its heap; none by default. */
  readonly heapMb?: number;
  /** Called if the thread ends before `close`. */
  readonly onUnexpectedEnd?: (failure: ForecastnetError) => void;
}

export class JobThread<Message, Result, Facts> {
  /** Resolves once the executor exists; rejects with the reason if it cannot be created. */
  readonly ready: Promise<Facts>;
  readonly #options: JobThreadOptions;
  readonly #worker: Worker;
  readonly #exited: Promise<void>;
  readonly #pendingByJob = new Map<number, PendingJob<Result>>();
  #settleReady: { resolve(facts: Facts): void; reject(error: ForecastnetError): void } | null = null;
  #lastJob = 0;
  #isClosing = false;
  #isGone = false;
  #crash: Error | null = null;

  constructor(options: JobThreadOptions) {
    this.#options = options;
    const { setup, entry, heapMb } = options;
    this.#worker = new Worker(entry, {
      workerData: setup,
      ...(heapMb !== undefined && { resourceLimits: { maxOldGenerationSizeMb: heapMb } }),
    });
    this.ready = new Promise((resolve, reject) => {
      this.#settleReady = { resolve, reject };
    });
    this.ready.catch(() => undefined); // Not unhandled: the jobs of this thread are rejected with the same reason.
    this.#worker.on("message", (message: FromThread<Result, Facts>) => this.#receive(message));
    this.#worker.on("error", (error: Error) => {
      this.#crash = error;
    });
    this.#exited = new Promise((resolve) => {
      this.#worker.on("exit", (code) => {
        this.#end(code);
        resolve();
      });
    });
  }

  /** True when it takes no more jobs. */
  get isGone(): boolean {
    return this.#isGone;
  }

  /** Sends the message of a new job, made from its number. */
  start(
    messageOf: (job: number) => Message & object,
    transfer: readonly ArrayBuffer[] = [],
  ): Promise<Result> {
    const job = ++this.#lastJob;
    const result = new Promise<Result>((resolve, reject) => {
      this.#pendingByJob.set(job, { resolve, reject });
    });
    this.#worker.ref();
    this.post(messageOf(job), transfer);
    return result;
  }

  post(message: Message, transfer: readonly ArrayBuffer[] = []): void {
    this.#worker.postMessage(message, transfer);
  }

  /** Waits for the end of the thread, which answers its jobs first. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#worker.ref();
    this.#worker.postMessage({ kind: "close" });
    if (!(await settlesWithin(this.#exited, closingMs))) await this.#worker.terminate();
  }

  #receive(message: FromThread<Result, Facts>): void {
    if (message.kind === "ready") this.#settleReady?.resolve(message.facts);
    else {
      const pending = this.#pendingByJob.get(message.job);
      this.#pendingByJob.delete(message.job);
      if (message.kind === "done") pending?.resolve(message.result);
      else pending?.reject(fromFailure(message.failure));
    }
    if (this.#pendingByJob.size === 0) this.#worker.unref();
  }

  #end(code: number): void {
    this.#isGone = true;
    const { name, onUnexpectedEnd } = this.#options;
    const why = this.#crash?.message ?? `exit code ${code}`;
    const failure = new ForecastnetError("ENGINE_FAILED", `${name} ended: ${why}`, { cause: this.#crash });
    this.#settleReady?.reject(failure);
    for (const { reject } of this.#pendingByJob.values()) reject(failure);
    this.#pendingByJob.clear();
    if (!this.#isClosing) onUnexpectedEnd?.(failure);
  }
}
