// What the bench trains on: series with a season, a slow swing and noise, as long as a worker keeps them by default, and
// tasks as a worker makes them.

import { resolveRetrainRules } from "../../src/lifecycle/rules.ts";
import type { Effort } from "../../src/models/family.ts";
import { loadConfig } from "../../src/runtime/config/load.ts";
import type { AppConfig } from "../../src/runtime/config/schema.ts";
import { seriesRules } from "../../src/runtime/config/series-rules.ts";
import { createRandom } from "../../src/runtime/random.ts";
import type { TrainingTask } from "../../src/training/training-task.ts";

/** The defaults, but for horizon, season and family. */
export function settingsFor(horizon: number, family = "ensemble"): AppConfig {
  const argv = [`--series.horizon=${horizon}`, `--series.season=${horizon}`, `--series.family=${family}`];
  return loadConfig({ argv, env: {} });
}

export function taskOf(config: AppConfig, effort: Effort, number: number): TrainingTask {
  const seriesId = `sensor-${number}`;
  const series = seriesRules(config.series)(seriesId);
  const { family, horizon, season, form, history } = series;
  return {
    id: `${seriesId}/${effort}`,
    modelKey: seriesId,
    reason: "age",
    plan: {
      ...{ family, horizon, season, form, effort },
      members: config.retrain.members,
      recentFromMs: null,
      holdBack: resolveRetrainRules(config.retrain, series).tailSteps,
    },
    histories: [
      {
        ...{ seriesId, interval: "PT1H", firstTimeMs: 0, channels: 1, filled: null },
        values: readingsOf(number, season, history),
      },
    ],
    requestedAtMs: 0,
  };
}

export function readingsOf(number: number, season: number, steps: number): Float64Array {
  const random = createRandom(number + 1);
  const wave = (step: number, period: number) => Math.sin((2 * Math.PI * (step + number)) / period);
  return Float64Array.from({ length: steps }, (_, step) => {
    return 50 + 10 * wave(step, season) + 6 * wave(step, 7 * season) + 2 * random.normal();
  });
}
