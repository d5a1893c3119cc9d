// A small HTTP server: routes by method and path, bodies of bounded size, a token for what changes something. Answers
// are data; the routes come from whoever starts the server.

import { createHash, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Secret } from "./config/secret.ts";

export interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What a route may ask of a request beyond its address. */
export interface Request {
  /** The header as it came. */
  readonly authorization: string | undefined;
  /** The whole body. It is not held before it is asked for; one that is larger throws a Refusal with 413. */
  readBody(maxBytes: number): Promise<Buffer>;
}

/** The parameter is the part of the path that the route leaves open, decoded; empty when it leaves none. */
export type Route = (parameter: string, query: URLSearchParams, request: Request) => Answer | Promise<Answer>;

/**
 * By method and path: "POST /models/:key/retrain", where `:key` is the parameter, at most one. A path without a
 * method is for GET; one that ends in a slash takes the parameter there. Whoever answers GET answers HEAD.
 */
export type Routes = Readonly<Record<string, Route>>;

export interface HttpServer {
  readonly port: number;
  close(): Promise<void>;
}

export interface HttpLimits {
  /** How long a request may take to arrive, its body included; then its connection is closed. */
  readonly requestMs: number;
}

const usualLimits: HttpLimits = { requestMs: 30_000 };
/** Far more than probes, scrapers and people need; a client that opens more cannot use up the process's files. */
const mostConnections = 256;

/** Thrown by a route, or by what it calls, to answer at once. */
export class Refusal extends Error {
  readonly answer: Answer;

  constructor(answer: Answer) {
    super(String(answer.body).trim());
    this.name = "Refusal";
    this.answer = answer;
  }
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

/** The route for bearers of the token only; nothing of the body is held for others. */
export function withToken(token: Secret | null, route: Route): Route {
  return (parameter, query, request) => {
    if (token === null) {
      return text(
        403,
        "requests that change something are refused, since this worker has no token: name a file with one in worker.tokenFile",
      );
    }
    const [, given] = /^bearer +(\S+) *$/i.exec(request.authorization ?? "") ?? [];
    if (given !== undefined && isSame(given, token.reveal())) return route(parameter, query, request);
    const wrong = given === undefined ? "no token was given" : "the token is not the right one";
    const advice =
      "send the header Authorization: Bearer, followed by what the file in worker.tokenFile holds";
    return { ...text(401, `${wrong}: ${advice}`), headers: { "www-authenticate": "Bearer" } };
  };
}

/** Takes as long for a token that is nearly right as for any other: digests have one length and no likeness. */
function isSame(given: string, expected: string): boolean {
  const digest = (value: string) => createHash("sha256").update(value).digest();
  return timingSafeEqual(digest(given), digest(expected));
}

export async function serveHttp(
  routes: Routes,
  host: string,
  port: number,
  { requestMs }: HttpLimits = usualLimits,
): Promise<HttpServer> {
  const patterns = Object.entries(routes).map(([name, route]) => readPattern(name, route));
  const options = {
    requestTimeout: requestMs,
    headersTimeout: requestMs,
    connectionsCheckingInterval: Math.ceil(requestMs / 10),
  };
  const server = createServer(options, (request, response) => {
    answer(patterns, request).then(
      (result) => send(response, result),
      (error: unknown) =>
        send(
          response,
          error instanceof Refusal ? error.answer : text(500, `this page failed: ${String(error)}`),
        ),
    );
  });
  server.maxConnections = mostConnections;
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

interface Pattern {
  /** As the routes give it. */
  readonly name: string;
  readonly method: string;
  readonly segments: readonly string[];
  /** Which segment is the parameter; -1 for none. */
  readonly open: number;
  readonly route: Route;
}

function readPattern(name: string, route: Route): Pattern {
  const [, method = "GET", path = ""] = /^(?:([A-Z]+) )?(\/.*)$/.exec(name) ?? [];
  const segments = segmentsOf(path);
  const last = segments.length - 1;
  const isOpen = (segment: string, at: number) =>
    segment.startsWith(":") || (segment === "" && at === last && path !== "/");
  return { name, method, segments, open: segments.findIndex(isOpen), route };
}

/** Cut before it is decoded, so that a parameter may hold slashes. */
function segmentsOf(path: string): readonly string[] {
  return path.slice(1).split("/");
}

async function answer(patterns: readonly Pattern[], request: IncomingMessage): Promise<Answer> {
  const target = request.url ?? "/";
  if (!URL.canParse(target, "http://localhost")) return text(400, "the path is not valid");
  const { searchParams } = new URL(target, "http://localhost");
  // Not the parsed path: it has taken a parameter of dots, even encoded ones, for a way up.
  const [path] = target.replace(/^[a-z]+:\/\/[^/?]*/i, "").split("?", 1);
  const segments = segmentsOf(path);
  const found = patterns.filter((pattern) => fits(pattern, segments));
  if (found.length === 0) {
    return text(404, `nothing here; try ${patterns.map(({ name }) => name).join(", ")}`);
  }
  const method = request.method === "HEAD" ? "GET" : request.method;
  // A path given in full is meant before one that leaves a part open.
  const [chosen] = found.filter((pattern) => pattern.method === method).sort((a, b) => a.open - b.open);
  if (chosen === undefined) return wrongMethod(found);
  const parameter = chosen.open < 0 ? "" : decode(segments[chosen.open]);
  if (parameter === null) return text(400, "the path is not valid percent-encoding");
  return chosen.route(parameter, searchParams, {
    authorization: request.headers.authorization,
    readBody: (maxBytes) => readBody(request, maxBytes),
  });
}

function fits({ segments, open }: Pattern, asked: readonly string[]): boolean {
  return (
    asked.length === segments.length &&
    segments.every((segment, at) => (at === open ? asked[at] !== "" : asked[at] === segment))
  );
}

function wrongMethod(found: readonly Pattern[]): Answer {
  const methods = new Set(found.flatMap(({ method }) => (method === "GET" ? ["GET", "HEAD"] : [method])));
  const allow = [...methods].join(", ");
  return { ...text(405, `only ${allow} is answered here`), headers: { allow } };
}

function decode(encoded: string): string | null {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return null; // The only thing decodeURIComponent throws is "malformed", which the caller answers.
  }
}

function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const tooLarge = () =>
    new Refusal(text(413, `the body is larger than the ${maxBytes} bytes that are taken here`));
  return new Promise((resolve, reject) => {
    if (Number(request.headers["content-length"] ?? 0) > maxBytes) return reject(tooLarge());
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= maxBytes) return chunks.push(chunk);
      // The rest still flows, and is let go, until it ends or its time is up: a client cut off while it sends
      // would never read why.
      chunks.length = 0;
      return reject(tooLarge());
    });
    request.once("end", () => resolve(Buffer.concat(chunks)));
    request.once("error", reject);
  });
}

function send(response: ServerResponse, { status, contentType, body, headers }: Answer): void {
  const length = Buffer.byteLength(body);
  response.writeHead(status, { "content-type": contentType, "content-length": length, ...headers });
  response.end(body);
}
