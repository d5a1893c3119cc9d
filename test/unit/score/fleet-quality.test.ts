import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { newLife, phases } from "../../../src/models/life.ts";
import { restoreScores, type ScoreStore } from "../../../src/score/score-store.ts";
import type { ObservedPast } from "../../../src/score/series-scores.ts";
import { recount } from "../../rig/quality-recount.ts";
import { forecastOf, scoreStoreOf, servingOf, windowAt } from "./fixtures.ts";

const ids = ["a", "b", "c", "d", "e"];
const number = fc.double({ min: -1e12, max: 1e12, noNaN: true });
const step = fc.oneof(
  {
    weight: 20,
    arbitrary: fc.record({
      kind: fc.constant("step" as const),
      id: fc.constantFrom(...ids),
      value: fc.oneof(fc.integer({ min: -9, max: 9 }), number),
      width: fc.nat(9),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant("amend" as const), id: fc.constantFrom(...ids), value: number }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("promote" as const), id: fc.constantFrom(...ids) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("forget" as const), id: fc.constantFrom(...ids) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("phase" as const),
      id: fc.constantFrom(...ids),
      phase: fc.constantFrom(...phases),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("commit" as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("take over" as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** A partition that lives through the steps, with its state topic. */
class Partition {
  store = scoreStoreOf();
  readonly #topic = new Map<string, Buffer>();
  /** By series, from slot 1 on. */
  readonly #valuesById = new Map<string, number[]>();
  readonly #versionById = new Map<string, number>();

  async take(step: Step): Promise<void> {
    if (step.kind === "commit") return this.commit();
    if (step.kind === "take over") {
      this.commit();
      this.store = scoreStoreOf();
      await restoreScores(this.store, new Map(this.#topic), {
        where: String,
        isRestarted: () => false,
        pastOf: (id) => this.#pastOf(id),
      });
      return;
    }
    const { id } = step;
    if (step.kind === "phase") this.store.of(id).life = { ...newLife, phase: step.phase };
    else if (step.kind === "forget") for (const key of this.store.forget(id)) this.#topic.delete(key);
    else if (step.kind === "promote") this.#versionById.set(id, (this.#versionById.get(id) ?? 0) + 1);
    else if (step.kind === "step") this.#observe(id, step.value, step.width);
    else this.#amend(id, step.value);
  }

  commit(): void {
    for (const { key, value } of this.store.takeChanges()) {
      if (value === null) this.#topic.delete(key);
      else this.#topic.set(key, value);
    }
  }

  #observe(id: string, value: number, width: number): void {
    const values = this.#valuesById.get(id) ?? [];
    values.push(value);
    this.#valuesById.set(id, values);
    const slot = values.length;
    const version = `v${this.#versionById.get(id) ?? 0}`;
    this.store.of(id).score({ seriesId: id, slot, timeMs: slot, values: [value], replaced: null });
    const window = windowAt(slot, [value], { seriesId: id });
    const quantiles = [value - width, value, value + width];
    this.store.of(id).publish(forecastOf(window, quantiles, version), servingOf(version, [width + 1]));
  }

  #amend(id: string, value: number): void {
    const values = this.#valuesById.get(id);
    if (values === undefined) return;
    const slot = values.length;
    const replaced = [values[slot - 1] as number];
    this.store.of(id).score({ seriesId: id, slot, timeMs: slot, values: [value], replaced });
    values[slot - 1] = value;
  }

  #pastOf(id: string): ObservedPast | null {
    const values = this.#valuesById.get(id);
    if (values === undefined) return null;
    return { newestSlot: values.length, valuesAt: (slot) => values.slice(slot - 1, slot) };
  }
}

function checkCounts(store: ScoreStore): void {
  const { quality, seriesByPhase } = store;
  const expected = recount([store], 3);
  assert.deepEqual([...quality.mase.counts], expected.mase);
  assert.deepEqual([...quality.scaledCrps.counts], expected.scaledCrps);
  if (expected.coverage.length > 0)
    assert.deepEqual(
      quality.coverage.map(({ counts }) => [...counts.counts]),
      expected.coverage,
    );
  assert.deepEqual(
    quality.worst(3).map(({ mase }) => mase),
    expected.worst,
  );
  for (const { seriesId, mase } of quality.worst(3)) assert.equal(store.get(seriesId)?.mase, mase);
  assert.deepEqual(seriesByPhase, expected.phases);
  for (const [sum, from] of [
    [quality.mase.sum, expected.maseSum],
    [quality.scaledCrps.sum, expected.scaledCrpsSum],
  ])
    assert.ok(Math.abs(sum - from) <= 1e-12 * Math.max(1, from), `the sum is ${sum}, not ${from}`);
}

describe("the counts of a fleet's quality", () => {
  test("equal a full recount after any steps, promotions, amendments, forgotten series and takeovers", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 120 }), async (steps) => {
        const partition = new Partition();
        for (const [i, one] of steps.entries()) {
          await partition.take(one);
          if (one.kind !== "commit" && one.kind !== "take over" && i % 7 > 0) continue;
          partition.commit();
          checkCounts(partition.store);
        }
        partition.commit();
        checkCounts(partition.store);
      }),
      { numRuns: 150 },
    );
  });

  test("are those of the restored scores before the first batch", async () => {
    const partition = new Partition();
    for (let i = 0; i < 9; i++) await partition.take({ kind: "step", id: "a", value: i, width: 1 });
    await partition.take({ kind: "phase", id: "b", phase: "drifting" });
    await partition.take({ kind: "take over" });
    assert.equal(partition.store.quality.worst(1)[0]?.seriesId, "a");
    checkCounts(partition.store);
  });

  test("name the series that the configuration names, while they are counted", () => {
    const store = scoreStoreOf({ isNamed: (seriesId) => seriesId !== "b" });
    for (const id of ["a", "b", "c"]) {
      for (let slot = 0; slot < 6; slot++) {
        store.of(id).score({ seriesId: id, slot, timeMs: slot, values: [2], replaced: null });
        store.of(id).publish(forecastOf(windowAt(slot, [0], { seriesId: id }), [-1, 0, 1]), servingOf("v1"));
      }
    }
    assert.deepEqual(store.quality.named(5), []);
    store.takeChanges();
    const named = () => store.quality.named(5).map(({ seriesId, mase }) => [seriesId, mase]);
    assert.deepEqual(named(), [
      ["a", 2],
      ["c", 2],
    ]);
    assert.equal(store.quality.named(1).length, 1);
    store.forget("a");
    assert.deepEqual(named(), [["c", 2]]);
  });
});
