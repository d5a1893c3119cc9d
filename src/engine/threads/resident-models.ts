// The models that threads may be asked for: each in shared memory and under a number. A model is known by its
// object, not by its name, since a candidate under trial may bear the name of the one it would replace.

import type { ForecastNetModel } from "../../models/forecastnet/model.ts";

interface Resident {
  readonly id: number;
  /** What threads are sent. Not the caller's object, or that could never be collected. */
  readonly shared: ForecastNetModel;
  readonly bytes: number;
}

export class ResidentModels {
  readonly #residentByModel = new WeakMap<ForecastNetModel, Resident>();
  readonly #bytesById = new Map<number, number>();
  readonly #onForget: (id: number) => void;
  /** A caller that drops a model without a word, as one that tries candidates may, leaves nothing behind. */
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

  /** Its number, and its form in shared memory. */
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

function toShared({ key, version, scaler, members, spread }: ForecastNetModel): ForecastNetModel {
  return {
    ...{ key, version, scaler },
    members: members.map(({ spec, weights, share, residuals }) => ({
      ...{ spec, share },
      weights: sharedFloats(weights),
      residuals: residuals && sharedFloats(residuals),
    })),
    spread: spread && sharedFloats(spread),
  };
}

/** The same array when it lies in shared memory already, or a copy that does. */
export function sharedFloats(values: Float32Array): Float32Array {
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
