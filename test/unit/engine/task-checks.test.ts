import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { forecastModels } from "../../../src/engine/forecast-model.ts";
import { createReferenceExecutor } from "../../../src/engine/reference/reference-executor.ts";
import type { ForecastNetModel } from "../../../src/models/forecastnet/model.ts";
import { specOf } from "../../../src/models/forecastnet/spec.ts";
import { ForecastnetError } from "../../../src/runtime/errors.ts";
import {
  cell,
  executorOf,
  isDistribution,
  memberOf,
  modelOf,
  options,
  spec,
  still,
  window,
} from "./support/still-net.ts";

describe("what does not fit", () => {
  const model = modelOf([memberOf(spec)]);
  const nan = Float64Array.of(1, Number.NaN, 2, 3);

  test("costs its own forecast and no other", () => {
    const tasks = [
      { model, window },
      { model, window: nan },
      { model, window },
    ];
    const [first, second, third] = forecastModels(createReferenceExecutor(), tasks, options);
    assert.ok(isDistribution(first));
    assert.deepEqual(first, third);
    assert.ok(second instanceof ForecastnetError);
    assert.equal(second.code, "WINDOW_UNFIT");
    assert.match(second.message, /^model pump@v3: window has NaN at step 1, channel 0/);
  });

  const linear = specOf("FN2", 3, { cell, inputLength: 4 });
  const refusals: readonly (readonly [string, ForecastNetModel, RegExp])[] = [
    [
      "weights of another net",
      modelOf([memberOf(spec, { weights: new Float32Array(5) })]),
      /weights are 5 numbers/,
    ],
    ["a linear member without errors", modelOf([memberOf(linear)]), /residuals are missing/],
    [
      "errors for other steps",
      modelOf([memberOf(linear, { residuals: new Float32Array(4) })]),
      /residuals are 4 numbers; .* a multiple of 3/,
    ],
    [
      "members of different horizons",
      modelOf([memberOf(spec, { share: 0.5 }), memberOf(specOf("FN", 2, { cell }), { share: 0.5 })]),
      /members differ in horizon/,
    ],
    [
      "a spread of other steps",
      { ...model, spread: Float32Array.of(1) },
      /spread has 1 numbers; expected are 3/,
    ],
    [
      "more members than paths",
      modelOf(Array.from({ length: 41 }, () => memberOf(spec, { share: 1 / 41 }))),
      /paths is 40; expected are 41 or more/,
    ],
  ];
  for (const [what, unfit, expected] of refusals) {
    test(`${what} is refused by the model's name`, () => {
      const [answer] = forecastModels(still, [{ model: unfit, window }], options);
      assert.ok(answer instanceof ForecastnetError);
      assert.match(answer.message, expected);
      assert.match(answer.message, /^model pump@v3: /);
    });
  }

  test("numbers that overflow never leave as a forecast", () => {
    const [answer] = forecastModels(
      executorOf(() => Number.NaN),
      [{ model, window }],
      options,
    );
    assert.ok(answer instanceof ForecastnetError);
    assert.match(answer.message, /model pump@v3: forecast has no finite value at step 1 of target 0/);
  });

  for (const [what, wrong] of [
    ["no paths", { paths: 0 }],
    ["levels out of order", { levels: [0.5, 0.1] }],
    ["a level of 1", { levels: [0.5, 1] }],
  ] as const) {
    test(`${what} is refused before anything runs`, () => {
      assert.throws(() => forecastModels(still, [{ model, window }], { ...options, ...wrong }), {
        code: "CONFIG_INVALID",
      });
    });
  }
});
