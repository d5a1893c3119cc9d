import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, test } from "node:test";
import fc from "fast-check";
import { initialWeights } from "../../../../src/models/forecastnet/initial-weights.ts";
import type { ForecastNetModel } from "../../../../src/models/forecastnet/model.ts";
import { decodeModel, encodeModel } from "../../../../src/models/forecastnet/model-bytes.ts";
import { planNet } from "../../../../src/models/forecastnet/plan.ts";
import { type ForecastNetSpec, specOf } from "../../../../src/models/forecastnet/spec.ts";
import { fromFloat16, toFloat16 } from "../../../../src/models/model-envelope.ts";
import { ForecastnetError } from "../../../../src/runtime/errors.ts";

const cell = { kind: "dense", units: [3], activation: "relu" } as const;
const gaussian = specOf("FN", 2, { cell });
const linear = specOf("FN2", 2, { cell, framing: { level: "last", scale: "deviation" } });
const weightsOf = (spec: ForecastNetSpec, seed: number) => initialWeights(planNet(spec), seed);

const model: ForecastNetModel = {
  family: "forecastnet",
  key: "pump-7/größe",
  version: "v1",
  scaler: { offset: [0.1], scale: [1 / 3] },
  members: [
    { spec: gaussian, weights: weightsOf(gaussian, 1), share: 0.75, residuals: null },
    {
      spec: linear,
      weights: weightsOf(linear, 2),
      share: 0.25,
      residuals: Float32Array.of(-1, 0, 2, -2, 0.5, 0.5),
    },
  ],
  spread: Float32Array.of(1, 1.25),
};

function assertUnfit(act: () => unknown, expected: RegExp): void {
  assert.throws(act, (error) => {
    assert.ok(error instanceof ForecastnetError, String(error));
    assert.equal(error.code, "MODEL_UNFIT");
    assert.match(error.message, expected);
    return true;
  });
}

/** Changes the file and makes its lengths and checksum right again, as a writer with other ideas would. */
function rewrite(
  bytes: Uint8Array,
  header: (json: string) => string,
  numbers = (part: Uint8Array) => part,
): Uint8Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const end = 48 + view.getUint32(8, true);
  const json = Buffer.from(header(Buffer.from(bytes.subarray(48, end)).toString()));
  const tail = numbers(Uint8Array.from(bytes.subarray(end)));
  const made = Buffer.concat([bytes.subarray(0, 48), json, tail]);
  made.writeUInt32LE(json.length, 8);
  made.writeUInt32LE(tail.length, 12);
  const sum = createHash("sha256").update(made.subarray(0, 16)).update(made.subarray(48)).digest();
  made.set(sum, 16);
  return made;
}

describe("a model", () => {
  test("comes back as it was", () => {
    const read = decodeModel(encodeModel(model), "test");
    assert.deepEqual(read, model);
  });

  test("without spread, residuals or a second member comes back too", () => {
    const plain = { ...model, spread: null, members: [{ ...model.members[0], share: 1 }] };
    assert.deepEqual(decodeModel(encodeModel(plain), "test"), plain);
  });

  test("in half precision comes back with rounded weights and all else exact", () => {
    const bytes = encodeModel(model, "float16");
    assert.ok(bytes.length < encodeModel(model).length);
    const read = decodeModel(bytes, "test");
    assert.deepEqual(
      read.members[0].weights,
      model.members[0].weights.map((w) => fromFloat16(toFloat16(w))),
    );
    assert.deepEqual(read.members[1].residuals, model.members[1].residuals);
    assert.deepEqual(read.spread, model.spread);
  });

  test("reads from the middle of another buffer", () => {
    const bytes = encodeModel(model);
    const within = new Uint8Array(bytes.length + 3);
    within.set(bytes, 3);
    assert.deepEqual(decodeModel(within.subarray(3), "test"), model);
  });

  test("has its weights in shared memory", () => {
    const [first, second] = decodeModel(encodeModel(model), "test").members;
    assert.ok(first.weights.buffer instanceof SharedArrayBuffer);
    assert.equal(first.weights.buffer, second.weights.buffer);
  });

  test("shares its spec with other models of the same", () => {
    const [a, b] = [decodeModel(encodeModel(model), "a"), decodeModel(encodeModel(model), "b")];
    assert.equal(a.members[0].spec, b.members[0].spec);
  });

  test("begins with magic, version, storage and lengths", () => {
    const bytes = encodeModel(model, "float16");
    const view = new DataView(bytes.buffer);
    assert.equal(Buffer.from(bytes.subarray(0, 4)).toString(), "FCNT");
    assert.deepEqual([view.getUint16(4, true), view.getUint16(6, true)], [2, 1]);
    assert.equal(48 + view.getUint32(8, true) + view.getUint32(12, true), bytes.length);
    assert.equal(view.getUint32(8, true) % 4, 0);
  });

  test("is stored with the season field that older releases read, as null", () => {
    const header = Buffer.from(encodeModel(model).subarray(48)).toString("latin1");
    const framings = header.match(/"framing":{[^}]*}/g);
    assert.deepEqual(framings, [
      '"framing":{"level":"none","scale":"none","season":null}',
      '"framing":{"level":"last","scale":"deviation","season":null}',
    ]);
  });

  test("that could not be read back is not written", () => {
    const [first] = model.members;
    const withWeights = (weights: Float32Array) => ({ ...model, members: [{ ...first, share: 1, weights }] });
    assertUnfit(
      () => encodeModel(withWeights(first.weights.subarray(1))),
      /pump-7.*weights of member 0 has \d+ numbers/,
    );
    const broken = Float32Array.from(first.weights).fill(Number.NaN, 4, 5);
    assertUnfit(() => encodeModel(withWeights(broken)), /has NaN at 4; expected a finite number/);
    const large = Float32Array.from(first.weights).fill(70_000, 2, 3);
    assert.doesNotThrow(() => encodeModel(withWeights(large)));
    assertUnfit(() => encodeModel(withWeights(large), "float16"), /70000 at 2; .*float16 can hold/);
    assertUnfit(
      () => encodeModel({ ...model, members: [first] }),
      /sum of the members' shares is 0.75; expected 1/,
    );
  });
});

describe("damage", () => {
  const bytes = encodeModel(model);

  test("by any truncation is refused", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: bytes.length - 1 }), (length) => {
        assertUnfit(
          () => decodeModel(bytes.subarray(0, length), "models[3]@17"),
          /^models\[3\]@17: length is/,
        );
      }),
    );
  });

  test("by any flipped bit is refused", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 8 * bytes.length - 1 }), (bit) => {
        const damaged = Uint8Array.from(bytes);
        damaged[bit >> 3] ^= 1 << (bit & 7);
        assertUnfit(
          () => decodeModel(damaged, "models[3]@17"),
          /^models\[3\]@17: (magic|format version|length|checksum) /,
        );
      }),
      { numRuns: 1000 },
    );
  });

  test("by bytes added at the end is refused", () => {
    assertUnfit(
      () => decodeModel(Buffer.concat([bytes, Buffer.alloc(4)]), "x"),
      /length is \d+ bytes; expected/,
    );
  });

  test("that is no model at all is refused for its magic", () => {
    assertUnfit(() => decodeModel(Buffer.alloc(100), "x"), /magic is .*expected "FCNT"/);
  });

  test("of a later format version says which ones are read", () => {
    const later = Uint8Array.from(bytes);
    later[4] = 9;
    assertUnfit(() => decodeModel(later, "x"), /format version is 9; this release reads versions 1 to 2/);
  });

  const headers: readonly (readonly [string, (json: string) => string, RegExp])[] = [
    ["no JSON", () => "{", /^x: the header is not JSON/],
    ["no object", () => "null", /^x: the header is not an object/],
    ["no key", (json) => json.replace("pump-7/größe", ""), /^x: key is ""/],
    ["no version", (json) => json.replace('"v1"', "null"), /^x: version is null/],
    [
      "a zero scale",
      (json) => json.replace(String(1 / 3), "0"),
      /model pump-7\/größe@v1: scaler.scale is \[0\]/,
    ],
    [
      "a missing offset",
      (json) => json.replace("[0.1]", "[]"),
      /scaler.offset is \[\]; expected a finite number for each of 1 channels/,
    ],
    [
      "an unknown spec version",
      (json) => json.replace('"version":1', '"version":8'),
      /version: 8; this release/,
    ],
    ["an unsound spec", (json) => json.replace('"horizon":2', '"horizon":-2'), /horizon/],
    ["members of different shape", (json) => json.replace('"horizon":2', '"horizon":3'), /shape of member 1/],
    ["shares that are too much", (json) => json.replace("0.75", "0.85"), /shares is 1.1; expected 1/],
    ["a share of nothing", (json) => json.replace("0.75", "0"), /member 0: share is 0/],
    [
      "residuals of a Gaussian",
      (json) => json.replace('"residualsPerStep":0', '"residualsPerStep":3'),
      /residualsPerStep is 3; expected 0/,
    ],
    [
      "a linear output without residuals",
      (json) => json.replace('"residualsPerStep":3', '"residualsPerStep":0'),
      /residualsPerStep is 0; expected a whole number above 0/,
    ],
    [
      "more residuals than there are",
      (json) => json.replace('"residualsPerStep":3', '"residualsPerStep":3000000000'),
      /model pump-7\/größe@v1: numbers are \d+ bytes; expected/,
    ],
    [
      "hidden layers of another size",
      (json) => json.replace("[3]", "[4]"),
      /numbers are \d+ bytes; expected/,
    ],
    [
      "a seasonal shortcut",
      (json) => json.replace('"season":null', '"season":24'),
      /member 0: spec.framing.season is 24; expected null, since this release has no seasonal shortcut/,
    ],
    [
      "no word on the season",
      (json) => json.replace(',"season":null', ""),
      /member 0: spec.framing.season is missing; expected null/,
    ],
    ["no word on the spread", (json) => json.replace('"hasSpread":true', '"x":1'), /hasSpread is missing/],
  ];
  for (const [what, change, expected] of headers) {
    test(`in the header: ${what}`, () => {
      assertUnfit(() => decodeModel(rewrite(bytes, change), "x"), expected);
    });
  }

  test("by an infinite weight is refused though the checksum is right", () => {
    const infinite = rewrite(
      bytes,
      (json) => json,
      (part) => {
        new DataView(part.buffer).setFloat32(8, Number.POSITIVE_INFINITY, true);
        return part;
      },
    );
    assertUnfit(() => decodeModel(infinite, "x"), /weights of member 0 has Infinity at 2; expected a finite/);
  });

  test("by residuals out of order is refused", () => {
    const [first, second] = model.members;
    const shuffled = {
      ...model,
      members: [first, { ...second, residuals: Float32Array.of(2, 0, -1, 0, 0, 0) }],
    };
    assertUnfit(() => decodeModel(encodeModel(shuffled), "x"), /residuals of member 1 has 0 after 2 at 1/);
  });
});
