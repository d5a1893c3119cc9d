// A small HTTP server: exact paths and paths with one trailing parameter, GET only. Answers are data; the
// routes come from whoever starts the server.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

/** The parameter is what follows a path that ends in a slash, decoded; empty otherwise. */
export type Route = (parameter: string, query: URLSearchParams) => Answer | Promise<Answer>;

/** By path; a path that ends in a slash takes one parameter. */
export type Routes = Readonly<Record<string, Route>>;

export interface HttpServer {
  readonly port: number;
  close(): Promise<void>;
}

export function text(status: number, body: string): Answer {
  return { status, contentType: "text/plain; charset=utf-8", body: body.endsWith("\n") ? body : `${body}\n` };
}

export function json(status: number, body: unknown): Answer {
  return {
    status,
    contentType: "application/json; charset=utf-8",
    body: `${JSON.stringify(body, null, 2)}\n`,
  };
}

export async function serveHttp(routes: Routes, host: string, port: number): Promise<HttpServer> {
  const server = createServer((request, response) => {
    answer(routes, request).then(
      (result) => send(response, result),
      (error: unknown) => send(response, text(500, `this page failed: ${String(error)}`)),
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve, reject) => {
        server.close((error) => (error === undefined ? resolve() : reject(error)));
        server.closeAllConnections();
      }),
  };
}

async function answer(routes: Routes, request: IncomingMessage): Promise<Answer> {
  if (request.method !== "GET" && request.method !== "HEAD") return text(405, "only GET is answered here");
  const path = request.url ?? "/";
  if (!URL.canParse(path, "http://localhost")) return text(400, "the path is not valid");
  const url = new URL(path, "http://localhost");
  const exact = routes[url.pathname];
  if (exact !== undefined) return exact("", url.searchParams);
  const slash = url.pathname.lastIndexOf("/") + 1;
  const withParameter = routes[url.pathname.slice(0, slash)];
  if (withParameter === undefined || slash === url.pathname.length) {
    return text(404, `nothing here; try ${Object.keys(routes).join(", ")}`);
  }
  const parameter = decode(url.pathname.slice(slash));
  return parameter === null
    ? text(400, "the path is not valid percent-encoding")
    : withParameter(parameter, url.searchParams);
}

function decode(encoded: string): string | null {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return null; // The only thing decodeURIComponent throws is "malformed", which the caller answers.
  }
}

function send(response: ServerResponse, { status, contentType, body }: Answer): void {
  response.writeHead(status, { "content-type": contentType, "content-length": Buffer.byteLength(body) });
  response.end(body);
}
