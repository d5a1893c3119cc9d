// Shared by the tests of replays: a year and more of one hourly series, and digests of what a replay has written.

import { createHash } from "node:crypto";
import type { TestContext } from "node:test";
import type { Observation } from "../../../src/domain.ts";
import { Replay, type ReplayOptions } from "../../../src/replay/replay.ts";
import { loadConfig } from "../../../src/runtime/config/load.ts";
import type { AppConfig } from "../../../src/runtime/config/schema.ts";
import { createRandom } from "../../../src/runtime/random.ts";

export const hourMs = 3_600_000;
export const startMs = Date.UTC(2023, 0, 1);

/** Hourly values with a daily and a weekly season. */
export function* hourly(seriesId: string, hours: number, first = 0): Generator<Observation> {
  const random = createRandom(7);
  for (let hour = 0; hour < first + hours; hour++) {
    const daily = 4 * Math.sin((2 * Math.PI * hour) / 24);
    const weekly = 2 * Math.sin((2 * Math.PI * hour) / 168);
    const value = 10 + daily + weekly + random.normal();
    if (hour >= first) yield { seriesId, timeMs: startMs + hour * hourMs, values: [value] };
  }
}

export function configOf(...flags: readonly string[]): AppConfig {
  const argv = ["--series.interval=PT1H", "--series.horizon=24", "--retrain.effort=quick", ...flags];
  return loadConfig({ argv, env: {} });
}

export async function openReplay(
  t: TestContext,
  config: AppConfig,
  options: Partial<ReplayOptions> = {},
): Promise<Replay> {
  const replay = await Replay.open({ config, startMs, ...options });
  t.after(() => replay.close());
  return replay;
}

/** What a replay has written, topic by topic: the number of records, and a digest of all their bytes. */
export async function digests(
  replay: Replay,
  { topics }: AppConfig,
): Promise<Readonly<Record<string, readonly [number, string]>>> {
  const { forecasts, events, models, state, deadLetters, training } = topics;
  const found: Record<string, readonly [number, string]> = {};
  for (const topic of [forecasts, events, models, state, deadLetters, training]) {
    const records = await replay.read(topic);
    const hash = createHash("sha256");
    for (const { key, value, offset, timestampMs } of records) {
      hash.update(`${key} ${value?.length} ${offset} ${timestampMs} `);
      if (value !== null) hash.update(value);
    }
    found[topic] = [records.length, hash.digest("hex")];
  }
  return found;
}
