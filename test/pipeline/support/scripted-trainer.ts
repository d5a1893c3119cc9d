// A trainer that trains nothing: it answers every task by a script, and records what it was asked.

import { fired } from "../../../src/runtime/waiting.ts";
import type { ModelTrainer, TrainingResult, TrainingTask } from "../../../src/training/training-task.ts";
import { trainedModel } from "../../rig/training-task.ts";

export type Script = (task: TrainingTask, signal: AbortSignal) => TrainingResult | Promise<TrainingResult>;

export const succeed: Script = ({ modelKey }) => ({
  outcome: "trained",
  challengers: [trainedModel({ key: modelKey })],
});

/** Ends only when cancelled. */
export const hang: Script = async (_, signal) => {
  await fired(signal);
  return { outcome: "cancelled" };
};

export class ScriptedTrainer implements ModelTrainer {
  /** The model keys of each call. */
  readonly asked: string[][] = [];
  readonly #script: Script;

  constructor(script: Script) {
    this.#script = script;
  }

  train(tasks: readonly TrainingTask[], signal: AbortSignal): Promise<readonly TrainingResult[]> {
    this.asked.push(tasks.map(({ modelKey }) => modelKey));
    return Promise.all(tasks.map((task) => this.#script(task, signal)));
  }

  async close(): Promise<void> {}
}
