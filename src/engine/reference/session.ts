// Nets in training, one after the other. Weights are kept in double precision between steps and rounded only when
// they are handed out.

import type { NetPlan } from "../../models/forecastnet/plan.ts";
import type { AdamOptions, Criterion, SessionTask, TrainingSession } from "../executor.ts";
import { Adam } from "./adam.ts";
import { differentiateNet, lossOfNet, pickRows } from "./passes.ts";

export class ReferenceSession implements TrainingSession {
  readonly #plan: NetPlan;
  readonly #tasks: readonly SessionTask[];
  readonly #weights: Float64Array[];
  readonly #adams: Adam[];

  constructor(plan: NetPlan, tasks: readonly SessionTask[]) {
    this.#plan = plan;
    this.#tasks = tasks;
    this.#weights = tasks.map(({ weights }) => Float64Array.from(weights));
    this.#adams = tasks.map(() => new Adam(plan));
  }

  step(rows: readonly (Int32Array | null)[], adam: readonly AdamOptions[]): Float64Array {
    return Float64Array.from(this.#tasks, ({ training }, net) => {
      const indices = rows[net];
      // A net that rests has no loss to tell.
      if (indices === null) return Number.NaN;
      const picked = pickRows(this.#plan, training, indices);
      const { loss, gradient } = differentiateNet(this.#plan, this.#weights[net], picked);
      this.#adams[net].step(this.#weights[net], gradient, adam[net]);
      return loss;
    });
  }

  validate(criterion: Criterion): Float64Array {
    return Float64Array.from(this.#tasks, ({ validation }, net) =>
      lossOfNet(this.#plan, this.#weights[net], validation, criterion),
    );
  }

  weights(net: number): Float32Array {
    return Float32Array.from(this.#weights[net]);
  }

  reset(net: number, weights: Float32Array): void {
    this.#weights[net] = Float64Array.from(weights);
    this.#adams[net] = new Adam(this.#plan);
  }

  close(): void {}
}
