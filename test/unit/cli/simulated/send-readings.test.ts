// Simulated sensors on a log in memory, with a clock that moves on at each read.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Fleet } from "../../../../src/cli/simulated/fleet.ts";
import { type Pace, sendReadings, simulatedMs } from "../../../../src/cli/simulated/send-readings.ts";
import type { Outgoing } from "../../../../src/domain.ts";
import { avroCodec } from "../../../../src/log/codec/avro.ts";
import { encodeAsAvro } from "../../../../src/log/codec/observation-encoders.ts";
import { ForecastnetError } from "../../../../src/runtime/errors.ts";
import type { Logger } from "../../../../src/runtime/logging.ts";

const stepMs = 1_000;
const presentMs = 1_700_000_000_000;
const codec = avroCodec("Observation");

interface Run {
  readonly records: readonly Outgoing[];
  readonly timesMs: readonly number[];
  readonly messages: readonly string[];
  readonly lastLookMs: number;
}

/** Stops after `looks` reads of the clock, which are 400 ms apart. */
async function run(
  changes: Partial<Pace> & { history?: number; failures?: number; looks?: number },
): Promise<Run> {
  const { history = 50, failures = 0, looks = 30, ...paceChanges } = changes;
  const startMs = presentMs - history * stepMs;
  const pace: Pace = { stepMs, startMs, presentMs, speed: Infinity, wearAfter: null, ...paceChanges };
  const stopping = new AbortController();
  const records: Outgoing[] = [];
  const messages: string[] = [];
  let [looked, failed] = [0, 0];
  const log = (_: object, message: string) => messages.push(message);
  await sendReadings(pace, {
    log: {
      append: async (portion) => {
        if (failed++ < failures) throw new ForecastnetError("BROKER_UNREACHABLE", "gone");
        records.push(...portion);
      },
    },
    fleet: new Fleet({
      count: 4,
      stepMs,
      startMs,
      topic: "sensors",
      partitions: 3,
      encode: encodeAsAvro,
      sendsMalformed: false,
    }),
    clock: {
      nowMs: () => {
        if (++looked >= looks) stopping.abort();
        return presentMs + 400 * looked;
      },
    },
    logger: { debug: log, info: log, warn: log, error: log } as Logger,
    signal: stopping.signal,
  });
  const timesMs = records.map(({ value }) => codec.decode(value as Buffer).time);
  return { records, timesMs, messages, lastLookMs: presentMs + 400 * looked };
}

describe("sending readings", () => {
  test("sends the history, then follows the clock and never passes it", async () => {
    const { timesMs, messages, lastLookMs } = await run({});
    assert.equal(timesMs[0], presentMs - 50 * stepMs);
    assert.ok(Math.max(...timesMs) > presentMs + 5 * stepMs);
    assert.ok(Math.max(...timesMs) <= lastLookMs);
    assert.deepEqual(messages, ["history sent"]);
  });

  test("sends each series to one partition", async () => {
    const { records } = await run({});
    const places = new Set(records.map(({ key, partition }) => `${key}/${partition}`));
    assert.equal(places.size, 4);
    assert.ok(records.every(({ topic, partition }) => topic === "sensors" && partition < 3));
  });

  test("sends the same records when the log is unreachable for a while", async () => {
    const [calm, stormy] = [await run({ looks: 12 }), await run({ looks: 12, failures: 3 })];
    assert.deepEqual(stormy.timesMs, calm.timesMs);
    assert.equal(stormy.messages.filter((message) => message.startsWith("log did not")).length, 3);
  });

  test("rejects on an error that is not retryable", async () => {
    const refusing = {
      append: async () => {
        throw new ForecastnetError("LOG_FAILED", "no");
      },
    };
    const options = { count: 1, stepMs, startMs: presentMs, topic: "sensors", partitions: 1 };
    const fleet = new Fleet({ ...options, encode: encodeAsAvro, sendsMalformed: false });
    const logger = { debug() {}, info() {}, warn() {}, error() {} };
    const deps = { log: refusing, fleet, clock: { nowMs: () => presentMs + 5_000 }, logger };
    const pace = { stepMs, startMs: presentMs, presentMs, speed: Infinity, wearAfter: null };
    await assert.rejects(sendReadings(pace, { ...deps, signal: new AbortController().signal }), /no/);
  });

  test("logs that the first sensor wears out", async () => {
    const { messages } = await run({ wearAfter: 3 });
    assert.deepEqual(messages, ["history sent", "sensor worn out"]);
  });
});

describe("the simulated time", () => {
  const pace: Pace = { stepMs, startMs: presentMs - 600_000, presentMs, speed: 60, wearAfter: null };

  test("passes at the given speed until it has caught up with the clock", () => {
    assert.equal(simulatedMs(pace, presentMs), presentMs - 600_000);
    assert.equal(simulatedMs(pace, presentMs + 1_000), presentMs - 540_000);
    assert.equal(simulatedMs(pace, presentMs + 3_600_000), presentMs + 3_600_000);
  });

  test("is the clock's time when the history is sent at once", () => {
    assert.equal(simulatedMs({ ...pace, speed: Infinity }, presentMs + 7), presentMs + 7);
  });
});
