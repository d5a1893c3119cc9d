import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { avroCodec } from "../../../src/log/codec/avro.ts";
import { Secret } from "../../../src/runtime/config/secret.ts";
import { serveHttp } from "../../../src/runtime/http.ts";
import { modelPages } from "../../../src/service/model-api.ts";
import type {
  ListQuery,
  ModelInventory,
  ModelList,
  ModelSummary,
  Order,
  OrderAnswer,
} from "../../../src/service/model-inventory.ts";
import { modelRecord } from "../../rig/model-record.ts";
import { randomModel } from "../../rig/random-model.ts";

const codec = avroCodec("ModelRecord");
const bearer = { authorization: "Bearer secret-7" };

function summary(modelKey: string, changes: Partial<ModelSummary> = {}): ModelSummary {
  return {
    ...{
      modelKey,
      kind: "series",
      partition: 1,
      phase: "champion",
      sinceMs: 0,
      version: "v1",
      servedBy: modelKey,
    },
    ...{ scores: null, validationMase: 0.5, trainedAtMs: 1_000, isOnProbation: false, verdict: null },
    ...changes,
  };
}

class ScriptedDesk implements ModelInventory {
  readonly orders: Order[] = [];
  answer: OrderAnswer = { outcome: "accepted" };
  readonly summaries = [
    summary("a/b ü", { phase: "drifting" }),
    summary("c"),
    summary("d", { trainedAtMs: null }),
  ];
  readonly record = codec.encode({
    ...modelRecord(randomModel({ key: "c" })),
    requestId: null,
    previous: null,
  });

  readonly queries: ListQuery[] = [];

  async list(query: ListQuery): Promise<ModelList> {
    this.queries.push(query);
    const found = this.summaries.filter(({ phase }) => query.phase === null || phase === query.phase);
    return { total: found.length, models: found.slice(0, query.most) };
  }

  show(modelKey: string): ModelSummary | null {
    return this.summaries.find((found) => found.modelKey === modelKey) ?? null;
  }

  order(order: Order): OrderAnswer {
    this.orders.push(order);
    return this.answer;
  }

  exportRecord(modelKey: string): Buffer | null {
    return modelKey === "c" ? this.record : null;
  }
}

async function open(
  t: TestContext,
  inventory: ModelInventory | null,
  token: Secret | null = new Secret(() => "secret-7"),
) {
  const server = await serveHttp(
    modelPages(() => inventory, token),
    "127.0.0.1",
    0,
  );
  t.after(() => server.close());
  return (path: string, init?: RequestInit) => fetch(`http://127.0.0.1:${server.port}${path}`, init);
}

const post = (body: Buffer | string = "", headers: Record<string, string> = bearer): RequestInit => ({
  ...{ method: "POST", body, headers },
});

async function jsonOf(asked: Promise<Response>) {
  return JSON.parse(await (await asked).text());
}

test("the list keeps the inventory's order, and may be narrowed to a phase and a number", async (t) => {
  const inventory = new ScriptedDesk();
  const get = await open(t, inventory);
  const all = await jsonOf(get("/models"));
  assert.equal(all.total, 3);
  assert.deepEqual(
    all.models.map((model: ModelSummary) => model.modelKey),
    ["a/b ü", "c", "d"],
  );
  const some = await jsonOf(get("/models?phase=champion&limit=1"));
  assert.deepEqual([some.total, some.models.length, some.models[0].modelKey], [2, 1, "c"]);
  for (const query of ["phase=warm", "limit=0", "limit=x", "limit=-1", "limit=1001"]) {
    const answer = await get(`/models?${query}`);
    assert.equal(answer.status, 400, query);
    assert.match(await answer.text(), /give /);
  }
  assert.equal((await get("/models?limit=1000")).status, 200);
  assert.deepEqual(
    inventory.queries.map(({ phase, most }) => [phase, most]),
    [
      [null, 100],
      ["champion", 1],
      [null, 1_000],
    ],
  );
});

test("one model is shown by its encoded key, with times that people read", async (t) => {
  const get = await open(t, new ScriptedDesk());
  const shown = await jsonOf(get(`/models/${encodeURIComponent("a/b ü")}`));
  assert.deepEqual(shown, {
    ...{
      modelKey: "a/b ü",
      kind: "series",
      partition: 1,
      phase: "drifting",
      version: "v1",
      servedBy: "a/b ü",
    },
    ...{ scores: null, validationMase: 0.5, isOnProbation: false, verdict: null },
    ...{ since: "1970-01-01T00:00:00.000Z", trainedAt: "1970-01-01T00:00:01.000Z" },
  });
  assert.equal((await jsonOf(get("/models/d"))).trainedAt, null);
});

test("a model that is not known here may be another worker's, and the answer says so", async (t) => {
  const inventory = new ScriptedDesk();
  const get = await open(t, inventory);
  inventory.answer = { outcome: "unknown-model", detail: "x is not among them" };
  for (const answer of [
    await get("/models/x"),
    await get("/models/x/export", { headers: bearer }),
    await get("/models/x/retrain", post()),
  ]) {
    assert.equal(answer.status, 404);
    assert.match(await answer.text(), /another worker may own the series/);
  }
});

test("the export is the record as bytes, under a name that a file can have", async (t) => {
  const inventory = new ScriptedDesk();
  const get = await open(t, inventory);
  const answer = await get("/models/c/export", { headers: bearer });
  assert.equal(answer.headers.get("content-type"), "application/octet-stream");
  assert.equal(answer.headers.get("content-disposition"), 'attachment; filename="c.model"');
  assert.deepEqual(Buffer.from(await answer.arrayBuffer()), inventory.record);
  const none = await get("/models/d/export", { headers: bearer });
  assert.equal(none.status, 404);
  assert.match(await none.text(), /^"d" has no model of its own/);
});

test("an order is taken with 202 and the id that the inventory was given", async (t) => {
  const inventory = new ScriptedDesk();
  const get = await open(t, inventory);
  for (const kind of ["retrain", "rollback"] as const) {
    const answer = await get(`/models/${encodeURIComponent("a/b ü")}/${kind}`, post());
    assert.equal(answer.status, 202);
    const told = JSON.parse(await answer.text());
    const order = inventory.orders.at(-1);
    assert.ok(order !== undefined && order.id.length > 0);
    assert.deepEqual([told.orderId, told.modelKey, told.kind], [order.id, "a/b ü", kind]);
    assert.deepEqual(order, { id: order.id, modelKey: "a/b ü", kind, record: null, skipsGate: false });
  }
  assert.notEqual(inventory.orders[0].id, inventory.orders[1].id);
});

test("an order that is refused is a 409 with the reason", async (t) => {
  const inventory = new ScriptedDesk();
  inventory.answer = { outcome: "refused", detail: "an earlier order waits" };
  const get = await open(t, inventory);
  const answer = await get("/models/c/rollback", post());
  assert.deepEqual([answer.status, await answer.text()], [409, "refused: an earlier order waits\n"]);
});

test("an import is checked, made out to the key of the path, and may skip the gate", async (t) => {
  const inventory = new ScriptedDesk();
  const get = await open(t, inventory);
  assert.equal((await get("/models/d/import?gate=skip", post(inventory.record))).status, 202);
  assert.equal((await get("/models/c/import", post(inventory.record))).status, 202);
  assert.deepEqual(
    inventory.orders.map(({ modelKey, kind, skipsGate, record }) => [
      ...[modelKey, kind, skipsGate, codec.decode(record as Buffer).modelKey],
    ]),
    [
      ["d", "import", true, "d"],
      ["c", "import", false, "c"],
    ],
  );
});

test("an import that is no sound model never reaches the inventory", async (t) => {
  const inventory = new ScriptedDesk();
  const get = await open(t, inventory);
  const damaged = Buffer.from(inventory.record);
  damaged[damaged.length - 200] ^= 1;
  for (const [query, body, expected] of [
    ["", Buffer.alloc(0), /the body is empty/],
    ["", Buffer.from("hello"), /the body is not an exported model/],
    ["", damaged, /the body/],
    ["?gate=open", inventory.record, /gate is "open"; give skip/],
  ] as const) {
    const answer = await get(`/models/c/import${query}`, post(body));
    assert.equal(answer.status, 400);
    assert.match(await answer.text(), expected);
  }
  const large = await get("/models/c/import", post(Buffer.alloc(16 * 1024 * 1024 + 1)));
  assert.equal(large.status, 413);
  assert.deepEqual(inventory.orders, []);
});

test("an export needs the token", async (t) => {
  const get = await open(t, new ScriptedDesk());
  const closed = await open(t, new ScriptedDesk(), null);
  assert.equal((await get("/models/c/export")).status, 401);
  assert.equal((await get("/models/c/export", { headers: { authorization: "Bearer wrong" } })).status, 401);
  const refused = await closed("/models/c/export", { headers: bearer });
  assert.deepEqual([refused.status, /worker\.tokenFile/.test(await refused.text())], [403, true]);
});

test("orders need the token, pages do not", async (t) => {
  const inventory = new ScriptedDesk();
  const get = await open(t, inventory);
  const closed = await open(t, inventory, null);
  for (const kind of ["retrain", "rollback", "import"]) {
    assert.equal((await get(`/models/c/${kind}`, post("", {}))).status, 401);
    assert.equal((await closed(`/models/c/${kind}`, post())).status, 403);
    assert.equal((await get(`/models/c/${kind}`)).status, 405);
  }
  assert.deepEqual(inventory.orders, []);
  assert.equal((await closed("/models")).status, 200);
});

test("a worker that has not got so far says so", async (t) => {
  const get = await open(t, null);
  for (const answer of [
    await get("/models"),
    await get("/models/c"),
    await get("/models/c/retrain", post()),
  ]) {
    assert.equal(answer.status, 503);
    assert.match(await answer.text(), /\/readyz/);
  }
});
