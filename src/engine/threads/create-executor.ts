// The arithmetic of a thread, by its kind. Each is loaded only where it is asked for: TensorFlow is large, and must
// not be needed by those who do not use it.

import type { Summarise } from "../../models/forecastnet/mixture.ts";
import type { NetExecutor } from "../executor.ts";
import type { DeviceMemory, ExecutorSetup } from "./protocol.ts";

export interface HostedExecutor {
  readonly executor: NetExecutor;
  /** What it runs on: "cpu" or "gpu". */
  readonly device: string;
  /** Versions and why this device, in words. */
  readonly detail: string;
  /** Where it has a faster way from mixtures to quantiles than the shared one. */
  readonly summarise?: Summarise;
  /** Where it keeps weights on a device of its own: lets go of some, and tells of all. */
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
    // The paths come back from the device; in plain loops their quantiles would take longer than the net.
    summarise: createSimdSummarise(await loadKernel()),
    release: executor.release,
    resident: executor.resident,
  };
}
