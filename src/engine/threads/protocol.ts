// How work crosses between an engine and its threads: messages, tasks and answers packed into one transferred array
// each, and models in shared memory. The cost of a message depends on its number of objects far more than on its
// bytes. Weights are shared and never copied: a thread gets a model once and then knows it by a number.

import type { ForecastOptions } from "../../models/family.ts";
import type { EngineAnswer, EngineForecast, EngineTask } from "../../models/forecastnet/engine.ts";
import { type ForecastNetModel, inputLengthOf } from "../../models/forecastnet/model.ts";
import { ForecastnetError } from "../../runtime/errors.ts";
import { type Failure, fromFailure, toFailure } from "./job-thread.ts";

/** The executor of a thread. */
export type ExecutorSetup =
  | { readonly kind: "reference" }
  | { readonly kind: "simd" }
  | { readonly kind: "tensorflow"; readonly memoryMb: number };

/** Nets that an executor keeps on its device. */
export interface DeviceMemory {
  readonly models: number;
  readonly bytes: number;
}

export type ToThread =
  | {
      readonly kind: "forecast";
      readonly job: number;
      readonly tasks: PackedTasks;
      readonly options: ForecastOptions;
    }
  | { readonly kind: "model"; readonly id: number; readonly model: ForecastNetModel }
  | { readonly kind: "forget"; readonly id: number }
  | { readonly kind: "close" };

/** The hardware that the executor of a thread found. */
export interface ThreadFacts {
  readonly device: string;
  readonly detail: string;
}

/** The answers to one job. */
export interface ThreadAnswers {
  readonly packed: PackedAnswers;
  /** Null for an executor without a device of its own. */
  readonly resident: DeviceMemory | null;
}

export interface PackedTasks {
  /** Numbers of the models. */
  readonly modelIds: Int32Array;
  /** How many values of `windows` belong to each task. */
  readonly lengths: Int32Array;
  readonly windows: Float64Array;
}

export function packTasks(
  tasks: readonly EngineTask[],
  idOf: (model: ForecastNetModel) => number,
): PackedTasks {
  const modelIds = new Int32Array(tasks.length);
  const lengths = new Int32Array(tasks.length);
  let total = 0;
  tasks.forEach(({ model, window }, i) => {
    modelIds[i] = idOf(model);
    // Steps before the model's input are not sent.
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
): EngineTask[] {
  const tasks = new Array<EngineTask>(modelIds.length);
  let end = 0;
  for (let i = 0; i < modelIds.length; i++) {
    tasks[i] = { model: modelOf(modelIds[i]), window: windows.subarray(end, end + lengths[i]) };
    end += lengths[i];
  }
  return tasks;
}

interface PackedAnswers {
  /** The distributions of the tasks that succeeded: mean, standard deviation and quantiles of each. */
  readonly values: Float64Array;
  readonly failures: readonly { readonly task: number; readonly failure: Failure }[];
}

export function packAnswers(answers: readonly EngineAnswer[]): PackedAnswers {
  const failures: PackedAnswers["failures"][number][] = [];
  const parts: ArrayLike<number>[] = [];
  answers.forEach((answer, task) => {
    if (answer instanceof ForecastnetError) failures.push({ task, failure: toFailure(answer) });
    else parts.push(answer.mean, answer.standardDeviation, ...answer.quantiles);
  });
  const values = new Float64Array(parts.reduce((sum, { length }) => sum + length, 0));
  let end = 0;
  for (const part of parts) {
    values.set(part, end);
    end += part.length;
  }
  return { values, failures };
}

/** The arrays of the distributions are plain ones: views would keep all answers of a job alive, and are copied by their readers. */
export function unpackAnswers(
  { values, failures }: PackedAnswers,
  tasks: readonly EngineTask[],
  { levels }: ForecastOptions,
): EngineAnswer[] {
  const failureByTask = new Map(failures.map(({ task, failure }) => [task, failure]));
  let end = 0;
  const take = (length: number): readonly number[] => {
    const numbers = new Array<number>(length);
    for (let i = 0; i < length; i++) numbers[i] = values[end + i];
    end += length;
    return numbers;
  };
  return tasks.map(({ model }, i): EngineForecast | ForecastnetError => {
    const failure = failureByTask.get(i);
    if (failure !== undefined) return fromFailure(failure);
    const { horizon, targets } = model.members[0].spec;
    const rows = horizon * targets.length;
    return { mean: take(rows), standardDeviation: take(rows), quantiles: levels.map(() => take(rows)) };
  });
}

interface Resident {
  readonly id: number;
  /** The copy that threads get. Keeping the caller's object instead would prevent its collection. */
  readonly shared: ForecastNetModel;
  readonly bytes: number;
}

/**
 * The models in shared memory and their numbers. A model is identified by its object, not by its name: a challenger
 * under evaluation can have the same name as the model it may replace.
 */
export class ResidentModels {
  readonly #residentByModel = new WeakMap<ForecastNetModel, Resident>();
  readonly #bytesById = new Map<number, number>();
  readonly #onForget: (id: number) => void;
  /** Forgets models that the caller dropped without releasing them. */
  readonly #dropped = new FinalizationRegistry<number>((id) => this.#forget(id));
  #lastId = 0;
  #bytes = 0;

  constructor(onForget: (id: number) => void) {
    this.#onForget = onForget;
  }

  get count(): number {
    return this.#bytesById.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  of(model: ForecastNetModel): Resident {
    let resident = this.#residentByModel.get(model);
    if (resident === undefined) {
      const shared = toShared(model);
      resident = { id: ++this.#lastId, shared, bytes: bytesOf(shared) };
      this.#residentByModel.set(model, resident);
      this.#bytesById.set(resident.id, resident.bytes);
      this.#bytes += resident.bytes;
      this.#dropped.register(model, resident.id, model);
    }
    return resident;
  }

  release(model: ForecastNetModel): void {
    const resident = this.#residentByModel.get(model);
    if (resident === undefined) return;
    this.#residentByModel.delete(model);
    this.#dropped.unregister(model);
    this.#forget(resident.id);
  }

  #forget(id: number): void {
    this.#bytes -= this.#bytesById.get(id) ?? 0;
    this.#bytesById.delete(id);
    this.#onForget(id);
  }
}

function toShared({ family, key, version, scaler, members, spread }: ForecastNetModel): ForecastNetModel {
  return {
    family,
    key,
    version,
    scaler,
    members: members.map(({ spec, weights, share, residuals }) => ({
      spec,
      weights: sharedFloats(weights),
      share,
      residuals: residuals && sharedFloats(residuals),
    })),
    spread: spread && sharedFloats(spread),
  };
}

/** The same array if it is in shared memory already, otherwise a copy that is. */
function sharedFloats(values: Float32Array): Float32Array {
  if (values.buffer instanceof SharedArrayBuffer) return values;
  const shared = new Float32Array(new SharedArrayBuffer(values.byteLength));
  shared.set(values);
  return shared;
}

function bytesOf({ members, spread }: ForecastNetModel): number {
  const ofMembers = members.map(
    ({ weights, residuals }) => weights.byteLength + (residuals?.byteLength ?? 0),
  );
  return ofMembers.reduce((sum, bytes) => sum + bytes, spread?.byteLength ?? 0);
}
