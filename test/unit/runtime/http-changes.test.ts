// Requests that change something: methods, parameters inside a path, bodies, the token.

import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { Secret } from "../../../src/runtime/config/secret.ts";
import { type HttpLimits, type Routes, serveHttp, text, withToken } from "../../../src/runtime/http.ts";

const token = new Secret(() => "open-sesame");
const authorization = `Bearer ${token.reveal()}`;

const routes: Routes = {
  "GET /things": () => text(200, "all"),
  "GET /things/:key": (key) => text(200, `one <${key}>`),
  "GET /things/first": () => text(200, "the first"),
  "GET /things/:key/export": (key) => ({
    status: 200,
    contentType: "application/octet-stream",
    body: Buffer.from([0, 255, 128]),
    headers: { "x-key": encodeURIComponent(key) },
  }),
  "POST /things/:key/change": withToken(token, async (key, query, request) =>
    text(202, `${key} ${query.get("how") ?? "plainly"} ${(await request.readBody(10)).toString("hex")}`),
  ),
  "POST /closed": withToken(null, () => text(202, "changed")),
};

async function serve(t: TestContext, limits?: HttpLimits): Promise<number> {
  const server = await serveHttp(routes, "127.0.0.1", 0, limits);
  t.after(() => server.close());
  return server.port;
}

async function client(t: TestContext): Promise<(path: string, init?: RequestInit) => Promise<Response>> {
  const port = await serve(t);
  return (path, init) => fetch(`http://127.0.0.1:${port}${path}`, init);
}

/** A raw connection. */
async function open(t: TestContext, port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  t.after(() => socket.destroy());
  await new Promise((resolve) => socket.once("connect", resolve));
  return socket;
}

async function readAll(socket: Socket): Promise<string> {
  let all = "";
  for await (const chunk of socket) all += chunk;
  return all;
}

const post = (
  body: NonNullable<RequestInit["body"]>,
  headers: Record<string, string> = { authorization },
) => ({
  method: "POST",
  body,
  headers,
});

test("an encoded parameter may contain anything and may be anywhere in the path", async (t) => {
  const get = await client(t);
  for (const key of ["pump/7", "a b", "ü→深", "50%", "x?y#z", "a.b", "__proto__", "\u0000"]) {
    const path = `/things/${encodeURIComponent(key)}`;
    assert.equal(await (await get(path)).text(), `one <${key}>\n`);
    assert.equal((await get(`${path}/export`)).headers.get("x-key"), encodeURIComponent(key));
  }
});

test("a parameter of dots does not change the path", async (t) => {
  const socket = await open(t, await serve(t));
  socket.write("GET /things/%2E%2E HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
  assert.match(await readAll(socket), /^HTTP\/1\.1 200 [\s\S]*one <\.\.>/);
});

test("an absolute address, as proxies send it, is understood", async (t) => {
  const socket = await open(t, await serve(t));
  socket.write("GET http://somewhere/things/a?x=1 HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
  assert.match(await readAll(socket), /one <a>/);
});

test("a path without a parameter takes precedence over one with a parameter", async (t) => {
  const get = await client(t);
  assert.equal(await (await get("/things/first")).text(), "the first\n");
});

test("binary answers are sent unchanged", async (t) => {
  const get = await client(t);
  const answer = await get("/things/a/export");
  assert.equal(answer.headers.get("content-type"), "application/octet-stream");
  assert.deepEqual([...new Uint8Array(await answer.arrayBuffer())], [0, 255, 128]);
  const head = await get("/things/a/export", { method: "HEAD" });
  assert.deepEqual([head.headers.get("content-length"), await head.text()], ["3", ""]);
});

test("a wrong method gets a 405 with the allowed methods", async (t) => {
  const get = await client(t);
  const read = await get("/things/a/change");
  assert.deepEqual([read.status, read.headers.get("allow")], [405, "POST"]);
  assert.equal(await read.text(), "this page answers only POST\n");
  const written = await get("/things", post("x"));
  assert.deepEqual([written.status, written.headers.get("allow")], [405, "GET, HEAD"]);
  assert.equal((await get("/things//change", post("x"))).status, 404);
});

test("a request with the token may change things, with a query and a binary body", async (t) => {
  const get = await client(t);
  const answer = await get("/things/a%2Fb/change?how=fast", post(Buffer.from([1, 255])));
  assert.deepEqual([answer.status, await answer.text()], [202, "a/b fast 01ff\n"]);
  const lowerCase = await get("/things/a/change", post("", { authorization: "bearer open-sesame" }));
  assert.equal(lowerCase.status, 202);
});

test("without a configured token a change gets a 403 that names the setting", async (t) => {
  const get = await client(t);
  const answer = await get("/closed", post("x"));
  assert.equal(answer.status, 403);
  assert.match(await answer.text(), /worker\.tokenFile/);
});

test("a wrong or missing token gets a 401 that does not reveal the right one", async (t) => {
  const get = await client(t);
  const wrongs = ["Bearer open-sesam", "Bearer open-sesame2", "Basic open-sesame", "open-sesame", "Bearer "];
  for (const headers of [{}, ...wrongs.map((wrong) => ({ authorization: wrong }))]) {
    const answer = await get("/things/a/change", post("x", headers as Record<string, string>));
    assert.equal(answer.status, 401, JSON.stringify(headers));
    assert.equal(answer.headers.get("www-authenticate"), "Bearer");
    assert.doesNotMatch(await answer.text(), /sesam/);
  }
});

test("a body that is too large gets a 413, with or without a declared length", async (t) => {
  const get = await client(t);
  const declared = await get("/things/a/change", post("x".repeat(1_000_000)));
  assert.equal(declared.status, 413);
  assert.match(await declared.text(), /larger than the limit of 10 bytes/);
  const stream = new ReadableStream({
    start(controller) {
      for (let i = 0; i < 100; i++) controller.enqueue(new Uint8Array(10_000));
      controller.close();
    },
  });
  const streamed = await get("/things/a/change", { ...post(stream), duplex: "half" } as RequestInit);
  assert.equal(streamed.status, 413);
  assert.equal((await get("/things/a/change", post("0123456789"))).status, 202);
});

test("a body with a declared length that is too large is refused before it arrives", {
  timeout: 10_000,
}, async (t) => {
  const socket = await open(t, await serve(t));
  socket.write(`POST /things/a/change HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization}\r\n`);
  socket.write("content-length: 11\r\n\r\n");
  const [answer] = await once(socket, "data");
  assert.match(String(answer), /^HTTP\/1\.1 413 /);
});

test("a body that does not arrive in time gets a 408", { timeout: 10_000 }, async (t) => {
  const port = await serve(t, { requestMs: 50 });
  const socket = await open(t, port);
  socket.write(`POST /things/a/change HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization}\r\n`);
  socket.write("content-length: 5\r\n\r\nab");
  assert.match(await readAll(socket), /^HTTP\/1\.1 408 /);
});

test("a connection with an unread body is closed in time", { timeout: 10_000 }, async (t) => {
  const socket = await open(t, await serve(t, { requestMs: 50 }));
  socket.write("POST /closed HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nab");
  assert.match(await readAll(socket), /^HTTP\/1\.1 403 /);
});

test("a client that disconnects while it sends does not affect others", async (t) => {
  const port = await serve(t);
  const socket = await open(t, port);
  const closed = new Promise((resolve) => socket.once("close", resolve));
  socket.write(`POST /things/a/change HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization}\r\n`);
  socket.end("content-length: 5\r\n\r\nab");
  socket.resume();
  await closed;
  assert.equal((await fetch(`http://127.0.0.1:${port}/things`)).status, 200);
});
