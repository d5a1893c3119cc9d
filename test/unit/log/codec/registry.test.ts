import assert from "node:assert/strict";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { describe, test } from "node:test";
import { loadConfig } from "../../../../src/runtime/config/load.ts";
import { ForecastnetError } from "../../../../src/runtime/errors.ts";
import { openRegistry } from "../../../../src/service/pipeline-parts.ts";
import { firstIdentity, secondIdentity } from "../../../rig/test-certificates.ts";
import { registryAt, startRegistryStub } from "./registry-stub.ts";

const schema = { type: "record", name: "R", fields: [{ name: "seriesId", type: "string" }] };
const known = { status: 200, body: { schema: JSON.stringify(schema) } };

function coded(code: ForecastnetError["code"], pattern: RegExp) {
  return (error: unknown) =>
    error instanceof ForecastnetError && error.code === code && pattern.test(error.message);
}

function unreachable(pattern: RegExp) {
  return coded("REGISTRY_UNREACHABLE", pattern);
}

function refused(pattern: RegExp) {
  return coded("REGISTRY_REFUSED", pattern);
}

describe("the schema registry", () => {
  test("is asked once for an id, however many callers wait for it", async (context) => {
    const stub = await startRegistryStub(context);
    stub.answerWith(() => known);
    const registry = registryAt(context, stub);
    assert.equal(registry.has(7), false);
    await Promise.all([registry.load([7, 8]), registry.load([7])]);
    assert.deepEqual(registry.get(7), { schema });
    assert.equal(registry.has(7), true);
    const lines = stub.requests.map(({ line }) => line).sort();
    assert.deepEqual(lines, ["GET /schemas/ids/7", "GET /schemas/ids/8"]);
  });

  test("is asked again for a missing id only after a minute", async (context) => {
    const stub = await startRegistryStub(context);
    let nowMs = 0;
    const registry = registryAt(context, stub, { nowMs: () => nowMs });
    await registry.load([7]);
    assert.deepEqual(registry.get(7), { schema: null, problem: "the registry knows no schema 7" });
    nowMs = 59_999;
    assert.equal(registry.has(7), true);
    nowMs = 60_000;
    assert.equal(registry.has(7), false);
    stub.answerWith(() => known);
    await registry.load([7]);
    assert.deepEqual(registry.get(7), { schema });
    nowMs = 1e9;
    assert.equal(registry.has(7), true, "a schema never changes under its id");
  });

  test("is asked again after a retriable failure, and shows the outage meanwhile", async (context) => {
    const stub = await startRegistryStub(context);
    const registry = registryAt(context, stub);
    const outages: (string | null)[] = [];
    const replies = [{ status: 503, body: "" }, { status: 429, body: "" }, known];
    stub.answerWith(() => {
      outages.push(registry.outage);
      return replies[stub.requests.length - 1];
    });
    await registry.load([7]);
    assert.deepEqual(registry.get(7), { schema });
    assert.deepEqual(outages, [null, "it answered 503", "it answered 429"]);
    assert.equal(registry.outage, null);
  });

  test("is given up after the patience, with the reason", async (context) => {
    const stub = await startRegistryStub(context);
    stub.answerWith(() => ({ status: 500, body: {} }));
    let nowMs = 0;
    const registry = registryAt(context, { ...stub, patienceMs: 10 }, { nowMs: () => nowMs++ });
    await assert.rejects(registry.load([7]), unreachable(/GET \/schemas\/ids\/7 failed: it answered 500/));
    assert.ok(stub.requests.length > 1);
  });

  test("that refuses connections or never answers is unreachable", async (context) => {
    const stub = await startRegistryStub(context);
    stub.answerWith(() => null);
    const silent = registryAt(context, { ...stub, timeoutMs: 5, patienceMs: 0 });
    await assert.rejects(silent.load([7]), unreachable(/no answer within 5 ms/));
    const absent = registryAt(context, { url: "http://127.0.0.1:2", patienceMs: 0 });
    await assert.rejects(absent.load([7]), unreachable(/127\.0\.0\.1:2.*ECONNREFUSED/));
  });

  test("ends every wait when it is closed", async (context) => {
    const stub = await startRegistryStub(context);
    stub.answerWith(() => null);
    const registry = registryAt(context, { ...stub, patienceMs: Number.POSITIVE_INFINITY });
    const load = registry.load([7]);
    registry.close();
    await assert.rejects(load, unreachable(/closed/));
  });

  test("is trusted by the given authority, which is read for every attempt", async (context) => {
    const { cert, key } = secondIdentity;
    const server = createServer({ cert, key }, (_, response) => response.end('{"schema":"\\"long\\""}'));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    context.after(() => server.close());
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const authority = { pem: firstIdentity.ca };
    const argv = [`--registry.url=${url}`, "--registry.caFile=/s/ca"];
    const registry = openRegistry(loadConfig({ argv, env: {}, readFile: () => authority.pem }), 0);
    assert.ok(registry !== null);
    context.after(() => registry.close());
    await assert.rejects(registry.load([7]), unreachable(/certificate|signature/));
    authority.pem = secondIdentity.ca;
    await registry.load([7]);
    assert.deepEqual(registry.get(7), { schema: "long" });
  });

  test("at a wrong address is an error, not a missing schema", async (context) => {
    const stub = await startRegistryStub(context);
    stub.answerWith(() => ({ status: 404, body: { error_code: 404, message: "HTTP 404 Not Found" } }));
    await assert.rejects(registryAt(context, stub).load([7]), refused(/404.*Not Found/));
  });

  test("gets the credentials, and is not asked again when it refuses them", async (context) => {
    const stub = await startRegistryStub(context);
    stub.answerWith(() => ({ status: 401, body: { message: "Unauthorized" } }));
    const credentials = { username: "me", password: "secret" };
    const registry = registryAt(context, { url: `${stub.url}/`, credentials });
    await assert.rejects(registry.load([7]), refused(/401.*Unauthorized/));
    assert.equal(stub.requests.length, 1);
    assert.equal(stub.requests[0].line, "GET /schemas/ids/7");
    assert.equal(stub.requests[0].headers.authorization, `Basic ${btoa("me:secret")}`);
  });

  test("explains why a schema that is not self-contained Avro cannot be used", async (context) => {
    const stub = await startRegistryStub(context);
    const bodies: Record<string, unknown> = {
      "GET /schemas/ids/1": { schema: "syntax = ...", schemaType: "PROTOBUF" },
      "GET /schemas/ids/2": { schema: "{}", references: [{ name: "X", subject: "x", version: 1 }] },
      "GET /schemas/ids/3": { schema: "{" },
    };
    stub.answerWith((line) => ({ status: 200, body: bodies[line] }));
    const registry = registryAt(context, stub);
    await registry.load([1, 2, 3]);
    const problems = [1, 2, 3].map((id) => (registry.get(id) as { problem: string }).problem);
    assert.match(problems[0], /PROTOBUF/);
    assert.match(problems[1], /refers to other subjects/);
    assert.match(problems[2], /not JSON/);
  });

  test("registers a schema under a subject and returns its id", async (context) => {
    const stub = await startRegistryStub(context);
    stub.answerWith(() => ({ status: 200, body: { id: 42 } }));
    assert.equal(await registryAt(context, stub).register("a/b-value", schema), 42);
    assert.equal(stub.requests[0].line, "POST /subjects/a%2Fb-value/versions");
    assert.deepEqual(JSON.parse(JSON.parse(stub.requests[0].body).schema), schema);
  });

  test("that finds a schema incompatible causes an error with its message", async (context) => {
    const stub = await startRegistryStub(context);
    stub.answerWith(() => ({ status: 409, body: { error_code: 409, message: "incompatible" } }));
    await assert.rejects(registryAt(context, stub).register("s", schema), refused(/409.*incompatible/));
  });

  test("answers only for loaded schemas", async (context) => {
    const stub = await startRegistryStub(context);
    assert.throws(() => registryAt(context, stub).get(1), /await prepare\(\)/);
  });
});
