// A training session of nets of one plan, many in one step. Assigns nets to stacks: joins nets that step together,
// separates nets that skip a step, and uploads the weights when they are needed.

import type { Criterion } from "../../models/forecastnet/engine.ts";
import { ForecastnetError } from "../../runtime/errors.ts";
import type { AdamOptions, SessionTask, TrainingSession } from "../executor.ts";
import { type RowPick, shareOf } from "./row-loss.ts";
import { netsPerTraining, rowsPerValidation } from "./stack-size.ts";
import { type StackSetup, TrainingStack } from "./training-stack.ts";

interface SessionSetup extends StackSetup {
  /** Memory of one stack while it runs, in bytes. */
  readonly limit: number;
  readonly onClose: () => void;
}

export class StackedSession implements TrainingSession {
  readonly #setup: SessionSetup;
  readonly #tasks: readonly SessionTask[];
  /** Adam steps so far, by net. */
  readonly #steps: number[];
  /** The initial weights, by net; empty once they are on the device. */
  #waiting: readonly Float32Array[];
  #stacks: TrainingStack[] = [];
  /** The largest minibatch so far. Stacks are sized for it, so that smaller ones do not rearrange them. */
  #maxRows = 1;
  #isClosed = false;

  constructor(setup: SessionSetup, tasks: readonly SessionTask[]) {
    this.#setup = setup;
    this.#tasks = tasks;
    this.#steps = tasks.map(() => 0);
    this.#waiting = tasks.map(({ weights }) => weights.slice());
  }

  step(rows: readonly (Int32Array | null)[], adam: readonly AdamOptions[]): Float64Array {
    this.#refuseIfClosed();
    const isActive = (net: number) => (rows[net]?.length ?? 0) > 0;
    for (const picked of rows) this.#maxRows = Math.max(this.#maxRows, picked?.length ?? 0);
    const losses = new Float64Array(this.#tasks.length).fill(Number.NaN);
    for (const stack of this.#gather(isActive)) {
      for (const net of stack.nets) this.#steps[net] += 1;
      const picks = stack.nets.map((net) => this.#pick(net, rows[net] as Int32Array));
      const options = stack.nets.map((net) => adam[net]);
      const found = stack.step(
        picks,
        options,
        stack.nets.map((net) => this.#steps[net]),
      );
      for (const [place, net] of stack.nets.entries()) losses[net] = found[place];
    }
    return losses;
  }

  #pick(net: number, rows: Int32Array): RowPick {
    return { set: this.#tasks[net].training, rows, share: shareOf(this.#setup.layout.plan, rows.length) };
  }

  /** Rearranges the stacks so that the chosen nets, and no others, are in as few stacks as possible. */
  #gather(isChosen: (net: number) => boolean): TrainingStack[] {
    const { plan } = this.#setup.layout;
    const maxNets = netsPerTraining(plan, this.#maxRows, this.#setup.limit);
    this.#uploadWeights(maxNets);
    const chosen: TrainingStack[] = [];
    const others: TrainingStack[] = [];
    for (const stack of this.#stacks) {
      const [inside, outside] = stack.split(isChosen);
      if (outside !== null) others.push(outside);
      let rest = inside;
      while (rest !== null) {
        const first = new Set(rest.nets.slice(0, maxNets));
        const [head, tail]: readonly [TrainingStack | null, TrainingStack | null] = rest.split((net) =>
          first.has(net),
        );
        if (head !== null) chosen.push(head);
        rest = tail;
      }
    }
    const joined = joinSmall(chosen, maxNets);
    this.#stacks = [...joined, ...others];
    return joined;
  }

  #uploadWeights(maxNets: number): void {
    for (let start = 0; start < this.#waiting.length; start += maxNets) {
      const weights = this.#waiting.slice(start, start + maxNets);
      const nets = weights.map((_, i) => start + i);
      this.#stacks.push(TrainingStack.from(this.#setup, nets, weights));
    }
    this.#waiting = [];
  }

  validate(criterion: Criterion): Float64Array {
    this.#refuseIfClosed();
    const { layout, limit } = this.#setup;
    this.#uploadWeights(netsPerTraining(layout.plan, this.#maxRows, limit));
    const losses = new Float64Array(this.#tasks.length);
    for (const stack of this.#stacks) this.#validateStack(stack, criterion, losses);
    // The mean over no rows is undefined.
    for (const [net, { validation }] of this.#tasks.entries()) {
      if (validation.count === 0) losses[net] = Number.NaN;
    }
    return losses;
  }

  #validateStack(stack: TrainingStack, criterion: Criterion, losses: Float64Array): void {
    const { plan } = this.#setup.layout;
    const sets = stack.nets.map((net) => this.#tasks[net].validation);
    const longest = Math.max(...sets.map(({ count }) => count));
    const size = rowsPerValidation(plan, stack.nets.length, this.#setup.limit);
    for (let start = 0; start < longest; start += size) {
      const picks = sets.map((set): RowPick => {
        const length = Math.max(0, Math.min(size, set.count - start));
        const rows = Int32Array.from({ length }, (_, i) => start + i);
        return { set, rows, share: shareOf(plan, set.count) };
      });
      const found = stack.measure(picks, criterion);
      for (const [place, net] of stack.nets.entries()) losses[net] += found[place];
    }
  }

  weights(net: number): Float32Array {
    this.#refuseIfClosed();
    const waiting = this.#waiting.at(net);
    if (waiting !== undefined) return waiting.slice();
    const stack = this.#stacks.find(({ nets }) => nets.includes(net));
    if (stack === undefined) {
      throw new ForecastnetError(
        "ENGINE_FAILED",
        `net ${net} does not exist; the session has ${this.#tasks.length} nets`,
      );
    }
    return stack.weights(net);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const stack of this.#stacks) stack.close();
    this.#stacks = [];
    this.#setup.onClose();
  }

  #refuseIfClosed(): void {
    if (this.#isClosed) throw new ForecastnetError("ENGINE_FAILED", "the training session is closed");
  }
}

/** Joins stacks, the smallest first, while two fit into one. */
function joinSmall(stacks: readonly TrainingStack[], maxNets: number): TrainingStack[] {
  const waiting = [...stacks].sort((a, b) => a.nets.length - b.nets.length);
  const joined: TrainingStack[] = [];
  for (const stack of waiting) {
    const last = joined.at(-1);
    if (last !== undefined && last.nets.length + stack.nets.length <= maxNets) {
      joined[joined.length - 1] = TrainingStack.join(last, stack);
    } else joined.push(stack);
  }
  return joined;
}
