// The executors by the names that the bench knows them under.

import { createRequire } from "node:module";
import type { NetExecutor } from "../../src/engine/executor.ts";
import { createReferenceExecutor } from "../../src/engine/reference/reference-executor.ts";
import { type LoadedTensorFlow, loadTensorFlow } from "../../src/engine/tensorflow/native-binding.ts";
import { createTensorFlowExecutor } from "../../src/engine/tensorflow/tensorflow-executor.ts";
import { createExecutor } from "../../src/engine/threads/create-executor.ts";

export type ExecutorName = "reference" | "simd" | "tensorflow" | "tfjs-wasm" | "tfjs-cpu";

export interface OpenExecutor {
  readonly executor: NetExecutor;
  /** What it runs on, in words. */
  readonly about: string;
}

/** Rejects where it cannot be had, saying why. */
export async function openExecutor(name: ExecutorName): Promise<OpenExecutor> {
  switch (name) {
    case "reference":
      return { executor: createReferenceExecutor(), about: "plain loops in double precision" };
    case "simd": {
      const { executor, detail } = await createExecutor({ kind: "simd" });
      return { executor, about: detail };
    }
    case "tensorflow": {
      const loaded = await loadTensorFlow();
      if (loaded.backend !== "native") throw new Error(loaded.reason);
      return onTensorFlow(loaded);
    }
    case "tfjs-wasm": {
      const loaded = await loadTensorFlow({ backend: "plain" });
      // Registers itself with the same TensorFlow.js that was just loaded.
      createRequire(import.meta.url)("@tensorflow/tfjs-backend-wasm");
      if (!(await loaded.tf.setBackend("wasm"))) throw new Error("TensorFlow.js has no backend wasm here");
      return onTensorFlow(loaded);
    }
    case "tfjs-cpu":
      return onTensorFlow(await loadTensorFlow({ backend: "plain" }));
  }
}

function onTensorFlow(loaded: LoadedTensorFlow): OpenExecutor {
  const executor = createTensorFlowExecutor(loaded, { budgetBytes: 2 ** 30 });
  return { executor, about: `${loaded.version}, backend ${loaded.tf.getBackend()}` };
}
