// The default executor: ForecastNet in one fused WebAssembly-SIMD kernel. `loadKernel` gives the module; each
// executor has a memory of its own.

import type { TrainingSet } from "../../models/forecastnet/framing.ts";
import type { NetPlan } from "../../models/forecastnet/plan.ts";
import type { Derivatives, Net, NetExecutor } from "../executor.ts";
import { Heap } from "./heap.ts";
import { instantiateKernel, type Kernel } from "./kernel.ts";
import { packWeights, unpackWeights } from "./packing.ts";
import { NUMBER } from "./program.ts";
import { RowPass } from "./row-pass.ts";
import { Sampler } from "./sampler.ts";
import { SimdSession } from "./session.ts";

export interface SimdOptions {
  /** Memory for nets and noise that stay in the kernel between forecasts. */
  readonly residentBytes: number;
}

/** Enough for a model that is asked for again at once; a fleet of thousands does not fit into any such room. */
const defaults: SimdOptions = { residentBytes: 16 * 2 ** 20 };

export function createSimdExecutor(module: WebAssembly.Module, options: SimdOptions = defaults): NetExecutor {
  const kernel = instantiateKernel(module);
  const heap = new Heap(kernel.memory);
  const sampler = new Sampler(kernel, heap, options.residentBytes);
  return {
    sample: (tasks) => tasks.map((task) => sampler.sample(task)),
    train: (plan, tasks) => new SimdSession(plan, tasks, kernel, heap),
    differentiate: (net, rows) => differentiate(net, rows, kernel, heap),
    close: () => {},
  };
}

function differentiate({ plan, weights }: Net, rows: TrainingSet, kernel: Kernel, heap: Heap): Derivatives {
  const pass = new RowPass(plan, { criterion: "forced", gradient: true }, kernel, heap);
  const bytes = plan.weightCount * NUMBER;
  const at = { weights: heap.reserve(bytes), gradient: heap.reserve(bytes) };
  const numbers = (address: number) => new Float32Array(heap.buffer, address, plan.weightCount);
  packWeights(plan, weights, numbers(at.weights));
  numbers(at.gradient).fill(0);
  const outputs = emptyOutputs(plan, rows.count);
  const loss = pass.run(rows, null, at, ({ first, lanes, mean, sums, stride }) => {
    for (let row = 0; row < plan.cells.length * plan.targets; row++) {
      for (let lane = 0; lane < lanes; lane++) {
        const to = row * rows.count + first + lane;
        outputs.mean[to] = mean[row * stride + lane];
        if (outputs.deviation !== null) outputs.deviation[to] = softplus(sums[row * stride + lane]);
      }
    }
  });
  const gradient = new Float64Array(plan.weightCount);
  unpackWeights(plan, numbers(at.gradient), gradient);
  heap.release(at.weights);
  heap.release(at.gradient);
  pass.close();
  return { ...outputs, loss, gradient };
}

function emptyOutputs(plan: NetPlan, rows: number): Pick<Derivatives, "mean" | "deviation"> {
  const size = plan.cells.length * plan.targets * rows;
  const deviation = plan.spec.output === "gaussian" ? new Float64Array(size) : null;
  return { mean: new Float64Array(size), deviation };
}

function softplus(s: number): number {
  return Math.max(s, 0) + Math.log1p(Math.exp(-Math.abs(s)));
}
