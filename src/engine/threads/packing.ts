// Many small arrays in one: what a message between threads costs depends on its objects, hardly on its numbers.

import { type ForecastNetModel, inputLengthOf } from "../../models/forecastnet/model.ts";
import { ForecastnetError } from "../../runtime/errors.ts";
import type { Distribution, ForecastAnswer, ForecastOptions, ForecastTask } from "../engine.ts";
import { fromFailure, type PackedAnswers, type PackedTasks, toFailure } from "./protocol.ts";

export function packTasks(
  tasks: readonly ForecastTask[],
  idOf: (model: ForecastNetModel) => number,
): PackedTasks {
  const modelIds = new Int32Array(tasks.length);
  const lengths = new Int32Array(tasks.length);
  let total = 0;
  tasks.forEach(({ model, window }, i) => {
    modelIds[i] = idOf(model);
    // What lies further back than the model looks need not cross.
    lengths[i] = Math.min(window.length, inputLengthOf(model) * model.members[0].spec.channels);
    total += lengths[i];
  });
  const windows = new Float64Array(total);
  let end = 0;
  tasks.forEach(({ window }, i) => {
    windows.set(window.subarray(window.length - lengths[i]), end);
    end += lengths[i];
  });
  return { modelIds, lengths, windows };
}

export function unpackTasks(
  { modelIds, lengths, windows }: PackedTasks,
  modelOf: (id: number) => ForecastNetModel,
): ForecastTask[] {
  const tasks = new Array<ForecastTask>(modelIds.length);
  let end = 0;
  for (let i = 0; i < modelIds.length; i++) {
    tasks[i] = { model: modelOf(modelIds[i]), window: windows.subarray(end, end + lengths[i]) };
    end += lengths[i];
  }
  return tasks;
}

export function packAnswers(answers: readonly ForecastAnswer[]): PackedAnswers {
  const failures: PackedAnswers["failures"][number][] = [];
  const pathLengths = new Int32Array(answers.length);
  let total = 0;
  answers.forEach((answer, task) => {
    if (answer instanceof ForecastnetError) {
      failures.push({ task, failure: toFailure(answer) });
      return;
    }
    pathLengths[task] = answer.paths?.length ?? 0;
    for (const part of partsOf(answer)) total += part.length;
  });
  const values = new Float64Array(total);
  let end = 0;
  for (const answer of answers) {
    if (answer instanceof ForecastnetError) continue;
    for (const part of partsOf(answer)) {
      values.set(part, end);
      end += part.length;
    }
  }
  return { values, pathLengths, failures };
}

/** The arrays of the distributions are views of the one that came. */
export function unpackAnswers(
  { values, pathLengths, failures }: PackedAnswers,
  tasks: readonly ForecastTask[],
  { levels, keepPaths }: ForecastOptions,
): ForecastAnswer[] {
  const failureByTask = new Map(failures.map(({ task, failure }) => [task, failure]));
  let end = 0;
  const take = (length: number): Float64Array => {
    end += length;
    return values.subarray(end - length, end);
  };
  return tasks.map(({ model }, i) => {
    const failure = failureByTask.get(i);
    if (failure !== undefined) return fromFailure(failure);
    const { horizon, targets } = model.members[0].spec;
    const outputs = horizon * targets.length;
    return {
      mean: take(outputs),
      standardDeviation: take(outputs),
      quantiles: levels.map(() => take(outputs)),
      paths: keepPaths ? take(pathLengths[i]) : null,
    };
  });
}

function partsOf({ mean, standardDeviation, quantiles, paths }: Distribution): Float64Array[] {
  return [mean, standardDeviation, ...quantiles, ...(paths === null ? [] : [paths])];
}
