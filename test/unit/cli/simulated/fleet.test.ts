import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Fleet, type Reading, type Transmission } from "../../../../src/cli/simulated/fleet.ts";
import { sensorKinds, wornPump } from "../../../../src/cli/simulated/sensor-kinds.ts";
import {
  createObservationCodec,
  DecodeFailure,
  defaultFields,
} from "../../../../src/log/codec/observation-codec.ts";
import { encodeAsAvro } from "../../../../src/log/codec/observation-encoders.ts";

const startMs = 1_700_000_000_000;
const stepMs = 250;
const steps = 600;
const endMs = startMs + steps * stepMs - 1;

function createFleet(count = 16, sendsMalformed = true): Fleet {
  return new Fleet({
    count,
    stepMs,
    startMs,
    topic: "sensors",
    partitions: 4,
    encode: encodeAsAvro,
    sendsMalformed,
  });
}

function readingsOf(sent: readonly Transmission[]): readonly Reading[] {
  return sent.flatMap(({ reading }) => (reading === null ? [] : [reading]));
}

describe("the simulated fleet", () => {
  const sent = createFleet().advanceTo(endMs);
  const readings = readingsOf(sent);

  test("sends the same records in one call or in many", () => {
    const fleet = createFleet();
    const portions: Transmission[] = [];
    for (let nowMs = startMs; nowMs < endMs; nowMs += 370) portions.push(...fleet.advanceTo(nowMs));
    portions.push(...fleet.advanceTo(endMs));
    assert.deepEqual(portions, sent);
    assert.deepEqual(fleet.advanceTo(endMs), []);
  });

  test("has every kind of sensor, and sends each to one partition", () => {
    const partitionsBySeries = new Map<string, Set<number>>();
    for (const { record, reading } of sent) {
      if (reading === null) continue;
      const seen = partitionsBySeries.get(reading.seriesId) ?? new Set();
      partitionsBySeries.set(reading.seriesId, seen.add(record.partition));
    }
    assert.equal(partitionsBySeries.size, 16);
    for (const kind of sensorKinds) assert.ok(partitionsBySeries.has(`${kind.name}-1`), kind.name);
    for (const seen of partitionsBySeries.values()) assert.equal(seen.size, 1);
  });

  test("sends finite values on whole steps, never ahead of the given time", () => {
    const fleet = createFleet();
    for (let nowMs = startMs; nowMs < startMs + 30 * stepMs; nowMs += 130) {
      for (const { timeMs, value } of readingsOf(fleet.advanceTo(nowMs))) {
        assert.ok(timeMs <= nowMs);
        assert.equal((timeMs - startMs) % stepMs, 0);
        assert.ok(Number.isFinite(value));
      }
    }
  });

  test("has gaps, late readings and repeated readings", () => {
    const newestBySeries = new Map<string, number>();
    const seen = new Set<string>();
    let late = 0;
    let repeated = 0;
    for (const { seriesId, timeMs } of readings) {
      const slot = `${seriesId}@${timeMs}`;
      if (seen.has(slot)) repeated++;
      else if (timeMs < (newestBySeries.get(seriesId) ?? 0)) late++;
      seen.add(slot);
      newestBySeries.set(seriesId, Math.max(timeMs, newestBySeries.get(seriesId) ?? 0));
    }
    assert.ok(late > 10, `${late} late`);
    assert.ok(repeated > 10, `${repeated} repeated`);
    const missing = 16 * steps - seen.size;
    assert.ok(missing > 10 && missing < 0.05 * 16 * steps, `${missing} missing`);
  });

  test("changes the kind of one sensor and leaves the others as they were", () => {
    const fleet = createFleet();
    const before = readingsOf(fleet.advanceTo(startMs + 299 * stepMs));
    fleet.change(0, wornPump);
    const changed = [...before, ...readingsOf(fleet.advanceTo(endMs))];
    const others = (all: readonly Reading[]) => all.filter(({ seriesId }) => seriesId !== "pump-vibration-1");
    assert.deepEqual(others(changed), others(readings));
    const spanOf = (from: number, to: number) => {
      const values = changed
        .filter(({ seriesId, timeMs }) => seriesId === "pump-vibration-1" && timeMs >= from && timeMs < to)
        .map(({ value }) => value);
      return Math.max(...values) - Math.min(...values);
    };
    const changeMs = startMs + 300 * stepMs;
    assert.ok(spanOf(changeMs, endMs) > 1.4 * spanOf(startMs, changeMs));
  });

  test("sends the same readings without malformed records when those are switched off", () => {
    const clean = createFleet(16, false).advanceTo(endMs);
    assert.ok(clean.every(({ reading }) => reading !== null));
    assert.deepEqual(readingsOf(clean), readings);
  });

  test("is at the same hour of its day whenever it is started", () => {
    // The solar panels of two fleets, the second started ten steps later, agree on when it is night.
    const nightsOf = (from: number) => {
      const options = { count: 5, stepMs, startMs: from, topic: "sensors", partitions: 4 };
      const fleet = new Fleet({ ...options, encode: encodeAsAvro, sendsMalformed: false });
      const solar = readingsOf(fleet.advanceTo(endMs)).filter(({ seriesId }) => seriesId.startsWith("solar"));
      return new Set(solar.filter(({ value }) => value === 0).map(({ timeMs }) => timeMs));
    };
    const [first, second] = [nightsOf(startMs), nightsOf(startMs + 10 * stepMs)];
    const shared = [...second].filter((timeMs) => first.has(timeMs));
    assert.ok(second.size > 100 && shared.length > 0.9 * second.size);
  });

  test("sends readings that the worker can decode, and malformed records of four kinds that it cannot", () => {
    const limits = { maxRecordBytes: 1024, maxIdLength: 256, maxChannels: 8 };
    const codec = createObservationCodec({ format: "avro", fields: defaultFields, limits, registry: null });
    const reasons = new Set<string>();
    for (const { record, reading } of sent) {
      const decoded = codec.decode({ key: record.key, value: record.value });
      if (decoded instanceof DecodeFailure) {
        assert.equal(reading, null);
        reasons.add(decoded.reason);
      } else if (reading === null) {
        assert.ok(decoded.timeMs > endMs + 3_600_000);
        reasons.add("future-time");
      } else {
        assert.deepEqual(decoded, {
          seriesId: reading.seriesId,
          timeMs: reading.timeMs,
          values: [reading.value],
        });
      }
    }
    assert.deepEqual([...reasons].sort(), ["bad-value", "future-time", "missing-series", "undecodable"]);
  });
});
