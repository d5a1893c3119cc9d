import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type {
  Batch,
  Forecast,
  ForecastCollector,
  Observation,
  Outgoing,
  SeriesSettings,
  Window,
} from "../../../src/domain.ts";
import { coldForecastOf, toForecasts } from "../../../src/forecast/to-forecasts.ts";
import { encodeForecast } from "../../../src/log/codec/forecast-codec.ts";
import { writeState } from "../../../src/score/score-records.ts";
import { restoreScores, type ScoreStore } from "../../../src/score/score-store.ts";
import { toScored } from "../../../src/score/to-scored.ts";
import { SeriesStore } from "../../../src/window/series-store.ts";
import { toWindows } from "../../../src/window/to-windows.ts";
import { untimed } from "../../rig/untimed.ts";
import { forecastOf, placementAt, scoreStoreOf, servingOf, settings, windowAt } from "./fixtures.ts";

const HOUR = 3_600_000;
/** Keeps what `take` makes of each forecast, whose arrays are used again for the next one. */
function collectorOf<T>(take: (forecast: Forecast) => T): () => ForecastCollector<T> {
  return () => {
    const taken: T[] = [];
    return { add: (forecast) => taken.push(take(forecast)), end: () => taken };
  };
}

const levels = [0.1, 0.3, 0.7, 0.9];

const liveSettings: SeriesSettings = { ...settings, season: 2, history: 60 };
const liveStore = () =>
  scoreStoreOf({ levels, settingsOf: () => liveSettings, calibration: { enabled: true, publishRaw: true } });

/** Series b has a model, which needs more than three steps: on shorter windows it falls back to the cold tier. */
const forecaster = {
  forecast: (windows: readonly Window[]) =>
    windows.map((window) => {
      const cold = coldForecastOf(window, levels);
      const isServed = window.seriesId === "b" && window.values.length > 3 * window.channels;
      return cold === null || !isServed ? cold : { ...cold, modelVersion: "v1", tier: "model" as const };
    }),
};

/** The window, forecast and score stages one after the other, and the live state on the topic. */
class Line {
  readonly store = new SeriesStore(() => liveSettings);
  scoreStore: ScoreStore = liveStore();
  readonly valueByKey = new Map<string, Buffer>();
  readonly published: string[] = [];
  scoredSteps = 0;

  async run(items: readonly Observation[]): Promise<void> {
    async function* one(): AsyncGenerator<Batch<Observation>> {
      yield {
        partition: 0,
        items,
        records: [],
        placements: [],
        arrivedMs: 0,
        eventMs: 0,
        isBehind: false,
        isFull: false,
        settle: async () => {},
      };
    }
    const windows = toWindows(one(), this.store, {
      levels,
      modelStepsOf: () => 0,
      intervalFound: () => {},
      findingsChanged: () => {},
      metrics: { ...untimed, observations: () => {}, skippedOrigins: () => {}, resetSeries: () => {} },
      encodeBlock: () => ({ topic: "blocks", partition: 0, key: null, value: null }),
      reject: () => ({ topic: "dead", partition: 0, key: null, value: null }),
    });
    const forecasts = toForecasts(windows, forecaster, { ...untimed, forecasts: () => {} });
    const scored = toScored(
      forecasts,
      this.scoreStore,
      {
        stateTopic: "state",
        servingOf: (seriesId) => (seriesId === "b" ? servingOf("v1", [2]) : null),
        metrics: {
          ...untimed,
          scored: (steps) => {
            this.scoredSteps += steps;
          },
          dropped: () => {},
        },
      },
      collectorOf((forecast) => encodeForecast(forecast).toString("hex")),
    );
    for await (const batch of scored) {
      this.published.push(...batch.items);
      this.#store(batch.records);
    }
  }

  /** The worker dies, and another one restores what it committed. */
  async restart(): Promise<void> {
    this.scoreStore = liveStore();
    await restoreScores(this.scoreStore, new Map(this.valueByKey), {
      where: (key) => key,
      isRestarted: () => false,
      pastOf: (seriesId) => this.store.get(seriesId)?.grid ?? null,
    });
  }

  get stored(): readonly string[] {
    return [...this.valueByKey].map(([key, value]) => `${key} ${value.toString("hex")}`).sort();
  }

  /** As it would be stored now. */
  get live(): readonly string[] {
    return [...this.scoreStore].map(({ seriesId, period, life }) =>
      writeState(seriesId, period, life).toString("hex"),
    );
  }

  #store(records: readonly Outgoing[]): void {
    for (const { topic, key, value } of records) {
      if (topic !== "state" || key === null) continue;
      if (value === null) this.valueByKey.delete(key.toString());
      else this.valueByKey.set(key.toString(), value);
    }
  }
}

/** Mostly the next hour; sometimes late, repeated, or after a gap that may be too long to fill. */
const arrivals = fc
  .array(
    fc.record({
      seriesId: fc.constantFrom("a", "b", "c"),
      stride: fc.oneof(
        { weight: 30, arbitrary: fc.constant(1) },
        { weight: 3, arbitrary: fc.integer({ min: -8, max: 0 }) },
        { weight: 2, arbitrary: fc.integer({ min: 2, max: 7 }) },
      ),
      value: fc.integer({ min: -50, max: 50 }),
    }),
    { minLength: 1, maxLength: 150, size: "max" },
  )
  .map((moves) => {
    const newestBySeries = new Map<string, number>();
    return moves.map(({ seriesId, stride, value }): Observation => {
      const hour = (newestBySeries.get(seriesId) ?? 0) + stride;
      newestBySeries.set(seriesId, Math.max(hour, newestBySeries.get(seriesId) ?? 0));
      const values = seriesId === "c" ? [value, -2 * value] : [value];
      return { seriesId, timeMs: hour * HOUR, values };
    });
  });

function cut<T>(items: readonly T[], sizes: readonly number[]): T[][] {
  const batches: T[][] = [];
  for (let from = 0, i = 0; from < items.length; i++) {
    const size = Math.max(1, sizes[i % sizes.length]);
    batches.push(items.slice(from, from + size));
    from += size;
  }
  return batches;
}

const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 6 });

describe("the score stage", () => {
  test("forecasts and live state are the same bytes however the input is divided into batches", async () => {
    let scored = 0;
    await fc.assert(
      fc.asyncProperty(arrivals, sizes, async (observations, cuts) => {
        const whole = new Line();
        const inParts = new Line();
        await whole.run(observations);
        for (const batch of cut(observations, cuts)) await inParts.run(batch);
        assert.deepEqual(inParts.published, whole.published);
        assert.deepEqual(inParts.live, whole.live);
        assert.equal(inParts.scoredSteps, whole.scoredSteps);
        scored += whole.scoredSteps;
      }),
      { numRuns: 60 },
    );
    assert.ok(scored > 1000, `the inputs scored only ${scored} steps`);
  });

  test("a restart between any two batches changes no byte of forecasts and state", async () => {
    await fc.assert(
      fc.asyncProperty(arrivals, sizes, fc.nat(), async (observations, cuts, at) => {
        const batches = cut(observations, cuts);
        const [steady, restarted] = [new Line(), new Line()];
        for (const [i, batch] of batches.entries()) {
          await steady.run(batch);
          if (i === at % batches.length) await restarted.restart();
          await restarted.run(batch);
        }
        assert.deepEqual(restarted.published, steady.published);
        assert.deepEqual(restarted.live, steady.live);
        assert.deepEqual(restarted.stored, steady.stored);
      }),
      { numRuns: 60 },
    );
  });

  test("a forecast is scored with the observations before its window and not with those after it", async () => {
    const scoreStore = scoreStoreOf();
    const first = windowAt(0);
    const second = { ...windowAt(1), placedBefore: 1 };
    const batch = {
      partition: 4,
      records: [],
      arrivedMs: 0,
      eventMs: 0,
      isBehind: false,
      isFull: false,
      placements: [placementAt(1, [3]), placementAt(2, [100])],
      items: [first, second].map((window) => forecastOf(window, [0, 1, 2])),
      settle: async () => {},
    };
    async function* batches() {
      yield batch;
    }
    let steps = 0;
    const parts = {
      stateTopic: "state",
      servingOf: () => servingOf("v1"),
      metrics: {
        ...untimed,
        scored: (n: number) => {
          steps += n;
        },
        dropped: () => {},
      },
    };
    const results: Batch<number | null>[] = [];
    const maseOf = collectorOf(({ scores }) => scores?.mase ?? null);
    for await (const result of toScored(batches(), scoreStore, parts, maseOf)) results.push(result);
    const [{ items, records, settle }] = results;
    assert.deepEqual(items, [null, 2]);
    assert.equal(steps, 3);
    assert.equal(settle, batch.settle);
    assert.deepEqual(
      records.map(({ topic, partition, key }) => `${topic} ${partition} ${key}`),
      ["state 4 s#f0", "state 4 s#f1", "state 4 s#live"],
    );
  });

  test("a batch without windows is scored and passed on", async () => {
    const line = new Line();
    await line.run(
      [0, 1, 2, 3, 4].map((hour) => ({ seriesId: "a", timeMs: hour * HOUR, values: [hour % 3] })),
    );
    const before = line.scoredSteps;
    await line.run([{ seriesId: "a", timeMs: 4 * HOUR, values: [9] }]);
    assert.ok(line.scoredSteps > before);
    await line.run([]);
  });
});
