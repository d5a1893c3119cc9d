// What a trainer and its threads say to one another. Histories are copied to the thread, which costs microseconds and
// leaves the caller's own alone; weights come back in shared memory, ready to be served.

import type { TrainingResult, TrainingTask } from "../training-task.ts";

export type ToTrainingThread =
  | { readonly kind: "train"; readonly job: number; readonly tasks: readonly TrainingTask[] }
  | { readonly kind: "cancel"; readonly job: number }
  | { readonly kind: "close" };

export type FromTrainingThread =
  /** Its executor is there. */
  | { readonly kind: "ready" }
  /** Every job is answered once, unless the thread ends before. */
  | { readonly kind: "done"; readonly job: number; readonly results: readonly TrainingResult[] };
