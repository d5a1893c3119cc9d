// What a worker owes for a given input: every forecast to the byte, and the state it must leave behind. The
// product's own parts give it, run in this process over the input in order, with no broker and no faults.

import type { Observation, Placement, SeriesSettings } from "../../../src/domain.ts";
import { coldForecastOf } from "../../../src/forecast/to-forecasts.ts";
import { resolveRetrainRules } from "../../../src/lifecycle/rules.ts";
import { avroCodec } from "../../../src/log/codec/avro.ts";
import { encodeForecast } from "../../../src/log/codec/forecast-codec.ts";
import type { AppConfig } from "../../../src/runtime/config/schema.ts";
import { seriesRules } from "../../../src/runtime/config/series-rules.ts";
import { ScoreStore } from "../../../src/score/score-store.ts";
import { SeriesStore } from "../../../src/window/series-store.ts";
import { blockKey } from "../../../src/window/state-blocks.ts";
import { blocksOf } from "../../rig/store-blocks.ts";

export interface Expectation {
  /** Encoded forecasts by their ids. */
  readonly forecastById: ReadonlyMap<string, Buffer>;
  readonly store: SeriesStore;
}

export function createStore({ series }: AppConfig): SeriesStore {
  return new SeriesStore(seriesRules(series));
}

function createScoreStore({ series, output, calibration, retrain }: AppConfig): ScoreStore {
  const rollingSteps = (settings: SeriesSettings) => resolveRetrainRules(retrain, settings).rollingSteps;
  return new ScoreStore({
    levels: output.levels,
    settingsOf: seriesRules(series),
    calibration,
    rollingSteps,
  });
}

/** Takes each observation as a batch of its own, which decides nothing but the revisions of the state. */
export async function expectFrom(
  observations: Iterable<Observation>,
  config: AppConfig,
): Promise<Expectation> {
  const { levels } = config.output;
  const store = createStore(config);
  const scoreStore = createScoreStore(config);
  const forecastById = new Map<string, Buffer>();
  for (const observation of observations) {
    const series = store.of(observation.seriesId);
    const placements: Placement[] = [];
    const outcome = series.push(observation, placements);
    const live = scoreStore.of(observation.seriesId);
    for (const placement of placements) live.score(placement);
    if ((outcome === "advanced" || outcome === "interval-found") && series.isDue()) {
      series.markForecast();
      const window = series.takeWindow(levels);
      const forecast = coldForecastOf(window, levels);
      if (forecast !== null) forecastById.set(forecast.id, encodeForecast(live.publish(forecast, null)));
    }
    store.takeChanges();
    scoreStore.takeChanges();
  }
  return { forecastById, store };
}

const stateCodec = avroCodec("StateBlock");

/** The store as bytes. Revisions count batches, whose cut is chance: they are left out unless asked for. */
export function snapshotBytes(store: SeriesStore, { withRevisions = false } = {}): Buffer {
  const blocks = blocksOf(store);
  return Buffer.concat(
    blocks.flatMap((block) => [
      Buffer.from(blockKey(block)),
      stateCodec.encode(withRevisions ? block : { ...block, revision: 0 }),
    ]),
  );
}

/** Observed values by series and slot, to count them and to say which differ. */
export function observedSlots(store: SeriesStore): ReadonlyMap<string, number> {
  const valueBySlot = new Map<string, number>();
  for (const seriesId of store.ids()) {
    const grid = store.get(seriesId)?.grid;
    if (grid === null || grid === undefined) continue;
    for (let slot = grid.firstObservedSlot(); slot <= grid.newestSlot; slot++)
      if (grid.has(slot)) valueBySlot.set(`${seriesId}#${slot}`, grid.at(slot, 0));
  }
  return valueBySlot;
}
