// Chooses the codec of an input topic by its configured format.

import { avroObservations, confluentObservations } from "./avro-observations.ts";
import { jsonObservations } from "./json-observations.ts";
import type {
  ObservationCodec,
  ObservationFields,
  ObservationFormat,
  ObservationLimits,
} from "./observation-codec.ts";
import type { SchemaRegistry } from "./registry.ts";

export interface ObservationCodecSettings {
  readonly format: ObservationFormat;
  /** Used by confluent and json; plain Avro has the fields of our own schema. */
  readonly fields: ObservationFields;
  readonly limits: ObservationLimits;
  /** Needed by confluent only. */
  readonly registry: SchemaRegistry | null;
}

export function createObservationCodec(settings: ObservationCodecSettings): ObservationCodec {
  const { format, fields, limits, registry } = settings;
  if (format === "avro") return avroObservations(limits);
  if (format === "json") return jsonObservations(fields, limits);
  return confluentObservations(fields, limits, requireRegistry(registry));
}

/** The Confluent format needs a registry; the configuration's cross-field rules promise one. */
export function requireRegistry(registry: SchemaRegistry | null): SchemaRegistry {
  if (registry === null) throw new Error("the format confluent needs a schema registry: set registry.url");
  return registry;
}
