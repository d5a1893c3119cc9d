// The oracle: ForecastNet in plain loops and double precision, written to be read beside the paper. The other
// executors are held to its numbers; it serves no forecast itself. Read `cell.ts` and `net.ts` first.

import type { NetExecutor } from "../executor.ts";
import { differentiateNet, samplePaths } from "./passes.ts";
import { ReferenceSession } from "./session.ts";

export function createReferenceExecutor(): NetExecutor {
  return {
    sample: (tasks) =>
      tasks.map(({ net, window, noise }) => {
        const { mean, deviation } = samplePaths(net.plan, net.weights, window, noise);
        return { mean: Float32Array.from(mean), deviation: deviation && Float32Array.from(deviation) };
      }),
    train: (plan, tasks) => new ReferenceSession(plan, tasks),
    differentiate: ({ plan, weights }, rows) => differentiateNet(plan, weights, rows),
    close: () => {},
  };
}
