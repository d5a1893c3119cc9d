// A contestant process with one of our executors, which its argument names. Answers the questions of `protocol.ts`, one
// JSON line each.

import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import type { NetExecutor, SampleTask, SessionTask, TrainingSession } from "../../src/engine/executor.ts";
import { createReferenceExecutor } from "../../src/engine/reference/reference-executor.ts";
import { type LoadedTensorFlow, loadTensorFlow } from "../../src/engine/tensorflow/native-binding.ts";
import { createTensorFlowExecutor } from "../../src/engine/tensorflow/tensorflow-executor.ts";
import { createExecutor } from "../../src/engine/threads/create-executor.ts";
import { measureSimdPeak } from "../rig/simd-peak.ts";
import { comparedSteps, type Question, type Timing, type Work } from "./protocol.ts";

export type ExecutorName = "reference" | "simd" | "tensorflow" | "tfjs-wasm" | "tfjs-cpu";

interface OpenedExecutor {
  readonly executor: NetExecutor;
  /** Library and version, as text. */
  readonly about: string;
}

/** Rejects with the reason if the executor is not available. */
async function openExecutor(name: ExecutorName): Promise<OpenedExecutor> {
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
      // Registers itself with the TensorFlow.js that was just loaded.
      createRequire(import.meta.url)("@tensorflow/tfjs-backend-wasm");
      if (!(await loaded.tf.setBackend("wasm"))) throw new Error("TensorFlow.js has no backend wasm here");
      return onTensorFlow(loaded);
    }
    case "tfjs-cpu":
      return onTensorFlow(await loadTensorFlow({ backend: "plain" }));
  }
}

function onTensorFlow(loaded: LoadedTensorFlow): OpenedExecutor {
  const executor = createTensorFlowExecutor(loaded, { budgetBytes: 2 ** 30 });
  return { executor, about: `${loaded.version}, backend ${loaded.tf.getBackend()}` };
}

/** A work prepared for an executor. */
interface Runner {
  /** Returns to the initial state. */
  begin(): void;
  /** The work of all models, once. */
  once(): void;
  result(): Float64Array;
  close(): void;
}

function createForecast(
  executor: NetExecutor,
  work: Extract<Work, { kind: "forecast" }>,
  models: number,
): Runner {
  const { plan, paths, files } = work;
  const windows = readFloats(files.windows);
  const noise = { paths, values: readFloats(files.noise) };
  const tasks = manyWeights(work, models).map((weights, m): SampleTask => {
    const window = windows.slice(m * plan.windowSize, (m + 1) * plan.windowSize);
    return { net: { plan, weights }, window, noise };
  });
  return {
    begin: () => {},
    once: () => executor.sample(tasks),
    result: () => {
      const outputs = executor.sample(tasks);
      return concatenate(outputs.flatMap(({ mean, deviation }) => [mean, deviation ?? new Float32Array()]));
    },
    close: () => {},
  };
}

function createTraining(
  executor: NetExecutor,
  work: Extract<Work, { kind: "train" }>,
  models: number,
): Runner {
  const { plan, batch, learningRate, files } = work;
  const windows = readFloats(files.windows);
  const targets = readFloats(files.targets);
  const count = windows.length / work.models / plan.windowSize;
  const tasks = manyWeights(work, models).map((weights, m): SessionTask => {
    const training = {
      count,
      windows: pieceOf(windows, m, count * plan.windowSize),
      targets: pieceOf(targets, m, count * plan.cells.length),
    };
    return { weights, training, validation: { count: 0, windows: emptyFloats, targets: emptyFloats } };
  });
  let session: TrainingSession = executor.train(plan, tasks);
  const adam = tasks.map(() => ({ learningRate, weightDecay: 0, shortcutRate: 1 }));
  const blocks = Array.from({ length: Math.floor(count / batch) }, (_, block) => {
    const rows = Int32Array.from({ length: batch }, (__, row) => block * batch + row);
    return tasks.map(() => rows);
  });
  let step = 0;
  const next = () => session.step(blocks[step++ % blocks.length], adam);
  const begin = () => {
    step = 0;
    session.close();
    session = executor.train(plan, tasks);
  };
  return {
    begin,
    once: next,
    result: () => {
      begin();
      const losses = Array.from({ length: comparedSteps }, next);
      return Float64Array.from({ length: models * comparedSteps }, (_, i) => {
        return losses[i % comparedSteps][Math.floor(i / comparedSteps)];
      });
    },
    close: () => session.close(),
  };
}

const emptyFloats = new Float32Array();

function readFloats(path: string): Float32Array {
  const bytes = readFileSync(path);
  return new Float32Array(new Uint8Array(bytes).buffer);
}

function pieceOf(values: Float32Array, piece: number, length: number): Float32Array {
  return values.slice(piece * length, (piece + 1) * length);
}

function manyWeights({ plan, files }: Work, models: number): Float32Array[] {
  const all = readFloats(files.weights);
  return Array.from({ length: models }, (_, m) => pieceOf(all, m, plan.weightCount));
}

function concatenate(parts: readonly Float32Array[]): Float64Array {
  const whole = new Float64Array(parts.reduce((sum, { length }) => sum + length, 0));
  let end = 0;
  for (const part of parts) {
    whole.set(part, end);
    end += part.length;
  }
  return whole;
}

const { executor, about } = await openExecutor(process.argv[2] as ExecutorName);
let work: Work | undefined;
let runner: (Runner & { readonly models: number }) | undefined;

function runnerOf(models: number): Runner {
  if (work === undefined) throw new Error("no work was loaded");
  if (runner?.models !== models) {
    runner?.close();
    const made =
      work.kind === "forecast"
        ? createForecast(executor, work, models)
        : createTraining(executor, work, models);
    runner = { ...made, models };
  }
  return runner;
}

/** Starts a clock; the returned function reads it. */
function startClock(): (units: number) => Timing {
  const begin = performance.now();
  const beginCpu = process.cpuUsage();
  return (units) => {
    const ms = performance.now() - begin;
    const { user, system } = process.cpuUsage(beginCpu);
    return { units, ms, cpuMs: (user + system) / 1000 };
  };
}

function time({ models, minMs, warmUp }: Extract<Question, { do: "time" }>): Timing {
  const subject = runnerOf(models);
  subject.begin();
  if (warmUp) subject.once();
  const elapsed = startClock();
  for (let passes = 1; ; passes++) {
    subject.once();
    const timing = elapsed(passes * models);
    if (timing.ms >= minMs) return timing;
  }
}

function run({ models, file }: Extract<Question, { do: "run" }>): Timing {
  const subject = runnerOf(models);
  const elapsed = startClock();
  const result = subject.result();
  const timing = elapsed(models * (work?.kind === "train" ? comparedSteps : 1));
  writeFileSync(file, result);
  return timing;
}

function answer(question: Question): object {
  switch (question.do) {
    case "hello":
      return { about };
    case "peak":
      return { gigaflops: measureSimdPeak() };
    case "load":
      runner?.close();
      runner = undefined;
      work = question;
      return {};
    case "run":
      return run(question);
    case "time":
      return time(question);
  }
}

for await (const line of createInterface(process.stdin)) {
  let reply: object;
  try {
    reply = answer(JSON.parse(line) as Question);
  } catch (error) {
    reply = { error: error instanceof Error ? error.message : String(error) };
  }
  process.stdout.write(`${JSON.stringify(reply)}\n`);
}
executor.close();
