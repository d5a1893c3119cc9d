import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { avroCodec } from "../../../src/log/codec/avro.ts";
import { fromModelRecord, modelRecordCodec, toModelRecord } from "../../../src/log/codec/model-record.ts";
import { storedFamilies } from "../../../src/models/families.ts";
import type { TrainedModel } from "../../../src/models/family.ts";
import { encodeModel } from "../../../src/models/forecastnet/model-bytes.ts";
import { decodeOutcome, encodeOutcome } from "../../../src/training/outcome-codec.ts";
import { netOf, randomModel } from "../../rig/random-model.ts";
import { trainedModel } from "../../rig/training-task.ts";

const outcomes = avroCodec("TrainingOutcome");
const asked = { requestId: "r1", modelKey: "a", endedAtMs: 77 };

function outcomeOf(...challengers: readonly TrainedModel[]): Buffer {
  return encodeOutcome({ ...asked, result: { outcome: "trained", challengers } }, storedFamilies);
}

/** The outcome with its first challenger's record changed on the way. */
function tamper(value: Buffer, change: (record: Buffer) => Buffer): Buffer {
  const { challengers, ...rest } = outcomes.decode(value);
  const [first, ...others] = challengers;
  return outcomes.encode({ ...rest, challengers: [change(first), ...others] });
}

function assertSame(found: TrainedModel, expected: TrainedModel): void {
  const { model, ...facts } = found;
  const { model: expectedModel, ...expectedFacts } = expected;
  assert.deepEqual(encodeModel(netOf(model)), encodeModel(netOf(expectedModel)));
  assert.deepEqual(facts, expectedFacts);
}

describe("a model record", () => {
  const facts = { requestId: "r1", trainedAtMs: 77 };

  test("says all that is known of a trained model, and no number that is not", () => {
    const trained = trainedModel({ basis: "recent", naiveErrors: [2, 6] });
    const record = toModelRecord(trained, facts, storedFamilies);
    assert.deepEqual(record.validation, {
      ...{ mase: 0.5, crps: 1, baselineMase: 0, baselineCrps: 0, naiveErrors: [2, 6], scoredSteps: 24 },
    });
    assert.deepEqual([record.requestId, record.trainedAt, record.previous], ["r1", 77, null]);
    assert.match(record.checksum, /^sha256:[0-9a-f]{64}$/);
    assertSame(
      fromModelRecord(modelRecordCodec.decode(modelRecordCodec.encode(record)), storedFamilies),
      trained,
    );
  });

  test("of a model that validated on nothing has no NaN", () => {
    const folds = { mase: Number.NaN, crps: Number.NaN, points: 0 };
    const { mase, crps, scoredSteps } = toModelRecord(
      trainedModel({ folds }),
      facts,
      storedFamilies,
    ).validation;
    assert.deepEqual([mase, crps, scoredSteps], [0, 0, 0]);
  });

  test("stores half as much when asked to", () => {
    const model = randomModel({ spec: { inputLength: 200 } });
    const full = toModelRecord(trainedModel({ model }), facts, storedFamilies);
    const half = toModelRecord(trainedModel({ model, storage: "float16" }), facts, storedFamilies);
    assert.deepEqual([full.storage, half.storage], ["FLOAT32", "FLOAT16"]);
    assert.ok(half.weights.length < 0.7 * full.weights.length);
    assert.equal(fromModelRecord(half, storedFamilies).model.version, model.version);
  });

  test("with the weights of another model is unfit", () => {
    const record = { ...toModelRecord(trainedModel(), facts, storedFamilies), version: "v3" };
    assert.throws(() => fromModelRecord(record, storedFamilies), {
      code: "MODEL_UNFIT",
      message: /are those of a@v2/,
    });
  });
});

describe("an outcome", () => {
  test("brings the challengers", () => {
    const challengers = [trainedModel(), trainedModel({ basis: "recent" })];
    const { result, unfit, ...rest } = decodeOutcome(outcomeOf(...challengers), storedFamilies);
    assert.deepEqual([rest, unfit, result.outcome], [asked, [], "trained"]);
    assert.ok(result.outcome === "trained");
    for (const [i, challenger] of result.challengers.entries()) assertSame(challenger, challengers[i]);
  });

  test("brings the reason when there is no model", () => {
    const result = { outcome: "failed", reason: "too short" } as const;
    const value = encodeOutcome({ ...asked, result }, storedFamilies);
    assert.deepEqual(decodeOutcome(value, storedFamilies), { ...asked, result, unfit: [] });
  });

  test("leaves a challenger out that fails its checksum, and keeps the sound one", () => {
    const value = tamper(outcomeOf(trainedModel(), trainedModel({ basis: "recent" })), (bytes) => {
      const record = modelRecordCodec.decode(bytes);
      record.weights[record.weights.length - 1] ^= 1;
      return modelRecordCodec.encode(record);
    });
    const { result, unfit } = decodeOutcome(value, storedFamilies);
    assert.ok(result.outcome === "trained");
    assert.deepEqual(
      result.challengers.map(({ basis }) => basis),
      ["recent"],
    );
    assert.match(unfit.join(), /^record of a@v2: checksum is /);
  });

  test("has failed when no challenger can be read, or each is another key's", () => {
    const scribbled = tamper(outcomeOf(trainedModel()), () => Buffer.from("scribble"));
    const strange = outcomeOf(trainedModel({ key: "b" }));
    for (const [value, why] of [
      [scribbled, /^no challenger is fit: a ModelRecord record cannot be read/],
      [strange, /^no challenger is fit: a challenger for a is a model of b$/],
    ] as const) {
      const { result, unfit } = decodeOutcome(value, storedFamilies);
      assert.ok(result.outcome === "failed");
      assert.match(result.reason, why);
      assert.equal(unfit.length, 1);
    }
  });

  test("of a training whose weights are no numbers says so, instead of writing them", () => {
    const { model: trained, ...facts } = trainedModel();
    const model = netOf(trained);
    const [member] = model.members;
    const weights = Float32Array.from(member.weights, (_, i) => (i === 3 ? Number.NaN : 0));
    const broken = { ...facts, model: { ...model, members: [{ ...member, weights }] } };
    const { result } = decodeOutcome(outcomeOf(broken), storedFamilies);
    assert.ok(result.outcome === "failed");
    assert.match(result.reason, /^no challenger is fit: model a@v2: weights of member 0 has NaN at 3/);
  });

  test("that is no outcome is told from one", () => {
    assert.throws(() => decodeOutcome(Buffer.from("scribble"), storedFamilies), { code: "STATE_CORRUPT" });
  });
});
