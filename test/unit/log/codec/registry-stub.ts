// A schema registry on loopback that can misbehave on demand. test/integrity uses a real one.

import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import {
  defaultRegistrySettings,
  type RegistrySettings,
  SchemaRegistry,
} from "../../../../src/log/codec/registry.ts";

export interface Reply {
  readonly status: number;
  readonly body: unknown;
}

export interface RegistryStub {
  readonly url: string;
  /** Method, path and body of every request so far. */
  readonly requests: {
    readonly line: string;
    readonly body: string;
    readonly headers: IncomingMessage["headers"];
  }[];
  /** Replaces the answers; null never answers. */
  answerWith(reply: (line: string, body: string) => Reply | null): void;
}

export const notFound: Reply = { status: 404, body: { error_code: 40403, message: "Schema not found" } };

/** Starts a registry that knows no schema; closed after the test. */
export async function startRegistryStub(context: { after(end: () => void): void }): Promise<RegistryStub> {
  let answer: (line: string, body: string) => Reply | null = () => notFound;
  const requests: RegistryStub["requests"] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const line = `${request.method} ${request.url}`;
    requests.push({ line, body, headers: request.headers });
    const reply = answer(line, body);
    if (reply !== null) response.writeHead(reply.status).end(JSON.stringify(reply.body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  context.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    requests,
    answerWith: (reply) => {
      answer = reply;
    },
  };
}

/** A registry client whose patience follows the hand-moved clock. */
export function registryAt(
  context: TestContext,
  settings: Partial<RegistrySettings> & { readonly url: string },
  clock = { nowMs: () => 0 },
): SchemaRegistry {
  const fast = { ...defaultRegistrySettings, initialBackoffMs: 1, maxBackoffMs: 2 };
  const registry = new SchemaRegistry({ ...fast, ...settings }, clock);
  context.after(() => registry.close());
  return registry;
}
