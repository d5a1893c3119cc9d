// Models as records of the models topic.

import type { Outgoing } from "../../src/domain.ts";
import { avroCodec } from "../../src/log/codec/avro.ts";
import type { ModelRecord } from "../../src/log/codec/schemas.generated.ts";
import type { ForecastNetModel } from "../../src/models/forecastnet/model.ts";
import { encodeModel } from "../../src/models/forecastnet/model-bytes.ts";

const codec = avroCodec("ModelRecord");

export function modelRecord(model: ForecastNetModel): ModelRecord {
  const weights = Buffer.from(encodeModel(model));
  return {
    modelKey: model.key,
    version: model.version,
    previousVersion: null,
    family: model.family,
    spec: JSON.stringify(model.members[0].spec),
    weights,
    storage: "FLOAT32",
    checksum: "",
    scaler: { offset: [...model.scaler.offset], scale: [...model.scaler.scale] },
    ...{ trainedAt: 0, trainedFrom: 0, trainedTo: 0 },
    validation: {
      ...{ mase: 0.5, crps: 0.5, baselineMase: 1, baselineCrps: 1, naiveErrors: [1], scoredSteps: 1 },
    },
    ...{ lineage: null, requestId: null, previous: null },
  };
}

export function storedModel(model: ForecastNetModel, partition = 0, topic = "forecastnet.models"): Outgoing {
  return { topic, partition, key: Buffer.from(model.key), value: codec.encode(modelRecord(model)) };
}
