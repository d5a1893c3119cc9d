// Drives a training generator on the event loop's own thread: a step, a breath for other work, the next step.

import { setImmediate as breathe } from "node:timers/promises";
import type { FitControl, FitResult } from "./engine.ts";
import type { Fitting } from "./fit.ts";

export async function driveFit(fitting: Fitting, control: FitControl = {}): Promise<readonly FitResult[]> {
  try {
    for (;;) {
      const { done, value } = fitting.next(control.signal?.aborted ? "cancel" : undefined);
      if (done) return value;
      if (value !== null) control.onProgress?.(value);
      await breathe();
    }
  } finally {
    // Does nothing after the end; otherwise an observer has thrown, and the session must still be closed.
    fitting.return([]);
  }
}
