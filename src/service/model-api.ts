// HTTP routes for the models of a worker: facts about them, and orders.
//
//   GET  /models                  those of this worker's partitions, worst first; ?phase=drifting, ?limit=20
//   GET  /models/<key>            one of them
//   GET  /models/<key>/export     its record as bytes; needs the token
//   POST /models/<key>/retrain    train it now
//   POST /models/<key>/rollback   restore its predecessor
//   POST /models/<key>/import     serve the exported record in the body; ?gate=skip: without the gate
//
// Keys are percent-encoded. Orders need the token. An accepted order is answered with 202 and its id.

import { randomUUID } from "node:crypto";
import { readExportedModel } from "../log/codec/model-record.ts";
import { storedFamilies } from "../models/families.ts";
import { phases } from "../models/life.ts";
import type { Secret } from "../runtime/config/secret.ts";
import { ForecastnetError } from "../runtime/errors.ts";
import { type Answer, HttpRefusal, json, type Route, type Routes, text, withToken } from "../runtime/http.ts";
import type { ModelInventory, ModelSummary, Order } from "./model-inventory.ts";

/** Most bytes of a record on our topics. */
const mostModelBytes = 16 * 1024 * 1024;

const mostListed = 1_000;

type Load = Pick<Order, "record" | "skipsGate">;

/** `inventory` returns null until the worker has one. */
export function modelPages(inventory: () => ModelInventory | null, token: Secret | null): Routes {
  const open = () => onceStarted(inventory());
  const ordering = (
    kind: Order["kind"],
    loadOf: (...asked: Parameters<Route>) => Promise<Load> = async () => ({ record: null, skipsGate: false }),
  ): Route =>
    withToken(token, async (modelKey, query, request) => {
      const worker = open();
      const load = await loadOf(modelKey, query, request);
      return place(worker, { id: randomUUID(), modelKey, kind, ...load });
    });
  return {
    "GET /models": (_, query) => list(open(), query),
    "GET /models/:key": (modelKey) => {
      const summary = open().show(modelKey);
      return summary === null ? unknown(modelKey) : json(200, withTimes(summary));
    },
    "GET /models/:key/export": withToken(token, (modelKey) => exportRecord(open(), modelKey)),
    "POST /models/:key/retrain": ordering("retrain"),
    "POST /models/:key/rollback": ordering("rollback"),
    "POST /models/:key/import": ordering("import", async (modelKey, query, request) => ({
      skipsGate: skipsGate(query),
      record: recordIn(await request.readBody(mostModelBytes), modelKey),
    })),
  };
}

async function list(inventory: ModelInventory, query: URLSearchParams): Promise<Answer> {
  const asked = query.get("phase");
  const phase = phases.find((name) => name === asked) ?? null;
  if (asked !== null && phase === null)
    return text(400, `phase is "${asked}"; give one of ${phases.join(", ")}`);
  const { total, models } = await inventory.list({ phase, most: limitIn(query, mostListed) });
  return json(200, { total, models: models.map(withTimes) });
}

/** With times in ISO 8601. */
function withTimes({ sinceMs, trainedAtMs, ...facts }: ModelSummary) {
  return { ...facts, since: isoTime(sinceMs), trainedAt: isoTime(trainedAtMs) };
}

export function isoTime(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}

/** The inventory of a worker, once there is one. */
export function onceStarted<T>(inventory: T | null): T {
  if (inventory !== null) return inventory;
  throw new HttpRefusal(text(503, "the worker is still starting: ask again once /readyz says ready"));
}

/** How many rows a list may have, 100 by default. */
export function limitIn(query: URLSearchParams, most: number): number {
  const limit = query.get("limit") ?? "100";
  if (/^[1-9]\d{0,6}$/.test(limit) && Number(limit) <= most) return Number(limit);
  throw new HttpRefusal(text(400, `limit is "${limit}"; give a whole number from 1 to ${most}`));
}

function exportRecord(inventory: ModelInventory, modelKey: string): Answer {
  const record = inventory.exportRecord(modelKey);
  if (record === null) {
    return inventory.show(modelKey) === null
      ? unknown(modelKey)
      : text(404, `"${modelKey}" has no model of its own: there is nothing to export`);
  }
  const fileName = `${modelKey.replace(/[^\w.-]+/g, "_")}.model`;
  return {
    status: 200,
    contentType: "application/octet-stream",
    body: record,
    headers: { "content-disposition": `attachment; filename="${fileName}"` },
  };
}

function skipsGate(query: URLSearchParams): boolean {
  const gate = query.get("gate");
  if (gate === null || gate === "skip") return gate === "skip";
  throw new HttpRefusal(text(400, `gate is "${gate}"; give skip, or leave it out`));
}

function recordIn(body: Buffer, modelKey: string): Buffer {
  if (body.length === 0)
    throw new HttpRefusal(text(400, "the body is empty; send the bytes of an exported model"));
  try {
    return readExportedModel(body, { modelKey, where: "the body" }, storedFamilies).bytes;
  } catch (error) {
    if (error instanceof ForecastnetError) throw new HttpRefusal(text(400, error.message));
    throw error;
  }
}

function place(inventory: ModelInventory, order: Order): Answer {
  const answer = inventory.order(order);
  switch (answer.outcome) {
    case "accepted": {
      const { id, modelKey, kind } = order;
      return json(202, { orderId: id, modelKey, kind, next: "its outcome will be on the events topic" });
    }
    case "unknown-model":
      return unknown(order.modelKey, answer.detail);
    case "refused":
      return text(409, `refused: ${answer.detail}`);
  }
}

function unknown(modelKey: string, detail = `"${modelKey}" is not known here`): Answer {
  const advice =
    "another worker may own the series; `forecastnet models` lists all of them, /models those of this worker";
  return text(404, `${detail}: ${advice}`);
}
