// An executor whose training losses the test chooses.

import assert from "node:assert/strict";
import type { AdamOptions, NetExecutor, TrainingSession } from "../../../../src/engine/executor.ts";

/** A session that learns nothing: losses come from a script, the first weight counts the steps. */
class ScriptedSession implements TrainingSession {
  readonly stepsOf: number[];
  readonly rows: (Int32Array | null)[][] = [];
  readonly rates: number[][] = [];
  readonly #weights: Float32Array[];
  #rates: number[];
  closed = 0;
  readonly script: Script;

  constructor(starts: readonly Float32Array[], script: Script) {
    this.#weights = starts.map((start) => Float32Array.from(start));
    this.stepsOf = starts.map(() => 0);
    this.#rates = starts.map(() => 0);
    this.script = script;
  }

  step(rows: readonly (Int32Array | null)[], adam: readonly AdamOptions[]): Float64Array {
    this.rows.push(rows.map((indices) => indices && Int32Array.from(indices)));
    this.#rates = adam.map(({ learningRate }) => learningRate);
    this.rates.push(this.#rates);
    return Float64Array.from(rows, (indices, net) => {
      if (indices === null) return Number.NaN;
      this.#weights[net][0]++;
      this.stepsOf[net]++;
      return this.script.training?.(this.#weights[net][0], this.#rates[net], net) ?? 1;
    });
  }

  validate(): Float64Array {
    return Float64Array.from(this.#weights, (weights, net) =>
      this.script.validation(weights[0], this.#rates[net], net),
    );
  }

  weights(net: number): Float32Array {
    return Float32Array.from(this.#weights[net]);
  }

  close(): void {
    this.closed++;
  }
}

interface Script {
  /** Losses by steps since the start, learning rate and net. */
  readonly validation: (steps: number, rate: number, net: number) => number;
  readonly training?: (steps: number, rate: number, net: number) => number;
}

export function scripted(script: Script): { executor: NetExecutor; sessions: ScriptedSession[] } {
  const sessions: ScriptedSession[] = [];
  const unused = () => assert.fail("the test does not call this");
  const train: NetExecutor["train"] = (_, tasks) => {
    const session = new ScriptedSession(
      tasks.map(({ weights }) => weights),
      script,
    );
    sessions.push(session);
    return session;
  };
  return { executor: { sample: unused, train, close: unused }, sessions };
}
