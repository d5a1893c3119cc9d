// A child process with an engine and a fleet of models, like a worker. It answers how long its work takes.

import { once } from "node:events";
import { setTimeout as wait } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Worker } from "node:worker_threads";
import { createInProcessEngine } from "../../src/engine/in-process-engine.ts";
import { createReferenceExecutor } from "../../src/engine/reference/reference-executor.ts";
import type { Engine, EngineForecast, EngineTask, FitTask } from "../../src/models/forecastnet/engine.ts";
import { frameHistory } from "../../src/models/forecastnet/framing.ts";
import { initialWeights } from "../../src/models/forecastnet/initial-weights.ts";
import type { ForecastNetModel } from "../../src/models/forecastnet/model.ts";
import { decodeModel, encodeModel } from "../../src/models/forecastnet/model-bytes.ts";
import { planNet } from "../../src/models/forecastnet/plan.ts";
import { createRandom } from "../../src/runtime/random.ts";
import { openBenchEngine } from "../rig/bench-engine.ts";
import { answerParent } from "../rig/child-task.ts";
import { type EngineAnswer, type EngineQuestion, fleetSpec, levels } from "./engine-questions.ts";
import { horizon, paths } from "./works.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const options = { paths, levels };
const tasks: EngineTask[] = [];
let engine: Engine | undefined;
let threads = 1;

answerParent(async (question: EngineQuestion): Promise<EngineAnswer> => {
  switch (question.kind) {
    case "open":
      threads = question.threads;
      engine =
        question.engine === "simd"
          ? await openBenchEngine(question.threads)
          : createInProcessEngine(createReferenceExecutor(), {
              name: "reference",
              device: "cpu",
              threads: 1,
              detail: "",
            });
      return nothing;
    case "grow":
      while (tasks.length < question.models) tasks.push(makeTask(tasks.length));
      return timed(1, () => forecastAll());
    case "forecast":
      return timed(question.passes, () => forecastAll());
    case "fit": {
      const nets = Array.from({ length: question.nets }, (_, net) => makeFit(net));
      return timed(1, () => opened().fit(nets));
    }
    case "results":
      return { ...nothing, results: await resultsOf(question.models) };
    case "spin":
      return { ...nothing, wallMs: Math.max(...(await Promise.all(Array.from({ length: threads }, spin)))) };
    case "memory":
      await collect();
      return { ...nothing, residentBytes: process.memoryUsage.rss() };
  }
});

const nothing: EngineAnswer = { wallMs: 0, cpuMs: 0, residentBytes: 0, results: [] };

function opened(): Engine {
  if (engine === undefined) throw new Error("the engine was not opened");
  return engine;
}

async function forecastAll(): Promise<void> {
  for (const answer of await opened().forecast(tasks, options)) if (answer instanceof Error) throw answer;
}

async function timed(passes: number, act: () => Promise<unknown>): Promise<EngineAnswer> {
  const begin = performance.now();
  const beginCpu = process.cpuUsage();
  for (let pass = 0; pass < passes; pass++) await act();
  const { user, system } = process.cpuUsage(beginCpu);
  return { ...nothing, wallMs: performance.now() - begin, cpuMs: (user + system) / 1000 };
}

const loop = `
  const begin = performance.now();
  let x = 1;
  for (let i = 0; i < 2e8; i++) x = x * 0.999999 + 1e-6;
  require("node:worker_threads").parentPort.postMessage(performance.now() - begin + 0 * x);
`;

/** The time of the loop on a new thread, in ms. */
async function spin(): Promise<number> {
  const [ms] = (await once(new Worker(loop, { eval: true }), "message")) as [number];
  return ms;
}

async function resultsOf(models: number): Promise<readonly number[]> {
  const answers = await opened().forecast(tasks.slice(0, models), options);
  const forecasts = answers.flatMap((answer) => {
    if (answer instanceof Error) throw answer;
    const { mean, standardDeviation, quantiles } = answer as EngineForecast;
    return [mean, standardDeviation, ...quantiles].flatMap((values) => [...values]);
  });
  const [fit] = await opened().fit([makeFit(0)]);
  if (fit.outcome !== "fitted") throw new Error(`the fit of the bench ended as ${fit.outcome}`);
  return [...forecasts, fit.validationLoss];
}

/** Several times, with a pause: arrays outside the heap are freed by a later collection, and threads need time to react. */
async function collect(): Promise<void> {
  for (let round = 0; round < 3; round++) {
    collectGarbage();
    await wait(200);
  }
}

function makeTask(index: number): EngineTask {
  const window = wave(index, 2 * horizon);
  return { model: makeModel(index), window };
}

/** Decoded from its bytes, as in a worker. */
function makeModel(index: number): ForecastNetModel {
  const weights = makeWeights(index);
  const member = { spec: fleetSpec, weights, share: 1, residuals: null };
  const scaler = { offset: [0], scale: [100] };
  const model = {
    family: "forecastnet" as const,
    key: `series-${index}`,
    version: "1",
    scaler,
    members: [member],
    spread: null,
  };
  return decodeModel(encodeModel(model), "the bench");
}

const firstWeights = initialWeights(planNet(fleetSpec), 1);

/**
 * Different for every model, and quick to create. Half of He's initial weights: the deviations are then as wide as those
 * of trained nets, which makes quantiles well-defined, so that engines can be compared by them.
 */
function makeWeights(index: number): Float32Array {
  return firstWeights.map((weight) => weight * (0.5 + 1e-4 * (index % 1000)));
}

function makeFit(net: number): FitTask {
  const history = wave(net, 400);
  const scaler = { offset: [0], scale: [100] };
  return {
    spec: fleetSpec,
    start: makeWeights(net),
    training: frameHistory(fleetSpec, scaler, history, { from: 0, to: 320 }),
    validation: frameHistory(fleetSpec, scaler, history, { from: 320, to: 400 }),
    options: {
      seed: 1,
      batchSize: 64,
      maxEpochs: 12,
      learningRate: 1e-3,
      weightDecay: 0,
      shortcutRate: 1,
      schedule: "constant",
      stepsPerEpoch: null,
      criterion: "forced",
    },
  };
}

function wave(seed: number, length: number): Float64Array {
  const random = createRandom(seed + 1);
  return Float64Array.from({ length }, (_, t) => {
    return 50 + 30 * Math.sin((2 * Math.PI * (t + seed)) / 24) + 4 * random.normal();
  });
}
