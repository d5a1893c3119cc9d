import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { forms } from "../../../../../src/models/forecastnet/spec.ts";
import {
  chooseTrial,
  schedules,
  type TrialOptions,
} from "../../../../../src/models/forecastnet/training/candidates.ts";
import { season, waveOf } from "../../../training/support/training-tasks.ts";

const task = { horizon: season, season, channels: 1, targets: [0] };

function trialOf(need: Partial<TrialOptions>, ...steps: readonly number[]) {
  const series = steps.map((count, i) => ({ values: waveOf({ steps: count, seed: i + 1 }), filled: null }));
  const trial = chooseTrial({ form: "auto", effort: "normal", known: [], ...need }, task, series);
  assert.ok(trial !== null);
  return trial;
}

/** Seasons seen and frame of each candidate, as in 2nn or 8ld. */
const namesOf = (need: Partial<TrialOptions>, ...steps: readonly number[]) =>
  trialOf(need, ...steps).specs.map(
    ({ inputLength, framing }) => `${inputLength / season}${framing.level[0]}${framing.scale[0]}`,
  );

describe("the candidates of an effort", () => {
  test("are two unlike nets, three, or all there are, twice", () => {
    assert.deepEqual(namesOf({ effort: "quick" }, 400), ["2nn", "8ld"]);
    assert.deepEqual(namesOf({ effort: "normal" }, 400), ["2nn", "2ld", "8ld"]);
    assert.equal(namesOf({ effort: "thorough" }, 400).length, 2 * 16);
    assert.equal(trialOf({ effort: "thorough" }, 400).schedule, schedules.thorough);
  });

  test("have fewer neurons than the paper's nets, and in windows of eight seasons the fewest", () => {
    const cells = trialOf({}, 400).specs.map(({ inputLength, cell }) => [inputLength / season, cell]);
    const cellOf = (first: number) => ({ kind: "dense", units: [first, 8], activation: "relu" });
    assert.deepEqual(cells, [
      [2, cellOf(12)],
      [2, cellOf(12)],
      [8, cellOf(4)],
    ]);
  });

  test("see what a short history has room for", () => {
    assert.deepEqual(namesOf({ effort: "quick" }, 45), ["1nn", "1ld"]);
    assert.deepEqual(namesOf({ effort: "normal" }, 45), ["1nn", "1ld"]);
  });

  test("take level and scale from the window when the series are several", () => {
    assert.deepEqual(namesOf({ effort: "quick" }, 400, 400), ["2md", "8ld"]);
    assert.equal(namesOf({ effort: "thorough" }, 400, 400).length, 2 * 8);
  });

  test("are those of the model to be replaced, whatever the effort", () => {
    const all = trialOf({ effort: "thorough" }, 400).specs;
    const known = all.filter(
      ({ inputLength, framing }) => inputLength !== season && framing.level === "mean",
    );
    assert.deepEqual(namesOf({ known }, 400), ["2md", "4md", "8md"]);
    assert.deepEqual(namesOf({ known, effort: "thorough" }, 400), ["2md", "4md", "8md"]);
  });

  test("are raced anew when there is room for a longer window, or one of the nets to be replaced does not fit", () => {
    const usual = namesOf({}, 400);
    const { specs: short } = trialOf({}, 45);
    assert.deepEqual(namesOf({ known: short }, 400), usual);
    const [first, ...others] = trialOf({}, 400).specs;
    assert.deepEqual(namesOf({ known: [{ ...first, horizon: 3 }, ...others] }, 400), usual);
    assert.deepEqual(namesOf({ known: trialOf({ form: "FN" }, 400).specs }, 400), usual);
    const wide = trialOf({ effort: "thorough" }, 400)
      .specs.filter(({ inputLength }) => inputLength === 8 * season)
      .map((spec) => ({ ...spec, cell: forms.FN.cell }));
    assert.deepEqual(namesOf({ known: wide }, 400), usual, "nets with the neurons of the paper");
  });

  test("are the one form of the paper that was asked for, whatever the effort", () => {
    const { specs } = trialOf({ form: "cFN2", effort: "quick" }, 400);
    assert.deepEqual(
      specs.map(({ cell, output, inputLength, shortcut }) => [cell.kind, output, inputLength, shortcut]),
      [["conv", "linear", 2 * season, "none"]],
    );
    assert.deepEqual(namesOf({ form: "FN" }, 400), ["2nn"]);
    assert.deepEqual(namesOf({ form: "FN" }, 400, 400), ["2md"]);
  });

  test("are none when the history is too short", () => {
    const series = [{ values: waveOf({ steps: 39 }), filled: null }];
    assert.equal(chooseTrial({ form: "auto", effort: "quick", known: [] }, task, series), null);
    assert.equal(chooseTrial({ form: "FN", effort: "quick", known: [] }, task, series), null);
  });
});
