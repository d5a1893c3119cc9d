// The series of a worker: HTTP routes, and the inventory behind them.
//
//   GET  /series               those of this worker's partitions; ?match=pump-*, ?limit=100
//   GET  /series/<id>          one of them
//   POST /series/<id>/forget   delete its state, scores and model
//
// Ids are percent-encoded. The order needs the token. It is answered with 202 and carried out with the next batch.

import { randomUUID } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import type { LiveScores, SeriesFacts, Tier } from "../domain.ts";
import type { PartitionLifecycle } from "../lifecycle/partition-lifecycle.ts";
import { isCohortKey } from "../models/cohort.ts";
import type { Phase } from "../models/life.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Secret } from "../runtime/config/secret.ts";
import { compileGlob } from "../runtime/glob.ts";
import { type Answer, json, type Routes, text, withToken } from "../runtime/http.ts";
import { isoTime, limitIn, onceStarted } from "./model-api.ts";

/** Facts about one series of one partition. */
interface SeriesSummary extends SeriesFacts {
  readonly seriesId: string;
  readonly partition: number;
  readonly phase: Phase;
  /** The tier of its forecasts now. */
  readonly tier: Tier;
  readonly modelVersion: string | null;
  readonly scores: LiveScores | null;
}

export interface SeriesInventory {
  /** The first `limit` whose id matches, in no particular order. */
  list(isMatch: (seriesId: string) => boolean, limit: number): Promise<readonly SeriesSummary[]>;
  show(seriesId: string): SeriesSummary | null;
  /** False when the series is not known to this worker. */
  forget(seriesId: string, orderId: string): boolean;
}

const mostListed = 10_000;
/** Series visited between two turns of the event loop. */
const seriesPerTurn = 1_000;

/** `inventory` returns null until the worker has one. */
export function seriesPages(inventory: () => SeriesInventory | null, token: Secret | null): Routes {
  const open = () => onceStarted(inventory());
  return {
    "GET /series": (_, query) => list(open(), query),
    "GET /series/:id": (seriesId) => {
      const summary = open().show(seriesId);
      return summary === null ? unknown(seriesId) : json(200, withTimes(summary));
    },
    "POST /series/:id/forget": withToken(token, (seriesId) => {
      const orderId = randomUUID();
      if (!open().forget(seriesId, orderId)) return unknown(seriesId);
      return json(202, {
        orderId,
        seriesId,
        next: "a FORGOTTEN event on the events topic will confirm it",
      });
    }),
  };
}

async function list(inventory: SeriesInventory, query: URLSearchParams): Promise<Answer> {
  const limit = limitIn(query, mostListed);
  const match = query.get("match");
  if (match === "") return text(400, "match is empty; give a pattern such as pump-*, or leave it out");
  const pattern = match === null ? null : compileGlob(match);
  const found = await inventory.list((seriesId) => pattern?.test(seriesId) ?? true, limit + 1);
  const series = found.slice(0, limit).map(withTimes);
  return json(200, { series, isComplete: found.length <= limit });
}

/** With times in ISO 8601. */
function withTimes({ lastTimeMs, seenMs, endsAtMs, ...facts }: SeriesSummary) {
  return { ...facts, lastTime: isoTime(lastTimeMs), seenAt: isoTime(seenMs), forgottenAt: isoTime(endsAtMs) };
}

function unknown(seriesId: string): Answer {
  const advice =
    "another worker may own it; `forecastnet series` lists all of them, /series those of this worker";
  return text(404, `"${seriesId}" is not known here: ${advice}`);
}

/** `lifecycles` returns those of the partitions that the worker owns now. */
export function createSeriesInventory(
  lifecycles: () => readonly PartitionLifecycle[],
  clock: Clock,
): SeriesInventory {
  return {
    list: async (isMatch, limit) => {
      const found: SeriesSummary[] = [];
      let looked = 0;
      for (const lifecycle of lifecycles()) {
        for (const seriesId of lifecycle.view.series.ids()) {
          if (found.length >= limit) return found;
          if (++looked % seriesPerTurn === 0) await setImmediate();
          const summary = isMatch(seriesId) ? summarize(lifecycle, seriesId) : null;
          if (summary !== null) found.push(summary);
        }
      }
      return found;
    },
    show: (seriesId) => {
      for (const lifecycle of lifecycles()) {
        const summary = summarize(lifecycle, seriesId);
        if (summary !== null) return summary;
      }
      return null;
    },
    forget: (seriesId, orderId) => {
      // When producers change the partition of a series, its old state stays behind: both are deleted.
      const knowing = isCohortKey(seriesId)
        ? []
        : lifecycles().filter((lifecycle) => isKnown(lifecycle, seriesId));
      const order = {
        id: orderId,
        modelKey: seriesId,
        record: null,
        skipsGate: false,
        askedAt: clock.nowMs(),
      };
      for (const lifecycle of knowing) lifecycle.accept({ ...order, kind: "FORGET" });
      return knowing.length > 0;
    },
  };
}

function isKnown({ view }: PartitionLifecycle, seriesId: string): boolean {
  const { series, scoreStore, models } = view;
  const isPresent = series.factsOf(seriesId) !== null || scoreStore.get(seriesId) !== undefined;
  return isPresent || models.get(seriesId) !== undefined;
}

function summarize({ view }: PartitionLifecycle, seriesId: string): SeriesSummary | null {
  const facts = view.series.factsOf(seriesId);
  if (facts === null) return null;
  const live = view.scoreStore.get(seriesId);
  const serving = view.models.of(seriesId)?.facts;
  return {
    seriesId,
    partition: view.partition,
    ...facts,
    phase: live?.life.phase ?? "cold",
    tier: serving === undefined ? "cold" : isCohortKey(serving.modelKey) ? "cohort" : "model",
    modelVersion: serving?.version ?? null,
    scores: live?.scores() ?? null,
  };
}
