// ForecastNet on TensorFlow: nets of one shape run stacked, as batched products, and stay on the device between
// forecasts. Owns every tensor it makes: after `close` there are as many as before it was made.

import type { NetExecutor } from "../executor.ts";
import { checkSampleTask, checkTrainingSet, checkWeights } from "./check-sizes.ts";
import { differentiateNet } from "./differentiate-net.ts";
import { LayoutCache } from "./layout-cache.ts";
import type { LoadedTensorFlow } from "./native-binding.ts";
import { ResidentNets } from "./resident-nets.ts";
import { sampleStacked } from "./sample-stacked.ts";
import { type StackLimits, stackLimits } from "./stack-size.ts";
import { StackedSession } from "./stacked-session.ts";

export interface TensorFlowOptions {
  /** What the weights kept on the device may take, in bytes. */
  readonly budgetBytes: number;
  /** Chosen for the device unless given. */
  readonly limits?: StackLimits;
}

export interface TensorFlowExecutor extends NetExecutor {
  /** What is kept on the device now. */
  resident(): { readonly models: number; readonly bytes: number };
  /** Lets go of weights that will not be asked for again. */
  release(weights: Float32Array): void;
}

export function createTensorFlowExecutor(
  { tf, device }: LoadedTensorFlow,
  { budgetBytes, limits = stackLimits[device] }: TensorFlowOptions,
): TensorFlowExecutor {
  const layouts = new LayoutCache();
  const residents = new ResidentNets(tf, budgetBytes);
  const sessions = new Set<StackedSession>();
  return {
    sample(tasks) {
      for (const [i, task] of tasks.entries()) checkSampleTask(task, `task ${i}`);
      return sampleStacked({ tf, layouts, residents, limit: limits.forecast }, tasks);
    },
    train(plan, tasks) {
      const onClose = () => sessions.delete(session);
      const { loss } = plan.spec;
      const setup = { tf, layout: layouts.of(plan), loss, limit: limits.training, onClose };
      const session = new StackedSession(setup, tasks);
      sessions.add(session);
      return session;
    },
    differentiate({ plan, weights }, rows) {
      checkWeights(plan, weights, "the net");
      checkTrainingSet(plan, rows, "the rows");
      return differentiateNet({ tf, layout: layouts.of(plan), loss: plan.spec.loss }, weights, rows);
    },
    resident: () => ({ models: residents.count, bytes: residents.bytes }),
    release: (weights) => residents.release(weights),
    close() {
      for (const session of sessions) session.close();
      residents.close();
    },
  };
}
