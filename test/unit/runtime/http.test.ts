import assert from "node:assert/strict";
import { request } from "node:http";
import { connect } from "node:net";
import { type TestContext, test } from "node:test";
import { json, type Routes, serveHttp, text } from "../../../src/runtime/http.ts";

const routes: Routes = {
  "/plain": () => text(200, "hello"),
  "/facts": () => json(201, { a: 1 }),
  "/series/": (id, query) => text(200, `${id} ${query.get("last") ?? "all"}`),
  "/broken": () => {
    throw new Error("out of ink");
  },
};

async function serve(t: TestContext): Promise<(path: string, init?: RequestInit) => Promise<Response>> {
  const server = await serveHttp(routes, "127.0.0.1", 0);
  t.after(() => server.close());
  return (path, init) => fetch(`http://127.0.0.1:${server.port}${path}`, init);
}

test("a path without a parameter answers with its status and content type", async (t) => {
  const get = await serve(t);
  const plain = await get("/plain?x=1");
  assert.deepEqual(
    [plain.status, plain.headers.get("content-type"), await plain.text()],
    [200, "text/plain; charset=utf-8", "hello\n"],
  );
  const facts = await get("/facts");
  assert.deepEqual([facts.status, await facts.json()], [201, { a: 1 }]);
});

test("a path that ends in a slash takes one decoded parameter and the query", async (t) => {
  const get = await serve(t);
  assert.equal(await (await get("/series/pump%2F7%20%C3%A9?last=5")).text(), "pump/7 é 5\n");
  assert.equal((await get("/series/%E0%A4%A")).status, 400);
});

test("an unknown path gets a 404 that names the known ones", async (t) => {
  const get = await serve(t);
  for (const path of ["/", "/series", "/series/a/b", "/plain/x", "/__proto__", "/constructor"]) {
    const answer = await get(path);
    assert.equal(answer.status, 404, path);
    assert.match(await answer.text(), /the pages are .*\/plain/);
  }
});

test("a GET route answers GET and HEAD, HEAD without a body", async (t) => {
  const get = await serve(t);
  assert.equal((await get("/plain", { method: "POST", body: "x" })).status, 405);
  const head = await get("/plain", { method: "HEAD" });
  assert.deepEqual([head.status, head.headers.get("content-length"), await head.text()], [200, "6", ""]);
});

test("a route that throws gets a 500, and the server continues", async (t) => {
  const get = await serve(t);
  const broken = await get("/broken");
  assert.deepEqual([broken.status, await broken.text()], [500, "the request failed: Error: out of ink\n"]);
  assert.equal((await get("/plain")).status, 200);
});

test("an invalid address gets a 400", async (t) => {
  const server = await serveHttp(routes, "127.0.0.1", 0);
  t.after(() => server.close());
  const status = await new Promise((resolve, reject) => {
    request({ port: server.port, path: "//" }, (answer) => resolve(answer.resume().statusCode))
      .on("error", reject)
      .end();
  });
  assert.equal(status, 400);
});

test("closing the server does not wait for a client that keeps its connection", {
  timeout: 5_000,
}, async (t) => {
  const server = await serveHttp(routes, "127.0.0.1", 0);
  const client = connect(server.port, "127.0.0.1");
  t.after(() => client.destroy());
  const closed = new Promise((resolve) => client.once("close", resolve));
  await new Promise((resolve) => client.once("connect", resolve));
  client.write("GET /plain HTTP/1.1\r\nhost: x\r\n\r\n");
  await new Promise((resolve) => client.once("data", resolve));
  await server.close();
  await closed;
});

test("serveHttp rejects when the port is taken", async (t) => {
  const server = await serveHttp(routes, "127.0.0.1", 0);
  t.after(() => server.close());
  await assert.rejects(serveHttp(routes, "127.0.0.1", server.port), { code: "EADDRINUSE" });
});
