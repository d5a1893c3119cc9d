// Balances the books of retraining: one answer to every request, one model to every promotion, one forecast to every
// step, each by the model that served.

import assert from "node:assert/strict";
import { decodeForecast } from "../../../src/log/codec/forecast-codec.ts";
import type { ForecastRecord, ModelEventRecord } from "../../../src/log/codec/schemas.generated.ts";
import { expectFrom } from "./expectation.ts";
import { type ModelTopics, readTopic } from "./model-story.ts";
import type { Sensors } from "./sensors.ts";
import type { Story } from "./story.ts";

const answers: readonly ModelEventRecord["kind"][] = ["PROMOTED", "REFUSED", "FAILED", "RETIRED"];

/** By trainers: every request has one outcome, and every outcome led to one decision. */
export function assertAnsweredOnce({ requests, outcomes, events, waiting }: ModelTopics): void {
  const ids = requests.map(({ id }) => id).sort();
  assert.equal(new Set(ids).size, ids.length, "no request is written twice");
  assert.deepEqual(outcomes.map(({ requestId }) => requestId).sort(), ids, "each request has one outcome");
  assert.deepEqual(waiting, [], "no outcome is left to be judged");
  assert.equal(new Set(events.map(({ id }) => id)).size, events.length, "no event is written twice");
  for (const [modelKey, told] of byModel(events)) {
    const asked = told.filter(({ kind }) => kind === "REQUESTED" || answers.includes(kind));
    const kinds = asked.map(({ kind }) => kind);
    const isTurnByTurn = kinds.every((kind, at) => (kind === "REQUESTED") === (at % 2 === 0));
    assert.ok(
      isTurnByTurn && kinds.length % 2 === 0,
      `${modelKey} is requested and answered in turn: ${kinds.join(", ")}`,
    );
    const asks = requests.filter((request) => request.modelKey === modelKey);
    assert.equal(
      asks.length,
      kinds.length / 2,
      `the topic and the events have the same requests for ${modelKey}`,
    );
  }
}

/** Every promotion put one record into service, no other record is there, and no request led to two. */
export function assertOneModelEach({ models, events }: ModelTopics): void {
  const promoted = events.filter(({ kind }) => kind === "PROMOTED");
  const named = (modelKey: string, version: string | null) => `${modelKey}@${version}`;
  assert.deepEqual(
    models.map(({ modelKey, version }) => named(modelKey, version)).sort(),
    promoted.map(({ modelKey, toVersion }) => named(modelKey, toVersion)).sort(),
  );
  const requestIds = models.map(({ requestId }) => requestId);
  assert.equal(new Set(requestIds).size, models.length, "no request led to two models");
}

/**
 * None lost, none doubled, in order; and each by seasonal-naive or by a version that was put into service, which none
 * but a later decision replaced. Returns them by series.
 */
export async function countForecasts(
  story: Story,
  sensors: Sensors,
  { events }: Pick<ModelTopics, "events">,
): Promise<ReadonlyMap<string, readonly ForecastRecord[]>> {
  const { forecastById } = await expectFrom(sensors.sent, story.config);
  const places = (forecasts: Iterable<ForecastRecord>) =>
    [...forecasts].map(({ seriesId, origin }) => `${seriesId}@${origin}`);
  const received = (await readTopic(story.log, story.config.topics.forecasts)).map(({ value }) =>
    decodeForecast(value as Buffer),
  );
  const owed = places([...forecastById.values()].map((value) => decodeForecast(value)));
  assert.deepEqual(places(received).sort(), owed.sort(), "each series has one forecast at each step");
  const bySeries = byKey(received, ({ seriesId }) => seriesId);
  for (const [seriesId, forecasts] of bySeries) {
    const origins = forecasts.map(({ origin }) => origin);
    assert.deepEqual(
      origins,
      origins.toSorted((a, b) => a - b),
      `forecasts of ${seriesId} are in order`,
    );
    assert.deepEqual(
      reigns(forecasts),
      ruled(events, seriesId),
      `the versions that served ${seriesId}, in order`,
    );
  }
  return bySeries;
}

/** "cold" stands for every method without a model. */
function reigns(forecasts: readonly ForecastRecord[]): string[] {
  const served = forecasts.map(({ tier, modelVersion }) => (tier === "COLD" ? "cold" : modelVersion));
  return served.filter((version, at) => version !== served[at - 1]);
}

function ruled(events: readonly ModelEventRecord[], seriesId: string): string[] {
  const changes = events.filter(
    ({ modelKey, kind }) =>
      modelKey === seriesId && (kind === "PROMOTED" || kind === "ROLLED_BACK" || kind === "RETIRED"),
  );
  return ["cold", ...changes.map(({ toVersion }) => toVersion ?? "cold")];
}

function byModel(events: readonly ModelEventRecord[]): ReadonlyMap<string, readonly ModelEventRecord[]> {
  return byKey(events, ({ modelKey }) => modelKey);
}

function byKey<T>(items: readonly T[], keyOf: (item: T) => string): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
}
