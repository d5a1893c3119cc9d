// Sends requests over the client's connections. The client opens them, logs in, and matches answers to requests in its
// request queue. We write the frames ourselves: the client copies a request three times, and goes through a dozen promises
// for each.
//
// Requests that start in the same turn of the event loop go into one write per socket. A write costs more than all else
// that a small request takes.

import type { Socket } from "node:net";
import type { RequestQueue } from "./idle-timers.ts";
import { type Api, apis, encodeFrame, type KafkaRequest } from "./wire/protocol.ts";

/** The parts of kafkajs' Connection that its types omit. */
export interface OpenConnection {
  readonly clientId: string;
  readonly socket: Pick<Socket, "cork" | "uncork" | "write" | "writableCorked">;
  /** Missing without a login. */
  readonly sasl?: unknown;
  readonly requestQueue: RequestQueue & { push(request: QueuedRequest): void };
  isConnected(): boolean;
  connect(): Promise<unknown>;
  isAuthenticated(): boolean;
  authenticate(): Promise<void>;
  /** Throws unless the connection is open. */
  failIfNotConnected(): void;
  nextCorrelationId(): number;
}

interface QueuedRequest {
  readonly entry: {
    readonly apiKey: number;
    readonly apiName: Api;
    readonly apiVersion: number;
    readonly correlationId: number;
    resolve(answer: { readonly payload: Buffer }): void;
    reject(error: unknown): void;
  };
  readonly expectResponse: true;
  readonly requestTimeout: number;
  sendRequest(): void;
}

/** Both connections to a broker. */
export interface ConnectionPool {
  readonly pool: readonly [general: OpenConnection, fetches: OpenConnection];
}

/** Returns the bytes of the answer. */
export function sendRequest(
  { pool: [general, fetches] }: ConnectionPool,
  request: KafkaRequest<unknown>,
  answerMs: number,
): Promise<Buffer> {
  const connection = request.api === "Fetch" ? fetches : general;
  return isReady(connection)
    ? exchange(connection, request, answerMs)
    : makeReady(connection).then(() => exchange(connection, request, answerMs));
}

function isReady(connection: OpenConnection): boolean {
  return connection.isConnected() && (!connection.sasl || connection.isAuthenticated());
}

async function makeReady(connection: OpenConnection): Promise<void> {
  if (!connection.isConnected()) await connection.connect();
  // Also renews a session that is about to expire.
  if (connection.sasl && !connection.isAuthenticated()) await connection.authenticate();
}

function exchange(
  connection: OpenConnection,
  request: KafkaRequest<unknown>,
  requestTimeout: number,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    connection.failIfNotConnected();
    const { key: apiKey, version: apiVersion } = apis[request.api];
    const correlationId = connection.nextCorrelationId();
    const frame = encodeFrame(request, correlationId, connection.clientId);
    connection.requestQueue.push({
      entry: {
        apiKey,
        apiName: request.api,
        apiVersion,
        correlationId,
        resolve: ({ payload }) => resolve(payload),
        reject,
      },
      expectResponse: true,
      requestTimeout,
      sendRequest: () => writeInTurn(connection.socket, frame),
    });
  });
}

function writeInTurn(socket: OpenConnection["socket"], frame: readonly Buffer[]): void {
  if (socket.writableCorked === 0) {
    socket.cork();
    // After all promises of this turn.
    process.nextTick(() => socket.uncork());
  }
  for (const part of frame) socket.write(part);
}
