// One member of a group, as its worker sees it: what it owns, how it stops, how it fails.
import { ForecastnetError } from "../../runtime/errors.ts";
import { settlesWithin } from "../../runtime/waiting.ts";
import type { Lane, Membership, MembershipStatus, Subscription } from "../log.ts";
import type { LaneHost, Ownership } from "./ownership.ts";
import type { MemoryStore } from "./store.ts";

export interface MemberOptions {
  readonly store: MemoryStore;
  owned(): readonly Ownership[];
  onLeave(): void;
}

export class MemoryMember implements Membership, LaneHost {
  readonly subscription: Subscription;
  readonly lane: Lane;
  readonly done: Promise<void>;
  readonly #options: MemberOptions;
  #settleDone: { resolve(): void; reject(error: unknown): void } | undefined;
  #stopped: Promise<void> | undefined;
  #isJoined = true;

  constructor(subscription: Subscription, lane: Lane, options: MemberOptions) {
    this.subscription = subscription;
    this.lane = lane;
    this.#options = options;
    this.done = new Promise((resolve, reject) => {
      this.#settleDone = { resolve, reject };
    });
    // A caller that looks at `done` late, or only ever stops, must not see the process crash meanwhile.
    this.done.catch(() => undefined);
  }

  get isStopping(): boolean {
    return this.#stopped !== undefined;
  }

  status(): MembershipStatus {
    const owned = this.#options.owned();
    return {
      isJoined: this.#isJoined,
      partitions: owned.map(({ partition }) => partition),
      lag: owned.reduce((sum, { lag }) => sum + lag, 0),
      outage: this.#options.store.outage,
    };
  }

  fail(error: unknown): void {
    this.#settleDone?.reject(error);
  }

  stop(graceMs: number): Promise<void> {
    this.#stopped ??= this.#drain(graceMs);
    this.#options.store.pulse.beat();
    return this.#stopped;
  }

  /** Leaves at once; what the lanes still hold is left to the next owner. */
  drop(): void {
    this.#isJoined = false;
    this.#options.onLeave();
    this.#settleDone?.resolve();
  }

  async #drain(graceMs: number): Promise<void> {
    const owned = this.#options.owned();
    const isDrained = await settlesWithin(Promise.all(owned.map(({ settled }) => settled)), graceMs);
    this.drop();
    if (isDrained) return;
    const partitions = owned.map(({ partition }) => partition).join(", ");
    throw new ForecastnetError(
      "SHUTDOWN_FORCED",
      `lanes of partitions ${partitions} of group ${this.subscription.group} were still busy after ${graceMs} ms`,
    );
  }
}
