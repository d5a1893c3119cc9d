// Connections of the client to one broker that answer by themselves.

import type { ConnectionPool, OpenConnection } from "../../../../src/log/kafka/client-connections.ts";

export interface Question {
  readonly apiKey: number;
  readonly apiVersion: number;
  /** The body. */
  readonly bytes: Buffer;
}

interface FakeConnections extends ConnectionPool {
  /** The writes of both connections, as far as they have reached the network. */
  readonly writes: Buffer[];
}

type Pushed = Parameters<OpenConnection["requestQueue"]["push"]>[0];

export function fakeConnections(
  answer: (question: Question) => Promise<Buffer> | Buffer,
  changes: Partial<OpenConnection> = {},
): FakeConnections {
  const writes: Buffer[] = [];
  const connect = () => connectionOf(writes, answer, changes);
  return { pool: [connect(), connect()], writes };
}

function connectionOf(
  writes: Buffer[],
  answer: (question: Question) => Promise<Buffer> | Buffer,
  changes: Partial<OpenConnection>,
): OpenConnection {
  let [correlations, corked] = [0, 0];
  const held: Buffer[] = [];
  let frame: Buffer[] = [];
  const socket = {
    get writableCorked() {
      return corked;
    },
    cork: () => void corked++,
    uncork: () => {
      corked--;
      writes.push(Buffer.concat(held.splice(0)));
    },
    write: (part: Buffer) => {
      frame.push(part);
      return held.push(part) > 0;
    },
  };
  const push = ({ entry, sendRequest }: Pushed) => {
    frame = [];
    sendRequest();
    const question = readFrame(Buffer.concat(frame), entry.correlationId);
    new Promise<Buffer>((resolve) => resolve(answer(question))).then(
      (payload) => entry.resolve({ payload }),
      entry.reject,
    );
  };
  return {
    clientId: "us",
    socket: socket as unknown as OpenConnection["socket"],
    requestQueue: { push } as unknown as OpenConnection["requestQueue"],
    isConnected: () => true,
    connect: async () => undefined,
    isAuthenticated: () => false,
    authenticate: async () => undefined,
    failIfNotConnected: () => {},
    nextCorrelationId: () => correlations++,
    ...changes,
  };
}

function readFrame(frame: Buffer, correlationId: number): Question {
  if (frame.readInt32BE(0) !== frame.length - 4) throw new Error("the length of the frame is wrong");
  if (frame.readInt32BE(8) !== correlationId) throw new Error("the correlation id is another one");
  const bodyAt = 14 + frame.readInt16BE(12);
  return {
    apiKey: frame.readInt16BE(4),
    apiVersion: frame.readInt16BE(6),
    bytes: frame.subarray(bodyAt),
  };
}
