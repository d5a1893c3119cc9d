// Slow clients: they never block a probe, and their connections are closed in time.

import assert from "node:assert/strict";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { type Routes, serveHttp, text } from "../../../src/runtime/http.ts";

const page = Buffer.alloc(8 * 1024 * 1024, "x");
const routes: Routes = {
  "/healthz": () => text(200, "running"),
  "POST /load": async (_, __, request) => text(200, String((await request.readBody(100)).length)),
  "/large": () => ({ status: 200, contentType: "text/plain", body: page }),
};

async function serve(t: TestContext, limits: { requestMs: number; connections?: number }): Promise<number> {
  const server = await serveHttp(routes, "127.0.0.1", 0, limits);
  t.after(() => server.close());
  return server.port;
}

/** Sends its bytes and nothing more, and does not read. */
async function slowClient(t: TestContext, port: number, bytes: string): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  t.after(() => socket.destroy());
  socket.on("error", () => {}); // The server may cut it off.
  await once(socket, "connect");
  socket.pause();
  if (bytes !== "") socket.write(bytes);
  return socket;
}

async function probe(port: number): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${port}/healthz`, {
    headers: { connection: "close" },
    signal: AbortSignal.timeout(5_000),
  });
  return answer.status;
}

const kinds = [
  ["that send nothing", ""],
  ["that never finish their headers", "GET /healthz HTTP/1.1\r\nhost: x\r\nx-"],
  ["that never send their body", "POST /load HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nab"],
  ["that never read their answer", "GET /large HTTP/1.1\r\nhost: x\r\n\r\n"],
  ["that keep their connection for later", "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n"],
] as const;

for (const [kind, bytes] of kinds) {
  test(`a probe is answered while all connections are held by clients ${kind}`, async (t) => {
    const port = await serve(t, { requestMs: 60_000, connections: 16 });
    for (let client = 0; client < 40; client++) await slowClient(t, port, bytes);
    for (let round = 0; round < 5; round++) assert.equal(await probe(port), 200);
  });
}

test("300 slow clients at the default limit do not block a probe", async (t) => {
  const port = await serve(t, { requestMs: 30_000 });
  for (let client = 0; client < 300; client++) await slowClient(t, port, "GET /healthz HTTP/1.1\r\nx-");
  assert.equal(await probe(port), 200);
});

test("a new connection replaces the one that has been silent for longest", async (t) => {
  const port = await serve(t, { requestMs: 60_000, connections: 3 });
  const asking = await slowClient(t, port, "");
  const silent = await slowClient(t, port, "");
  const cut = once(silent.resume(), "close");
  asking.write("GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n");
  asking.resume();
  await once(asking, "data");
  for (let newcomer = 0; newcomer < 2; newcomer++) await slowClient(t, port, "");
  await cut;
  asking.write("GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n");
  const [again] = await once(asking, "data");
  assert.match(String(again), /^HTTP\/1\.1 200/);
});

/** Unlike `once`, it does not reject on the write error of a client that was cut off. */
function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    socket.once("close", () => resolve());
  });
}

test("a request that trickles in is closed after its time limit", async (t) => {
  const port = await serve(t, { requestMs: 200 });
  const socket = await slowClient(t, port, "GET /healthz HTTP/1.1\r\n");
  socket.resume();
  const trickle = setInterval(() => socket.write("x-a: b\r\n"), 20);
  try {
    await closed(socket);
  } finally {
    clearInterval(trickle);
  }
  assert.equal(await probe(port), 200);
});

test("a connection whose answer is not read is closed after its time limit", {
  timeout: 10_000,
}, async (t) => {
  const port = await serve(t, { requestMs: 200 });
  // A client that does not read cannot see that it was cut off, so the server's socket is watched.
  const served = new Promise<Socket>((resolve) => {
    const receive = (message: unknown) => resolve((message as { readonly socket: Socket }).socket);
    subscribe("http.server.request.start", receive);
    t.after(() => unsubscribe("http.server.request.start", receive));
  });
  await slowClient(t, port, "GET /large HTTP/1.1\r\nhost: x\r\n\r\n");
  const socket = await served;
  if (!socket.destroyed) await once(socket, "close");
  assert.ok(socket.bytesWritten > 0);
});
