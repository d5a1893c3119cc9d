import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { parseSpec } from "../../../../src/models/forecastnet/parse-spec.ts";
import { planNet } from "../../../../src/models/forecastnet/plan.ts";
import { specOf } from "../../../../src/models/forecastnet/spec.ts";
import { ForecastnetError } from "../../../../src/runtime/errors.ts";
import { netCases } from "../../../golden/support/net-cases.ts";

/** What the refusal says of the fields, or null when there is none. */
function problemsOf(value: unknown): string | null {
  try {
    parseSpec(value, "model sea/3");
    return null;
  } catch (error) {
    assert.ok(error instanceof ForecastnetError, `another error: ${String(error)}`);
    assert.equal(error.code, "MODEL_UNFIT");
    const start = "spec of model sea/3: ";
    assert.ok(error.message.startsWith(start), error.message);
    return error.message.slice(start.length);
  }
}

const sound = JSON.parse(JSON.stringify(specOf("FN", 4))) as Record<string, unknown>;
const framing = { level: "none", scale: "none" };

describe("a sound spec is read as it is", () => {
  for (const { name, spec } of netCases) {
    test(name, () => {
      const stored: unknown = JSON.parse(JSON.stringify(spec));
      assert.deepEqual(parseSpec(stored, "a test"), spec);
    });
  }
});

describe("a bad field is named, with what it may be", () => {
  const cases: readonly (readonly [name: string, changes: Record<string, unknown>, expected: string])[] = [
    ["a later version", { version: 2 }, "version: 2; this release reads version 1"],
    ["no version", { version: undefined }, "version: undefined; this release reads version 1"],
    ["no horizon", { horizon: 0 }, "horizon: 0; give a whole number from 1 to 10000"],
    ["a horizon below zero", { horizon: -3 }, "horizon: -3; give a whole number from 1 to 10000"],
    ["half a step", { horizon: 2.5 }, "horizon: 2.5; give a whole number from 1 to 10000"],
    [
      "an absurd horizon",
      { horizon: 1e15 },
      "horizon: 1000000000000000; give a whole number from 1 to 10000",
    ],
    ["a horizon in words", { horizon: "4" }, 'horizon: "4"; give a whole number from 1 to 10000'],
    ["no inputs", { inputLength: 0 }, "inputLength: 0; give a whole number of 1 or more"],
    [
      "a target beyond the channels",
      { targets: [1] },
      "targets: [1]; give a list of channels from 0 to 0, ascending",
    ],
    ["no target", { targets: [] }, "targets: []; give a list of channels from 0 to 0, ascending"],
    [
      "targets missing",
      { targets: undefined },
      "targets: undefined; give a list of channels from 0 to 0, ascending",
    ],
    [
      "targets out of order",
      { channels: 3, targets: [2, 0] },
      "targets: [2,0]; give a list of channels from 0 to 2, ascending",
    ],
    [
      "a target twice",
      { channels: 3, targets: [1, 1] },
      "targets: [1,1]; give a list of channels from 0 to 2, ascending",
    ],
    ["an unknown output", { output: "student" }, 'output: "student"; give "gaussian" or "linear"'],
    ["an unknown loss", { loss: "pinball" }, 'loss: "pinball"; give "likelihood" or "crps"'],
    ["no loss", { loss: undefined }, 'loss: undefined; give "likelihood" or "crps"'],
    [
      "squared errors of a Gaussian output",
      { loss: "squares" },
      'loss: "squares"; give "likelihood" or "crps"',
    ],
    [
      "a likelihood of a linear output",
      { output: "linear", loss: "likelihood" },
      'loss: "likelihood"; give "squares"',
    ],
    ["the CRPS of a linear output", { output: "linear", loss: "crps" }, 'loss: "crps"; give "squares"'],
    ["an unknown shortcut", { shortcut: true }, 'shortcut: true; give "none" or "linear"'],
    ["no framing", { framing: null }, "framing: null; give an object"],
    ["no cell", { cell: undefined }, "cell: undefined; give an object"],
    ["overrides null", { overrides: null }, "overrides: null; give an object"],
    ["overrides as a list", { overrides: [] }, "overrides: []; give an object"],
    ["an unknown cell kind", { cell: { kind: "lstm" } }, 'cell.kind: "lstm"; give "dense" or "conv"'],
    [
      "units missing",
      { cell: { kind: "dense", activation: "relu" } },
      "cell.units: undefined; give a list of one or more whole numbers above 0",
    ],
    [
      "an override beyond the last cell",
      { overrides: { 4: sound.cell } },
      "overrides.4: there are cells 0 to 3",
    ],
    [
      "an override that is no number",
      { overrides: { last: sound.cell } },
      "overrides.last: there are cells 0 to 3",
    ],
    ["an override without a name", { overrides: { "": sound.cell } }, "overrides.: there are cells 0 to 3"],
    [
      "an override oddly written",
      { overrides: { "1.0": sound.cell } },
      "overrides.1.0: there are cells 0 to 3",
    ],
    ["an empty override", { overrides: { 1: null } }, "overrides.1: null; give a cell or leave it out"],
    [
      "an override of an unknown kind",
      { overrides: { 2: { kind: "lstm" } } },
      'overrides.2.kind: "lstm"; give "dense" or "conv"',
    ],
    [
      "nothing left of the sequence",
      { ...specOf("cFN", 2), inputLength: 4 },
      "cell.stages: nothing is left of 4 inputs; use smaller kernels or pools",
    ],
    [
      "an unknown level",
      { framing: { ...framing, level: "median" } },
      'framing.level: "median"; give "none" or "mean" or "last"',
    ],
    [
      "an unknown scale",
      { framing: { ...framing, scale: 2 } },
      'framing.scale: 2; give "none" or "deviation"',
    ],
  ];
  for (const [name, changes, expected] of cases) {
    test(name, () => assert.equal(problemsOf({ ...sound, ...changes }), expected));
  }

  for (const value of [undefined, null, 7, "spec", [sound], true]) {
    test(`no object at all: ${JSON.stringify(value)}`, () => {
      assert.match(problemsOf(value) ?? "", /; a spec is an object$/);
    });
  }

  test("all bad fields at once", () => {
    const all = problemsOf({
      ...sound,
      horizon: 0,
      inputLength: null,
      channels: {},
      output: 1,
      overrides: 5,
    });
    for (const field of ["horizon", "inputLength", "channels", "output", "overrides"]) {
      assert.match(all ?? "", new RegExp(`(^|; )${field}: `));
    }
  });

  test("a net too large for any machine, without building it", () => {
    for (const changes of [
      { inputLength: 1e9 },
      { channels: 1e300 },
      { cell: { kind: "dense", units: [1e6, 1e6], activation: "relu" } },
      {
        ...specOf("cFN", 4),
        cell: { ...specOf("cFN", 4).cell, stages: [{ filters: 1, kernel: 1, padding: 1e308, pool: null }] },
      },
    ]) {
      assert.match(problemsOf({ ...sound, ...changes }) ?? "", /weights; choose a net of 67108864 or fewer$/);
    }
  });

  test("the longest horizon is read, and quickly", () => {
    assert.equal(problemsOf({ ...sound, horizon: 10_000 }), null);
  });
});

describe("whatever comes from outside", () => {
  /** Objects that cannot be turned into text or numbers are JSON too. */
  const hostile = fc.constantFrom<unknown>(
    { toString: 1, valueOf: 1 },
    { length: 1 },
    JSON.parse('{"__proto__":1}'),
  );
  const anything = fc.oneof(fc.jsonValue(), hostile);

  test("any JSON value is read or refused with MODEL_UNFIT, never a crash", () => {
    fc.assert(fc.property(anything, (value) => void problemsOf(value)));
  });

  test("so is a spec of which any field, at any depth, is replaced or taken away", () => {
    const specs = [specOf("FN", 3), specOf("cFN", 4, { overrides: { 1: specOf("FN", 3).cell } })];
    const paths = (value: unknown): string[][] =>
      typeof value === "object" && value !== null
        ? Object.entries(value).flatMap(([key, inner]) => [
            [key],
            ...paths(inner).map((rest) => [key, ...rest]),
          ])
        : [];
    const damaged = fc
      .constantFrom(...specs)
      .chain((spec) =>
        fc.tuple(fc.constant(spec), fc.constantFrom(...paths(spec)), fc.option(anything, { nil: undefined })),
      )
      .map(([spec, path, value]) => asJson(replaced(asJson(spec), path, value)));
    fc.assert(
      fc.property(damaged, (value) => {
        // What is not refused must be fit to be laid out.
        if (problemsOf(value) === null) assert.ok(planNet(parseSpec(value, "a test")).weightCount > 0);
      }),
      { numRuns: 1000 },
    );
  });
});

/** A copy as it would be read; a hole in a list becomes null. */
function asJson(value: unknown): Record<string, unknown> {
  return JSON.parse(JSON.stringify(value)) as Record<string, unknown>;
}

function replaced(value: Record<string, unknown>, [key, ...rest]: readonly string[], by: unknown): unknown {
  if (rest.length > 0) replaced(value[key] as Record<string, unknown>, rest, by);
  else if (by === undefined) delete value[key];
  else value[key] = by;
  return value;
}
