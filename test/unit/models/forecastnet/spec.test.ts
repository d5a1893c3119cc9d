import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { parseSpec } from "../../../../src/models/forecastnet/parse-spec.ts";
import { cellAt, type Form, forms, specOf } from "../../../../src/models/forecastnet/spec.ts";

const names = Object.keys(forms) as Form[];

describe("a form of the paper", () => {
  for (const form of names) {
    test(`${form} at τ 20 is a sound spec, one channel and 2τ inputs`, () => {
      const spec = specOf(form, 20);
      assert.equal(parseSpec(JSON.parse(JSON.stringify(spec)), "a test").horizon, 20);
      assert.deepEqual([spec.inputLength, spec.channels, spec.targets], [40, 1, [0]]);
    });
  }

  test("the four differ by cell and output as in the paper's table", () => {
    const table = names.map((form) => [form, specOf(form, 4).cell.kind, specOf(form, 4).output]);
    assert.deepEqual(table, [
      ["FN", "dense", "gaussian"],
      ["cFN", "conv", "gaussian"],
      ["FN2", "dense", "linear"],
      ["cFN2", "conv", "linear"],
    ]);
  });

  test("is trained as in the paper: by likelihood where it is Gaussian, by squared errors where it is linear", () => {
    for (const form of names) {
      const { output, loss } = specOf(form, 4);
      assert.equal(loss, output === "gaussian" ? "likelihood" : "squares");
    }
  });

  test("what is asked for otherwise wins", () => {
    const spec = specOf("FN", 4, { inputLength: 5, loss: "crps" });
    assert.deepEqual([spec.inputLength, spec.loss, spec.horizon], [5, "crps", 4]);
  });
});

test("an override replaces one cell only", () => {
  const sigmoid = { kind: "dense", units: [3], activation: "sigmoid" } as const;
  const spec = specOf("cFN", 3, { overrides: { 1: sigmoid } });
  assert.deepEqual(
    [0, 1, 2].map((h) => cellAt(spec, h)),
    [spec.cell, sigmoid, spec.cell],
  );
});
