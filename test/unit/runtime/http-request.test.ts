import assert from "node:assert/strict";
import { createServer, type RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Server } from "node:net";
import { type TestContext, test } from "node:test";
import { sendHttp } from "../../../src/runtime/http-request.ts";
import { firstIdentity, secondIdentity } from "../../rig/test-certificates.ts";

async function portOf(t: TestContext, server: Server & { closeAllConnections(): void }): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

const echo: RequestListener = async (request, response) => {
  let body = "";
  for await (const chunk of request) body += chunk;
  response.writeHead(418).end(`${request.method} ${request.headers["x-name"]} ${body}`);
};

test("a request sends headers and body, and returns the answer whatever its status", async (t) => {
  const url = `http://127.0.0.1:${await portOf(t, createServer(echo))}/x`;
  const answer = await sendHttp({
    method: "POST",
    url,
    headers: { "x-name": "a" },
    body: "ü",
    timeoutMs: 5_000,
  });
  assert.deepEqual(answer, { status: 418, body: "POST a ü" });
});

test("only the given certificate authority is trusted", async (t) => {
  const { cert, key, ca } = firstIdentity;
  const url = `https://127.0.0.1:${await portOf(t, createTlsServer({ cert, key }, echo))}/`;
  const ask = (authority: string | undefined) =>
    sendHttp({ method: "GET", url, ca: authority, timeoutMs: 5_000 });
  assert.equal((await ask(ca)).status, 418);
  await assert.rejects(ask(secondIdentity.ca), /unable to verify|signature|issuer/);
  await assert.rejects(ask(undefined), /unable to verify|self[- ]signed|issuer/);
});

test("a request rejects when the server does not answer in time or answers too much", async (t) => {
  const silent = `http://127.0.0.1:${await portOf(
    t,
    createServer(() => {}),
  )}/`;
  await assert.rejects(
    sendHttp({ method: "GET", url: silent, timeoutMs: 20 }),
    /^Error: no answer within 20 ms$/,
  );
  const flood = createServer((_, response) => response.end(Buffer.alloc(5 * 1024 * 1024)));
  const large = `http://127.0.0.1:${await portOf(t, flood)}/`;
  await assert.rejects(
    sendHttp({ method: "GET", url: large, timeoutMs: 5_000 }),
    /the answer is larger than 4194304 bytes/,
  );
});

test("a request to a closed port or an invalid address rejects with the reason", async () => {
  const ask = (url: string) => sendHttp({ method: "GET", url, timeoutMs: 5_000 });
  await assert.rejects(ask("http://127.0.0.1:2/"), /ECONNREFUSED/);
  await assert.rejects(ask("http://localhost:2/"), /ECONNREFUSED/);
  await assert.rejects(ask("nonsense"), /Invalid URL/);
});

test("a redirect is not followed, so that no secret is sent elsewhere", async (t) => {
  const elsewhere = createServer((_, response) => response.end("secret taken"));
  const target = `http://127.0.0.1:${await portOf(t, elsewhere)}/`;
  const server = createServer((_, response) => response.writeHead(302, { location: target }).end());
  const url = `http://127.0.0.1:${await portOf(t, server)}/`;
  assert.deepEqual(await sendHttp({ method: "GET", url, timeoutMs: 5_000 }), { status: 302, body: "" });
});
