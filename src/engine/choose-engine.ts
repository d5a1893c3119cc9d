// Which engine runs the models: the one the configuration names, or with "auto" TensorFlow where it sees a GPU and
// the SIMD kernel everywhere else. Says in one log line what was chosen and why.

import type { Logger } from "../runtime/logging.ts";
import type { Engine } from "./engine.ts";
import { findNativeBinding, type NativeBinding } from "./tensorflow/native-binding.ts";
import { openThreadedEngine, type ThreadedEngineOptions } from "./threads/threaded-engine.ts";

export interface EngineSettings {
  readonly kind: "auto" | "simd" | "tensorflow";
  /** 0 leaves one core to the event loop. */
  readonly threads: number;
  /** For the weights that TensorFlow keeps on its device. */
  readonly memoryMb: number;
}

/** What the choice depends on beside the settings. */
export interface EngineSources {
  readonly open: (options: ThreadedEngineOptions) => Promise<Engine>;
  /** Looks for native TensorFlow without loading it. */
  readonly findNative: () => Pick<NativeBinding, "present" | "reason" | "variant">;
}

interface Choice {
  readonly engine: Engine;
  readonly why: string;
}

/** Rejects with ENGINE_FAILED when the engine asked for cannot be had; where "auto" meets one, it takes simd. */
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
  return { engine: await open(settings, sources), why: "engine.kind asks for it" };
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
      // Whatever is wrong with it, a worker that was not told to use it does without.
      why = `TensorFlow cannot be used: ${(error as Error).message}`;
    }
  }
  return { engine: await openSimd(settings, sources), why };
}

function openSimd({ threads }: EngineSettings, { open }: EngineSources): Promise<Engine> {
  return open({ setup: { kind: "simd" }, threads });
}

/** One thread: TensorFlow spreads its work by itself, and what it keeps on the device is that thread's. */
function openTensorflow({ memoryMb }: EngineSettings, { open }: EngineSources): Promise<Engine> {
  return open({ setup: { kind: "tensorflow", memoryMb }, threads: 1 });
}
