// A small HTTP server: routes by method and path, bodies of bounded size, a bearer token for protected routes, and a
// bounded number of connections. Answers are data; the caller provides the routes.

import { createHash, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Secret } from "./config/secret.ts";

export interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What a route can read of a request besides its address. */
interface Request {
  /** The header, unchanged. */
  readonly authorization: string | undefined;
  /** Reads the whole body. Throws an HttpRefusal with 413 if it is larger than `maxBytes`. */
  readBody(maxBytes: number): Promise<Buffer>;
}

/** The parameter is the decoded variable part of the path; empty when the route has none. */
export type Route = (parameter: string, query: URLSearchParams, request: Request) => Answer | Promise<Answer>;

/**
 * By method and path: "POST /models/:key/retrain", with at most one parameter. A path without a method is for GET; a path
 * that ends in a slash has its parameter there. A GET route also answers HEAD.
 */
export type Routes = Readonly<Record<string, Route>>;

export interface HttpServer {
  readonly port: number;
  close(): Promise<void>;
}

export interface HttpLimits {
  /** Time limit for receiving a request with its body; then the connection is closed. */
  readonly requestMs: number;
  /** Most open connections. */
  readonly connections?: number;
}

const defaultLimits: HttpLimits = { requestMs: 30_000 };
/** More than probes, scrapers and people need, and few enough to leave file descriptors for the brokers. */
const defaultConnections = 256;

/** Thrown by a route to answer at once. */
export class HttpRefusal extends Error {
  readonly answer: Answer;

  constructor(answer: Answer) {
    super(String(answer.body).trim());
    this.name = "HttpRefusal";
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

/** The route for requests with the token. The body of other requests is not read. */
export function withToken(token: Secret | null, route: Route): Route {
  return (parameter, query, request) => {
    if (token === null) {
      return text(
        403,
        "this request needs a token, but the worker has none: name a file with a token in worker.tokenFile",
      );
    }
    const [, given] = /^bearer +(\S+) *$/i.exec(request.authorization ?? "") ?? [];
    if (given !== undefined && isSame(given, token.reveal())) return route(parameter, query, request);
    const wrong = given === undefined ? "the request has no token" : "the token is wrong";
    const advice = "send the header Authorization: Bearer with the contents of the file in worker.tokenFile";
    return { ...text(401, `${wrong}: ${advice}`), headers: { "www-authenticate": "Bearer" } };
  };
}

/** Takes the same time for every wrong token: digests have equal length, and similar tokens have unrelated digests. */
function isSame(given: string, expected: string): boolean {
  const digest = (value: string) => createHash("sha256").update(value).digest();
  return timingSafeEqual(digest(given), digest(expected));
}

export async function serveHttp(
  routes: Routes,
  host: string,
  port: number,
  { requestMs, connections = defaultConnections }: HttpLimits = defaultLimits,
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
          error instanceof HttpRefusal ? error.answer : text(500, `the request failed: ${String(error)}`),
        ),
    );
  });
  limitConnections(server, connections);
  // Closes connections whose client does not read the answer. Later than the request timeout, which sends a 408.
  server.setTimeout(2 * requestMs);
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
  /** The key of the route. */
  readonly name: string;
  readonly method: string;
  readonly segments: readonly string[];
  /** Index of the parameter's segment; -1 for none. */
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

/** Split before decoding, so that a parameter may contain slashes. */
function segmentsOf(path: string): readonly string[] {
  return path.slice(1).split("/");
}

async function answer(patterns: readonly Pattern[], request: IncomingMessage): Promise<Answer> {
  const target = request.url ?? "/";
  if (!URL.canParse(target, "http://localhost")) return text(400, "the path is not valid");
  const { searchParams } = new URL(target, "http://localhost");
  // Not the parsed path: parsing resolves dot segments, even encoded ones, which may be a parameter.
  const [path] = target.replace(/^[a-z]+:\/\/[^/?]*/i, "").split("?", 1);
  const segments = segmentsOf(path);
  const found = patterns.filter((pattern) => fits(pattern, segments));
  if (found.length === 0) {
    return text(404, `no such page; the pages are ${patterns.map(({ name }) => name).join(", ")}`);
  }
  const method = request.method === "HEAD" ? "GET" : request.method;
  // A path without a parameter takes precedence.
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
  return { ...text(405, `this page answers only ${allow}`), headers: { allow } };
}

function decode(encoded: string): string | null {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return null; // Malformed percent-encoding; the caller answers 400.
  }
}

function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const tooLarge = () => new HttpRefusal(text(413, `the body is larger than the limit of ${maxBytes} bytes`));
  return new Promise((resolve, reject) => {
    if (Number(request.headers["content-length"] ?? 0) > maxBytes) return reject(tooLarge());
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= maxBytes) return chunks.push(chunk);
      // The rest is read and dropped: a client that is cut off while it sends would never read the answer.
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

/**
 * When all connections are in use, a new one replaces the one whose client has been silent for longest. Refusing new ones
 * instead would let slow clients block the probes by which Kubernetes decides whether the process lives.
 */
function limitConnections(server: Server, mostConnections: number): void {
  // A set keeps insertion order, so the connection that has been silent for longest comes first.
  const open = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    if (open.size >= mostConnections) {
      const [longestSilent] = open;
      open.delete(longestSilent);
      longestSilent.destroy();
    }
    open.add(socket);
    socket.once("close", () => open.delete(socket));
  });
  // Only a complete request head counts: otherwise a client could hold its connection with a byte now and then.
  server.on("request", ({ socket }: IncomingMessage) => {
    if (open.delete(socket)) open.add(socket);
  });
}
