// Creates the executor of a thread. Loads only the code of the requested kind: TensorFlow is large and may not be
// installed.

import type { Summarise } from "../../models/forecastnet/mixture.ts";
import type { NetExecutor } from "../executor.ts";
import type { DeviceMemory, ExecutorSetup } from "./protocol.ts";

interface HostedExecutor {
  readonly executor: NetExecutor;
  /** The hardware: "cpu" or "gpu". */
  readonly device: string;
  /** Versions, and the reason for this device, as text. */
  readonly detail: string;
  /** A faster way from mixtures to quantiles than the shared code. */
  readonly summarise?: Summarise;
  /** For executors that keep weights on a device: frees some, and reports all. */
  readonly release?: (weights: Float32Array) => void;
  readonly resident?: () => DeviceMemory;
}

export async function createExecutor(setup: ExecutorSetup): Promise<HostedExecutor> {
  switch (setup.kind) {
    case "tensorflow":
      return hostTensorflow(setup.memoryMb);
    case "simd":
      return hostSimd();
    case "reference": {
      const { createReferenceExecutor } = await import("../reference/reference-executor.ts");
      return { executor: createReferenceExecutor(), device: "cpu", detail: "plain loops, double precision" };
    }
  }
}

async function hostSimd(): Promise<HostedExecutor> {
  const { loadKernel } = await import("../simd/kernel.ts");
  const { createSimdExecutor } = await import("../simd/simd-executor.ts");
  const { createSimdSummarise } = await import("../simd/simd-mixture.ts");
  const kernel = await loadKernel();
  return {
    executor: createSimdExecutor(kernel),
    device: "cpu",
    detail: "WebAssembly SIMD kernel",
    summarise: createSimdSummarise(kernel),
  };
}

async function hostTensorflow(memoryMb: number): Promise<HostedExecutor> {
  const { loadTensorFlow } = await import("../tensorflow/native-binding.ts");
  const { createTensorFlowExecutor } = await import("../tensorflow/tensorflow-executor.ts");
  const { loadKernel } = await import("../simd/kernel.ts");
  const { createSimdSummarise } = await import("../simd/simd-mixture.ts");
  const loaded = await loadTensorFlow();
  const executor = createTensorFlowExecutor(loaded, { budgetBytes: memoryMb * 2 ** 20 });
  return {
    executor,
    device: loaded.device,
    detail: `${loaded.version}, ${loaded.backend} backend: ${loaded.reason}`,
    // The device returns the paths; the shared code would take longer for their quantiles than the net takes.
    summarise: createSimdSummarise(await loadKernel()),
    release: executor.release,
    resident: executor.resident,
  };
}
