import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { avroCodec } from "../../../src/log/codec/avro.ts";
import type { HistoryRecord, TrainingRequestRecord } from "../../../src/log/codec/schemas.generated.ts";
import { decodeRequest, encodeRequest, type RefusedRequest } from "../../../src/training/request-codec.ts";
import { trainingTask } from "../../rig/training-task.ts";

const codec = avroCodec("TrainingRequest");

/** A sound request with some fields replaced, as another program might write it. */
function requestWith(changes: Partial<TrainingRequestRecord>): Buffer {
  return codec.encode({ ...codec.decode(encodeRequest(trainingTask())), ...changes });
}

function planWith(changes: Readonly<Record<string, unknown>>): Buffer {
  return requestWith({ spec: JSON.stringify({ ...trainingTask().plan, ...changes }) });
}

function historyWith(...changes: readonly Partial<HistoryRecord>[]): Buffer {
  const [history] = codec.decode(encodeRequest(trainingTask())).histories;
  return requestWith({ histories: changes.map((change) => ({ ...history, ...change })) });
}

function refusedOf(value: Buffer | null): RefusedRequest {
  const read = decodeRequest(value);
  assert.ok(!("task" in read), "the request was to be refused");
  return read;
}

function assertBad(value: Buffer, detail: RegExp): void {
  const { refusal, asker } = refusedOf(value);
  assert.equal(refusal.reason, "bad-request");
  assert.match(refusal.detail, detail);
  assert.deepEqual(asker, { requestId: "request for a", modelKey: "a" }, "its asker waits for an answer");
}

describe("a training request", () => {
  test("says all that its task says", () => {
    for (const reason of ["new", "drift", "age", "manual"] as const) {
      const task = trainingTask({ reason });
      assert.deepEqual(decodeRequest(encodeRequest(task)), { task });
    }
  });

  test("names its family unless that is ForecastNet, which trainers of the previous release take for granted", () => {
    const familyIn = (family: string) => {
      const { plan } = trainingTask();
      const bytes = encodeRequest(trainingTask({ plan: { ...plan, family } }));
      const read = decodeRequest(bytes);
      assert.ok("task" in read);
      return [JSON.parse(codec.decode(bytes).spec).family, read.task.plan.family];
    };
    assert.deepEqual(familyIn("forecastnet"), [undefined, "forecastnet"]);
    assert.deepEqual(familyIn("linear"), ["linear", "linear"]);
  });

  test("carries several histories of several channels, and none that was filled", () => {
    const [history] = trainingTask().histories;
    const histories = ["b", "c"].map((seriesId) => ({ ...history, seriesId, channels: 2, filled: null }));
    const task = trainingTask({ histories });
    assert.deepEqual(decodeRequest(encodeRequest(task)), { task });
  });

  test("carries only the part of an array that a history is a view of", () => {
    const [history] = trainingTask().histories;
    const task = trainingTask({
      histories: [{ ...history, values: history.values.subarray(20), filled: null }],
    });
    const read = decodeRequest(encodeRequest(task));
    assert.ok("task" in read);
    assert.deepEqual(read.task.histories[0].values, history.values.slice(20));
  });
});

describe("a request that nobody can train is refused in words", () => {
  test("when it is no request at all, with nobody to answer", () => {
    for (const value of [null, Buffer.alloc(0), Buffer.from("train this"), Buffer.alloc(40, 0xc3)]) {
      const { refusal, asker } = refusedOf(value);
      assert.deepEqual([refusal.reason, asker], ["undecodable", null]);
    }
  });

  test("when it is cut short anywhere, or one byte of it is another", () => {
    const whole = encodeRequest(trainingTask());
    for (let end = 0; end < whole.length; end++) {
      assert.equal(refusedOf(whole.subarray(0, end)).refusal.reason, "undecodable", `cut at ${end}`);
    }
    fc.assert(
      fc.property(fc.nat(whole.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
        const damaged = Buffer.from(whole);
        damaged[at] ^= change;
        decodeRequest(damaged); // may be refused or not, but never throws
      }),
    );
  });

  test("when it does not say who asks", () => {
    assert.match(refusedOf(requestWith({ id: "" })).refusal.detail, /^id is empty/);
    assert.match(refusedOf(requestWith({ modelKey: "" })).refusal.detail, /^modelKey is empty/);
    const { refusal, asker } = refusedOf(requestWith({ modelKey: "a\u0000order" }));
    assert.match(refusal.detail, /^modelKey: "a\\u0000order"; give a name without NUL$/);
    assert.equal(asker, null);
  });

  test("when its spec is no object", () => {
    for (const spec of ["", "train well", "[1]", "null", "7"]) {
      assertBad(requestWith({ spec }), /^spec: .*; give a JSON object$/);
    }
  });

  test("when a field of its spec is missing, misspelled or out of range, naming each", () => {
    assertBad(planWith({ horizon: 0 }), /^horizon: 0; give a whole number of 1 or more$/);
    assertBad(planWith({ season: 1.5 }), /^season: 1\.5; /);
    assertBad(planWith({ family: "" }), /^family: ""; give the name of a model family$/);
    assertBad(planWith({ form: "FN3" }), /^form: "FN3"; give "auto" or "FN" or /);
    assertBad(planWith({ effort: "heroic" }), /^effort: "heroic"; give "quick" or /);
    assertBad(planWith({ members: "2" }), /^members: "2"; /);
    assertBad(planWith({ holdBack: -1 }), /^holdBack: -1; give a whole number of 0 or more$/);
    assertBad(planWith({ recentFromMs: "today" }), /^recentFromMs: "today"; /);
    assertBad(planWith({ members: undefined }), /^members is missing$/);
    assertBad(
      planWith({ constructor: 1, hold_back: 9 }),
      /"constructor" is not a field .*; "hold_back" is not a field/,
    );
    assertBad(planWith({ horizon: 0, effort: 1 }), /^horizon: 0; .*; effort: 1; /);
  });

  test("when it has no history, or one out of shape, naming the series", () => {
    assertBad(requestWith({ histories: [] }), /^histories: none; give at least one$/);
    assertBad(
      historyWith({ values: Buffer.alloc(81) }),
      /^history 0 \("a"\) has 81 bytes of values; .* of 8$/,
    );
    assertBad(historyWith({ channels: 7 }), /has 480 bytes of values; give a multiple of 56$/);
    assertBad(historyWith({ channels: 0 }), /^history 0 \("a"\) channels: 0; /);
    assertBad(historyWith({ seriesId: "" }), /^history 0 \(""\) has no seriesId$/);
    assertBad(historyWith({ interval: "hourly" }), /interval "hourly" is not an ISO 8601 duration/);
    assertBad(historyWith({ filled: Buffer.alloc(59) }), /has 59 marks of filled slots; .* its 60 steps$/);
    assertBad(
      historyWith({}, { channels: 2, filled: null }),
      /^history 1 \("a"\) has 2 channels, the first has 1$/,
    );
    const endless = Buffer.from(new Float64Array(60).fill(Number.POSITIVE_INFINITY).buffer);
    assertBad(historyWith({ values: endless }), /has an infinite value/);
  });

  test("when what is left to learn from is shorter than one look ahead", () => {
    const bytes = (steps: number) => ({ values: Buffer.alloc(8 * steps), filled: null });
    const detail = /^the longest history has 12 steps; at least 13 are needed to hold back 9 and forecast 3$/;
    assertBad(historyWith(bytes(12)), detail);
    assertBad(historyWith(bytes(2), bytes(12)), detail);
    assertBad(historyWith(bytes(0)), /has 0 steps/);
    assert.ok("task" in decodeRequest(historyWith(bytes(13))));
    assert.ok("task" in decodeRequest(historyWith(bytes(2), bytes(13))), "one old member is enough");
  });
});
