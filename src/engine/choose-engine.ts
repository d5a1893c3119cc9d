// Chooses the engine: the one that engine.kind names, or with "auto" TensorFlow on a machine with a GPU and the SIMD
// kernel on all others. Logs the choice and the reason in one line.

import type { Engine } from "../models/forecastnet/engine.ts";
import type { AppConfig } from "../runtime/config/schema.ts";
import type { Logger } from "../runtime/logging.ts";
import { findNativeBinding, type NativeBinding } from "./tensorflow/native-binding.ts";
import { openThreadedEngine, type ThreadedEngineOptions } from "./threads/threaded-engine.ts";

export type EngineSettings = Pick<AppConfig["engine"], "kind" | "threads" | "memoryMb">;

/** How engines are opened and TensorFlow is found; tests replace both. */
export interface EngineSources {
  readonly open: (options: ThreadedEngineOptions) => Promise<Engine>;
  /** Looks for native TensorFlow without loading it. */
  readonly findNative: () => Pick<NativeBinding, "present" | "reason" | "variant">;
}

interface Choice {
  readonly engine: Engine;
  readonly why: string;
}

/** Rejects with ENGINE_FAILED if the engine that engine.kind names does not start. "auto" falls back to simd. */
export async function chooseEngine(
  settings: EngineSettings,
  logger: Logger,
  sources: EngineSources = { open: openThreadedEngine, findNative: findNativeBinding },
): Promise<Engine> {
  const { engine, why } = await choose(settings, sources);
  const { name, device, threads, detail } = engine.description;
  logger.info({ engine: name, device, threads, detail, why }, "engine chosen");
  return engine;
}

async function choose(settings: EngineSettings, sources: EngineSources): Promise<Choice> {
  if (settings.kind === "auto") return chooseByDevice(settings, sources);
  const open = settings.kind === "simd" ? openSimd : openTensorflow;
  return { engine: await open(settings, sources), why: "engine.kind names it" };
}

async function chooseByDevice(settings: EngineSettings, sources: EngineSources): Promise<Choice> {
  const { present, reason, variant } = sources.findNative();
  let why = present ? "TensorFlow is set up for the cpu" : `no GPU for TensorFlow: ${reason}`;
  if (present && variant !== "cpu") {
    try {
      const engine = await openTensorflow(settings, sources);
      if (engine.description.device === "gpu") return { engine, why: "TensorFlow sees a GPU" };
      why = `TensorFlow sees no GPU: ${engine.description.detail}`;
      await engine.close();
    } catch (error) {
      // Any failure leads to simd: the configuration did not ask for TensorFlow.
      why = `TensorFlow cannot be used: ${(error as Error).message}`;
    }
  }
  return { engine: await openSimd(settings, sources), why };
}

function openSimd({ threads }: EngineSettings, { open }: EngineSources): Promise<Engine> {
  return open({ setup: { kind: "simd" }, threads });
}

/** One thread: TensorFlow parallelises by itself, and each thread would hold its own copy of the weights. */
function openTensorflow({ memoryMb }: EngineSettings, { open }: EngineSources): Promise<Engine> {
  return open({ setup: { kind: "tensorflow", memoryMb }, threads: 1 });
}
