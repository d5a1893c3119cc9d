// Watches the input topics of a running worker. When an input gains partitions, the worker has to reopen its
// pipeline, so it waits for `changed`. Until the worker's own topics fit, the watch reports what is missing, and the
// worker continues with the partitions it has.

import type { Cancel, Timers } from "../runtime/clock.ts";
import type { ForecastnetError } from "../runtime/errors.ts";
import type { Log } from "./log.ts";

interface TopicWatchParts {
  readonly log: Log;
  /** Partition counts that the worker works with, by input topic. */
  readonly partitionsByInput: ReadonlyMap<string, number>;
  /** Makes all topics fit, or throws what is wrong with them. */
  readonly provide: () => Promise<unknown>;
  /** Called once for each new reason why partitions that an input has gained cannot be served. */
  readonly onTrouble: (error: Error) => void;
  /** Called once for each new reason why the inputs cannot be described. The next check tries again. */
  readonly onCheckFailed: (error: Error) => void;
  readonly everyMs: number;
  readonly clock: Timers;
}

export class TopicWatch {
  /** Resolves once the topics fit the inputs as they are now, with a description of the change. Never rejects. */
  readonly changed: Promise<string>;
  readonly #parts: TopicWatchParts;
  readonly #cancel: Cancel;
  #resolve: (what: string) => void = () => {};
  #trouble: string | null = null;
  /** Why the last check could not describe the inputs; null after a successful check. */
  #checkFailure: string | null = null;
  #isLooking = false;

  constructor(parts: TopicWatchParts) {
    this.#parts = parts;
    this.changed = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    this.#cancel = parts.clock.every(parts.everyMs, () => void this.look());
  }

  /** Why new partitions cannot be served; null when there are none. */
  get trouble(): string | null {
    return this.#trouble;
  }

  stop(): void {
    this.#cancel();
  }

  async look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      const what = await this.#difference();
      this.#checkFailure = null;
      if (what === null) this.#trouble = null;
      else await this.#reportChange(what);
    } catch (error) {
      this.#reportCheckFailed(error as Error);
    } finally {
      this.#isLooking = false;
    }
  }

  async #reportChange(what: string): Promise<void> {
    try {
      await this.#parts.provide();
    } catch (error) {
      this.#reportTrouble(error as Error);
      return;
    }
    this.stop();
    this.#resolve(what);
  }

  async #difference(): Promise<string | null> {
    const { log, partitionsByInput } = this.#parts;
    const found = await log.describeTopics([...partitionsByInput.keys()]);
    const changed = found.filter(({ topic, partitions }) => partitions !== partitionsByInput.get(topic));
    if (changed.length === 0) return null;
    return changed
      .map(
        ({ topic, partitions }) =>
          `${topic} has ${partitions} partitions, it had ${partitionsByInput.get(topic)}`,
      )
      .join("; ");
  }

  #reportTrouble(error: Error): void {
    if (isUnreachable(error) || error.message === this.#trouble) return;
    this.#trouble = error.message;
    this.#parts.onTrouble(error);
  }

  /** An earlier trouble stays reported, because new partitions may still wait. */
  #reportCheckFailed(error: Error): void {
    if (isUnreachable(error) || error.message === this.#checkFailure) return;
    this.#checkFailure = error.message;
    this.#parts.onCheckFailed(error);
  }
}

/** The lanes report a broker that does not answer, because they call it all the time. */
function isUnreachable(error: Error): boolean {
  return (error as ForecastnetError).code === "BROKER_UNREACHABLE";
}
