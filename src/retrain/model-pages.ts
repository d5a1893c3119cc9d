// The models of a worker as HTTP pages: what they are, and orders about them.
//
//   GET  /models                  those of this worker's partitions, worst first; ?phase=drifting, ?limit=20
//   GET  /models/<key>            one of them
//   GET  /models/<key>/export     its record, as bytes
//   POST /models/<key>/retrain    train it now
//   POST /models/<key>/rollback   let its predecessor serve again
//   POST /models/<key>/import     let the exported record in the body serve; ?gate=skip: whatever the gate says
//
// A key is percent-encoded. Orders need the token; one that is taken is answered with 202 and its id.

import { randomUUID } from "node:crypto";
import type { Secret } from "../runtime/config/secret.ts";
import { ForecastnetError } from "../runtime/errors.ts";
import { type Answer, json, Refusal, type Route, type Routes, text, withToken } from "../runtime/http.ts";
import { bringModel } from "./brought-model.ts";
import { phases } from "./life.ts";
import type { ModelDesk, ModelSummary, Order } from "./model-desk.ts";

/** As much as a record of our topics may hold. */
const mostModelBytes = 16 * 1024 * 1024;

type Load = Pick<Order, "record" | "skipsGate">;

/** `desk` gives null as long as the worker has none. */
export function modelPages(desk: () => ModelDesk | null, token: Secret | null): Routes {
  const open = (): ModelDesk => {
    const found = desk();
    if (found !== null) return found;
    throw new Refusal(text(503, "the worker has no models at hand yet: ask again once /readyz says ready"));
  };
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
    "GET /models/:key/export": (modelKey) => exportRecord(open(), modelKey),
    "POST /models/:key/retrain": ordering("retrain"),
    "POST /models/:key/rollback": ordering("rollback"),
    "POST /models/:key/import": ordering("import", async (modelKey, query, request) => ({
      skipsGate: skipsGate(query),
      record: recordIn(await request.readBody(mostModelBytes), modelKey),
    })),
  };
}

function list(desk: ModelDesk, query: URLSearchParams): Answer {
  const phase = query.get("phase");
  if (phase !== null && !(phases as readonly string[]).includes(phase)) {
    return text(400, `phase is "${phase}"; give one of ${phases.join(", ")}`);
  }
  const limit = query.get("limit") ?? "1000000";
  if (!/^[1-9]\d{0,6}$/.test(limit)) return text(400, `limit is "${limit}"; give a whole number from 1 on`);
  const found = desk.list().filter((summary) => phase === null || summary.phase === phase);
  return json(200, { total: found.length, models: found.slice(0, Number(limit)).map(withTimes) });
}

/** With times as people and programs of other languages read them. */
function withTimes({ sinceMs, trainedAtMs, ...facts }: ModelSummary) {
  return { ...facts, since: isoTime(sinceMs), trainedAt: trainedAtMs === null ? null : isoTime(trainedAtMs) };
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

async function exportRecord(desk: ModelDesk, modelKey: string): Promise<Answer> {
  const record = await desk.exportRecord(modelKey);
  if (record === null) {
    return desk.show(modelKey) === null
      ? unknown(modelKey)
      : text(404, `"${modelKey}" has no model of its own: there is nothing to export`);
  }
  const fileName = `${modelKey.replace(/[^\w.-]+/g, "_")}.model`;
  return {
    ...{ status: 200, contentType: "application/octet-stream", body: record },
    headers: { "content-disposition": `attachment; filename="${fileName}"` },
  };
}

function skipsGate(query: URLSearchParams): boolean {
  const gate = query.get("gate");
  if (gate === null || gate === "skip") return gate === "skip";
  throw new Refusal(text(400, `gate is "${gate}"; give skip, or leave it out`));
}

function recordIn(body: Buffer, modelKey: string): Buffer {
  if (body.length === 0)
    throw new Refusal(text(400, "the body is empty; send the bytes of an exported model"));
  try {
    return bringModel(body, modelKey, "the body").bytes;
  } catch (error) {
    if (error instanceof ForecastnetError) throw new Refusal(text(400, error.message));
    throw error;
  }
}

function place(desk: ModelDesk, order: Order): Answer {
  const answer = desk.order(order);
  switch (answer.outcome) {
    case "accepted": {
      const { id, modelKey, kind } = order;
      return json(202, { orderId: id, modelKey, kind, next: "its outcome is told on the events topic" });
    }
    case "unknown-model":
      return unknown(order.modelKey, answer.detail);
    case "refused":
      return text(409, `refused: ${answer.detail}`);
  }
}

function unknown(modelKey: string, detail = `"${modelKey}" is not known here`): Answer {
  const advice =
    "another worker may own the series; `forecastnet models` asks them all, /models lists those of this one";
  return text(404, `${detail}: ${advice}`);
}
