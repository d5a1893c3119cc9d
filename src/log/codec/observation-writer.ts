// Writes observations as an input topic is configured to be read: for probes and simulated sensors. Avro and JSON only:
// whoever writes with a registry's schema has registered one of their own.

import type { Observation } from "../../domain.ts";
import { ForecastnetError } from "../../runtime/errors.ts";
import { avroCodec } from "./avro.ts";
import { keyAsSeriesId, type ObservationFields, type ObservationFormat } from "./observation-codec.ts";

export type WriteObservation = (observation: Observation) => Buffer;

const codec = avroCodec("Observation");

/** Throws CONFIG_INVALID for a format that cannot be written. */
export function createObservationWriter(
  format: ObservationFormat,
  fields: ObservationFields,
): WriteObservation {
  if (format === "json") return (observation) => Buffer.from(JSON.stringify(toJson(observation, fields)));
  if (format === "avro") {
    return ({ seriesId, timeMs, values }) =>
      codec.encode({ seriesId, time: timeMs, value: scalarOf(values), tags: {} });
  }
  throw new ForecastnetError(
    "CONFIG_INVALID",
    "observations in the format confluent cannot be made up: their schema is whoever writes them's own; name an input topic in avro or json",
  );
}

function toJson({ seriesId, timeMs, values }: Observation, fields: ObservationFields): object {
  const body: Record<string, unknown> = {};
  if (fields.seriesId !== keyAsSeriesId) put(body, fields.seriesId, seriesId);
  put(body, fields.time, timeIn(fields.timeUnit, timeMs));
  put(body, fields.value, scalarOf(values));
  return body;
}

function put(body: Record<string, unknown>, path: string, value: unknown): void {
  const steps = path.split(".");
  const last = steps.pop() as string;
  let node = body;
  for (const step of steps) {
    node[step] ??= {};
    node = node[step] as Record<string, unknown>;
  }
  node[last] = value;
}

function timeIn(unit: ObservationFields["timeUnit"], timeMs: number): number | string {
  if (unit === "iso") return new Date(timeMs).toISOString();
  if (unit === "ms") return timeMs;
  return unit === "s" ? timeMs / 1_000 : timeMs * 1_000;
}

function scalarOf(values: readonly number[]): number | number[] {
  return values.length === 1 ? values[0] : [...values];
}
