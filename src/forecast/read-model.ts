// A model record as a model that an engine can run. The bytes in the record are a whole model, which carries its own
// name and checksum; the other fields of the record tell people and gates about it.

import type { ModelRecord } from "../log/codec/schemas.generated.ts";
import type { ForecastNetModel } from "../models/forecastnet/model.ts";
import { decodeModel } from "../models/forecastnet/model-bytes.ts";
import { ForecastnetError } from "../runtime/errors.ts";

/** Throws MODEL_UNFIT when the bytes are damaged, of a release this one does not know, or another model's. */
export function readModel({ modelKey, version, weights }: ModelRecord): ForecastNetModel {
  const where = `record of ${modelKey}@${version}`;
  const model = decodeModel(weights, where);
  if (model.key !== modelKey || model.version !== version) {
    const found = `${model.key}@${model.version}`;
    throw new ForecastnetError(
      "MODEL_UNFIT",
      `${where}: weights are those of ${found}; expected are its own`,
    );
  }
  return model;
}
