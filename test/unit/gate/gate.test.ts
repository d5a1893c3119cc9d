import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type GateCase, passGate, type Verdict } from "../../../src/gate/gate.ts";
import { createFamilies } from "../../../src/models/families.ts";
import type { Engine } from "../../../src/models/forecastnet/engine.ts";
import { initialWeights } from "../../../src/models/forecastnet/initial-weights.ts";
import type { ForecastNetModel } from "../../../src/models/forecastnet/model.ts";
import { planNet } from "../../../src/models/forecastnet/plan.ts";
import {
  historyOf,
  horizon,
  hourMs,
  noise,
  openEngine,
  type StillOptions,
  season,
  sideBySide,
  stillModel,
  trained,
  wave,
} from "./still-models.ts";

const engine = openEngine();
const families = createFamilies(engine);
const baseline = families.baselineFor("s", { horizon, season, channels: 1 });
const steps = 300;
const tailSteps = 48;
const trainedTo = steps - tailSteps - 1;
const rules = { margin: 0.02, tailSteps, season, horizon };

const challenger = (options: StillOptions = {}) =>
  trained(stillModel({ key: "challenger", ...options }), trainedTo);
const champion = (options: StillOptions = {}) => ({
  model: stillModel({ key: "champion", ...options }),
  trainedToMs: trainedTo * hourMs,
});

async function gate(changes: Partial<GateCase>): Promise<Verdict> {
  const histories = [historyOf(noise(steps))];
  const request = {
    ...{ challengers: [challenger()], champion: null, baseline, histories, rules },
    countsFolds: false,
  };
  return passGate(families, { ...request, ...changes });
}

function refused(verdict: Verdict): Extract<Verdict, { outcome: "refused" }> {
  assert.equal(verdict.outcome, "refused", verdict.reason);
  return verdict as Extract<Verdict, { outcome: "refused" }>;
}

describe("the gate promotes", () => {
  test("a challenger that is better than the champion and than seasonal-naive, with the numbers of all", async () => {
    const better = challenger();
    const verdict = await gate({ challengers: [better], champion: champion({ level: "last" }) });
    assert.equal(verdict.outcome, "promoted", verdict.reason);
    assert.equal(verdict.challenger, better);
    assert.match(verdict.reason, /^better than the champion by [\d.]+ % and seasonal-naive by [\d.]+ %$/);
    const { numbers } = verdict;
    assert.deepEqual(Object.keys(numbers).sort(), [
      ...["challengerCrps", "challengerMase", "championCrps", "championMase"],
      ...["margin", "naiveCrps", "naiveMase", "points", "steps"],
    ]);
    assert.ok(numbers.challengerMase < 0.9 * numbers.championMase);
    assert.ok(numbers.challengerCrps < 0.9 * numbers.naiveCrps);
    assert.equal(numbers.steps, tailSteps);
  });

  test("the first model of a series against seasonal-naive alone", async () => {
    const verdict = await gate({});
    assert.equal(verdict.outcome, "promoted", verdict.reason);
    assert.match(verdict.reason, /^better than seasonal-naive by/);
    assert.equal(verdict.numbers.championMase, undefined);
  });

  test("the best of several challengers", async () => {
    const best = challenger({ key: "best" });
    const verdict = await gate({ challengers: [challenger({ spread: 3 }), best, challenger({ bias: 0.5 })] });
    assert.equal(verdict.outcome, "promoted");
    assert.equal(verdict.challenger, best);
  });

  test("whoever can forecast in place of a champion that cannot", async () => {
    const verdict = await gate({ champion: champion({ weight: Number.NaN }) });
    assert.equal(verdict.outcome, "promoted", verdict.reason);
    assert.match(verdict.reason, /the champion, which is unfit: .*no finite value/);
    const grown = await gate({ champion: champion({ horizon: 4 }) });
    assert.match(grown.reason, /unfit: it forecasts 4 steps instead of 6/);
    assert.equal(grown.outcome, "promoted");
  });

  test("the model of a cohort whose members differ in scale", async () => {
    const histories = [historyOf(noise(steps)), historyOf(noise(steps, 2).map((value) => 1e6 * value))];
    const verdict = await gate({ challengers: [challenger({ scale: "deviation" })], histories });
    assert.equal(verdict.outcome, "promoted", verdict.reason);
    // A loud member alone would let this pass: its spread is far too wide for the quiet one.
    const deaf = await gate({ challengers: [challenger({ spread: 1e6 })], histories });
    assert.equal(refused(deaf).reason, "seasonal-naive is best");
  });

  test("the model of several channels", async () => {
    const values = sideBySide(
      noise(steps),
      noise(steps, 5).map((value) => 1000 * value),
    );
    const histories = [historyOf(values, { channels: 2 })];
    const verdict = await gate({ challengers: [challenger({ channels: 2, scale: "deviation" })], histories });
    assert.equal(verdict.outcome, "promoted", verdict.reason);
  });
});

describe("the gate refuses", () => {
  test("a challenger that is worse than the champion", async () => {
    const verdict = refused(
      await gate({ challengers: [challenger({ level: "last" })], champion: champion() }),
    );
    assert.deepEqual([verdict.reason, verdict.retire], ["the champion is better", false]);
    assert.ok(verdict.numbers.championMase < verdict.numbers.challengerMase);
  });

  test("a challenger that is as good as the champion, for want of the margin", async () => {
    const verdict = refused(await gate({ champion: champion() }));
    assert.equal(verdict.reason, "not better than the champion by the margin of 2 %");
    assert.equal(verdict.numbers.challengerMase, verdict.numbers.championMase);
    const free = refused(await gate({ champion: champion(), rules: { ...rules, margin: 0 } }));
    assert.equal(free.reason, "not better than the champion by the margin of 0 %");
  });

  test("a challenger that is better by both measures together and worse by one", async () => {
    // Its median is better, its spread is far too narrow.
    const narrow = challenger({ spread: 0.01, bias: 50 });
    const verdict = refused(
      await gate({ challengers: [narrow], champion: champion({ level: "last", spread: 1.4 }) }),
    );
    const { challengerMase, championMase, challengerCrps, championCrps } = verdict.numbers;
    assert.ok(
      challengerCrps > 1.02 * championCrps &&
        challengerMase * challengerCrps < 0.95 * championMase * championCrps,
    );
    assert.equal(
      verdict.reason,
      "worse than the champion in one of MASE and CRPS by more than the margin of 2 %",
    );
  });

  test("everyone where seasonal-naive is best; without a champion there is nothing to retire", async () => {
    const verdict = refused(await gate({ histories: [historyOf(wave(steps))] }));
    assert.deepEqual([verdict.reason, verdict.retire], ["seasonal-naive is best", false]);
    assert.ok(verdict.numbers.naiveMase < verdict.numbers.challengerMase);
  });

  test("and retires the champion that seasonal-naive beats as well", async () => {
    const histories = [historyOf(wave(steps))];
    const verdict = refused(await gate({ histories, champion: champion({ level: "last" }) }));
    assert.deepEqual([verdict.reason, verdict.retire], ["seasonal-naive is best", true]);
    const good = await gate({ histories, champion: champion({ season, spread: 0.15 }) });
    assert.deepEqual([refused(good).retire, good.reason], [false, "the champion is better"]);
  });

  test("to judge on too few steps", async () => {
    const late = trained(stillModel(), steps - 13);
    const verdict = refused(await gate({ challengers: [late] }));
    assert.deepEqual([verdict.reason, verdict.retire], ["too few steps to judge on: 12, needed 24", false]);
    const nothing = refused(await gate({ challengers: [trained(stillModel(), steps - 1)] }));
    assert.equal(nothing.reason, "too few steps to judge on: 0, needed 24");
    assert.deepEqual(nothing.numbers, { margin: 0.02, points: 0, steps: 0 });
  });

  test("to judge on a tail that is mostly gaps", async () => {
    const filled = new Uint8Array(steps).fill(1, trainedTo + 1, steps - 20);
    const verdict = refused(await gate({ histories: [historyOf(noise(steps), { filled })] }));
    assert.equal(verdict.reason, "too few steps to judge on: 20, needed 24");
  });

  test("to judge without any history", async () => {
    const verdict = refused(await gate({ histories: [], champion: champion() }));
    assert.equal(verdict.reason, "too few steps to judge on: 0, needed 24");
  });

  test("when there is no challenger at all", async () => {
    const verdict = refused(await gate({ challengers: [] }));
    assert.deepEqual([verdict.reason, verdict.challenger], ["there is no challenger", null]);
  });

  test("to be impressed by a flat series: seasonal-naive makes no error there", async () => {
    const histories = [historyOf(new Array(steps).fill(3))];
    const verdict = refused(await gate({ histories, champion: champion() }));
    assert.deepEqual([verdict.reason, verdict.retire], ["seasonal-naive is best", false]);
    assert.ok(Object.values(verdict.numbers).every(Number.isFinite));
    const perfect = refused(await gate({ histories, challengers: [challenger({ spread: 1e-30 })] }));
    assert.ok(Object.values(perfect.numbers).every(Number.isFinite));
  });
});

describe("a sabotaged challenger", () => {
  const good = champion();
  const scrambled = (): ForecastNetModel => {
    const model = stillModel({ key: "challenger" });
    const [member] = model.members;
    const weights = initialWeights(planNet(member.spec), 3).map((weight) => 5 * weight);
    return { ...model, members: [{ ...member, weights }] };
  };

  for (const [what, model] of [
    ["with scrambled weights", scrambled()],
    ["that forecasts far off", stillModel({ bias: 1000 })],
    ["that is astronomically off", stillModel({ bias: 1e30 })],
  ] as const) {
    test(`${what} is refused with its numbers`, async () => {
      const verdict = refused(await gate({ challengers: [trained(model, trainedTo)], champion: good }));
      assert.equal(verdict.reason, "the champion is better");
      assert.ok(verdict.numbers.challengerMase > 2 * verdict.numbers.championMase);
      assert.ok(Object.values(verdict.numbers).every(Number.isFinite));
      assert.equal(verdict.retire, false);
    });
  }

  test("whose weights are no numbers is refused as unfit, with the numbers of the others", async () => {
    const verdict = refused(
      await gate({ challengers: [challenger({ weight: Number.NaN })], champion: good }),
    );
    assert.match(verdict.reason, /^challenger is unfit: model challenger@challenger-1: .*no finite value/);
    assert.ok(verdict.numbers.championMase > 0 && verdict.numbers.naiveMase > 0);
    assert.equal(verdict.numbers.challengerMase, undefined);
    assert.equal(verdict.retire, false);
  });

  test("does not stand in the way of a sound one", async () => {
    const sound = challenger();
    const verdict = await gate({ challengers: [challenger({ weight: Number.NaN }), sound] });
    assert.equal(verdict.outcome, "promoted");
    assert.equal(verdict.challenger, sound);
  });
});

describe("nothing is judged on what was seen", () => {
  test("by the challenger", async () => {
    // From step 200 on the values lie where the challenger is perfect; it has seen all but the last 24 of them.
    const seen = noise(steps).map((value, t) => (t >= 200 && t < steps - 24 ? 50 : value));
    const late = trained(stillModel(), steps - 25);
    const verdict = await gate({ challengers: [late], histories: [historyOf(seen)] });
    assert.equal(verdict.numbers.steps, 24);
    assert.ok(verdict.numbers.challengerMase > 0.5, `MASE ${verdict.numbers.challengerMase}`);
  });

  test("by the champion, which may have been trained later", async () => {
    const later = { ...champion(), trainedToMs: (steps - 31) * hourMs };
    const verdict = await gate({ champion: later });
    assert.equal(verdict.numbers.steps, 30);
    const latest = refused(await gate({ champion: { ...champion(), trainedToMs: (steps - 11) * hourMs } }));
    assert.equal(latest.reason, "too few steps to judge on: 10, needed 24");
  });
});

test("the engine lets go of the challengers, and keeps the champion", async () => {
  const released: ForecastNetModel[] = [];
  const watched: Engine = { ...engine, release: (model) => void released.push(model) };
  const challengers = [challenger(), challenger({ level: "last" })];
  const histories = [historyOf(noise(steps))];
  const request = { challengers, champion: champion(), baseline, histories, countsFolds: true, rules };
  await passGate(createFamilies(watched), request);
  assert.deepEqual(
    released,
    challengers.map(({ model }) => model),
  );
});
