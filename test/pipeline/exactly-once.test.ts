// Whatever happens to the workers, subscribers cannot tell: every observation is counted once, every forecast is written
// once, and the state is the same as after an undisturbed run.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { avroCodec } from "../../src/log/codec/avro.ts";
import type { StateBlockRecord } from "../../src/log/codec/schemas.generated.ts";
import { newestByKey } from "../../src/log/newest-by-key.ts";
import { loadConfig } from "../../src/runtime/config/load.ts";
import { seriesRules } from "../../src/runtime/config/series-rules.ts";
import { createMetrics } from "../../src/runtime/metrics.ts";
import { restoreStore, SeriesStore } from "../../src/window/series-store.ts";
import { blocksOf } from "../rig/store-blocks.ts";
import { Fleet, type Step, type Word } from "./support/fleet.ts";
import { at, raw, type Written } from "./support/readings.ts";

const stateCodec = avroCodec("StateBlock");
// Shared by all runs: prom-client's default metrics watch the process and cannot be removed.
const metrics = createMetrics("test");

/**
 * Three series on two partitions, with gaps, late and duplicate points, and unreadable records. Series b rests at zero;
 * series c has a step of half a day, so that its seasons are decided on the way.
 */
const readings: readonly Written[] = Array.from({ length: 105 }, (_, i) => {
  const seriesId = ["a", "b", "c"][i % 3];
  const stepHours = seriesId === "c" ? 12 : 1;
  const step = Math.floor(i / 3);
  const value = Math.sin(i) * 10;
  if (i % 17 === 5) return raw(seriesId, `no reading ${i}`);
  if (i % 13 === 7) return at(seriesId, (step - 3) * stepHours, i / 7);
  if (i % 19 === 11) return at(seriesId, (step + 2) * stepHours, i / 5);
  return at(seriesId, step * stepHours, seriesId === "b" ? Math.max(0, value) : value);
});
const overrides = [{ match: "c", interval: "PT12H", season: "auto" }];

interface FarEnd {
  readonly forecasts: readonly string[];
  readonly deadLetters: readonly string[];
  /** As a worker would restore it, without the number of times it was stored. */
  readonly state: readonly Omit<StateBlockRecord, "revision">[];
  /** The newest record of each key, byte for byte. */
  readonly storedState: readonly string[];
}

async function outcomeOf(script: readonly Step[], maxBatchRecords: number): Promise<FarEnd> {
  const settings = { "pipeline.maxBatchRecords": maxBatchRecords, "series.overrides": overrides };
  const fleet = new Fleet({ settings, partitions: 2, metrics });
  fleet.start();
  try {
    await fleet.play(...script, "recovery", "settle");
    return await farEndOf(fleet);
  } finally {
    await fleet.close();
  }
}

async function farEndOf(fleet: Fleet): Promise<FarEnd> {
  const hex = (records: Awaited<ReturnType<Fleet["read"]>>) =>
    records.map(({ key, value }) => `${key} ${value?.toString("hex")}`);
  const stored = await fleet.read("forecastnet.state");
  const store = new SeriesStore(seriesRules(loadConfig({ argv: [], env: {} }).series));
  const changelog = (async function* () {
    yield stored;
  })();
  await restoreStore(store, await newestByKey(changelog), stateCodec.decode);
  const newest = new Map(stored.map((record) => [String(record.key), record]));
  return {
    forecasts: hex(await fleet.read("forecasts")),
    deadLetters: hex(await fleet.read("forecastnet.dead-letters")),
    state: blocksOf(store).map(({ revision: _, ...block }) => block),
    storedState: hex([...newest.values()]).sort(),
  };
}

const fault: fc.Arbitrary<readonly Word[]> = fc.oneof(
  { weight: 6, arbitrary: fc.array(fc.constant<Word>("pause"), { minLength: 1, maxLength: 8 }) },
  {
    weight: 12,
    arbitrary: fc.constantFrom<readonly Word[]>(
      ["crash"],
      ["zombie"],
      ["restart"],
      ["join"],
      ["leave"],
      ["rebalance"],
      ["commit lost before"],
      ["commit lost after"],
      ["fenced before"],
      ["fenced after"],
      ["settle"],
    ),
  },
  {
    weight: 2,
    arbitrary: fc
      .array(fc.constantFrom<Word>("pause", "crash", "rebalance", "join"), { maxLength: 3 })
      .map((during): readonly Word[] => ["outage", ...during, "recovery"]),
  },
);

/** How many readings to write, then what happens. */
type Act = readonly [readings: number, words: readonly Word[]];
const plans = fc.array(fc.tuple(fc.integer({ min: 0, max: 20 }), fault), { minLength: 1, maxLength: 14 });

/** All readings in order, with the plan's faults between them. */
function toScript(plan: readonly Act[]): Step[] {
  let written = 0;
  const script = plan.flatMap(([size, words]): Step[] => {
    const burst = readings.slice(written, written + size);
    written += burst.length;
    return [...burst, ...words];
  });
  return [...script, ...readings.slice(written)];
}

test("any sequence of crashes, zombies, rebalances, outages and failed commits gives the same bytes as an undisturbed run", async () => {
  const quiet = await outcomeOf(readings, 1);
  assert.ok(quiet.forecasts.length > 50 && quiet.deadLetters.length >= 5 && quiet.state.length >= 3);
  assert.ok(
    quiet.state.some(({ decidedAt }) => decidedAt > 0) && quiet.state.some((block) => block.isNonNegative),
  );
  await fc.assert(
    fc.asyncProperty(plans, fc.constantFrom(1, 4, 1000), async (plan, maxBatchRecords) => {
      const { storedState, ...farEnd } = await outcomeOf(toScript(plan), maxBatchRecords);
      const { storedState: storedQuietly, ...expected } = quiet;
      assert.deepEqual(farEnd, expected);
      // With one record per batch even the bytes on the state topic are determined.
      if (maxBatchRecords === 1) assert.deepEqual(storedState, storedQuietly);
    }),
    { numRuns: 60, includeErrorInReport: true },
  );
});
