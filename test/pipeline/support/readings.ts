// Sensor readings as tests write them.

import type { Header, Outgoing } from "../../../src/domain.ts";
import { avroCodec } from "../../../src/log/codec/avro.ts";

/** A record before it has a partition. */
export type Written = Omit<Outgoing, "partition">;

export const HOUR_MS = 3_600_000;
/** Hour 0 of the readings. */
export const DAWN_MS = Date.UTC(2024, 0, 1);

/** A reading of the series at an hour, which may be a fraction, as JSON. */
export function at(seriesId: string, hour: number, ...values: number[]): Written {
  const value = values.length === 1 ? values[0] : values;
  return raw(seriesId, JSON.stringify({ seriesId, time: DAWN_MS + hour * HOUR_MS, value }));
}

/** Consecutive readings, one per hour. */
export function hourly(seriesId: string, firstHour: number, values: readonly number[]): Written[] {
  return values.map((value, i) => at(seriesId, firstHour + i, value));
}

/** The same in the plain Avro format. */
export function avroAt(topic: string, seriesId: string, hour: number, value: number): Written {
  const observation = { seriesId, time: DAWN_MS + hour * HOUR_MS, value, tags: {} };
  return { topic, key: Buffer.from(seriesId), value: observationCodec.encode(observation) };
}

/** Any text in place of a reading. */
export function raw(key: string, text: string, headers: readonly Header[] = []): Written {
  return { topic: "sensors", key: Buffer.from(key), value: Buffer.from(text), headers };
}

/** Partition by the key's first letter: "a" in 0, "b" in the next. */
export function inputRecord(written: Written, partitions: number): Outgoing {
  const letter = written.key?.[0] ?? 0;
  return { ...written, partition: (letter - "a".charCodeAt(0) + 26) % partitions };
}

export function hourOf(timeMs: number): number {
  return (timeMs - DAWN_MS) / HOUR_MS;
}

const observationCodec = avroCodec("Observation");
