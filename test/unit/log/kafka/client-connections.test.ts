import assert from "node:assert/strict";
import { test } from "node:test";
import { sendRequest } from "../../../../src/log/kafka/client-connections.ts";
import {
  encodeRequest,
  fetchCommitted,
  produce,
  withoutSession,
} from "../../../../src/log/kafka/wire/protocol.ts";
import { endTxn } from "../../../../src/log/kafka/wire/transaction-requests.ts";
import { fakeConnections, type Question } from "./fake-connections.ts";
import { turns } from "./instant-delays.ts";

const end = endTxn({ transactionalId: "g-0", producerId: 1, epoch: 0 }, true);
const answer = Buffer.from("answer");

test("a request goes out as one frame, and its answer comes back unchanged", async () => {
  const asked: Question[] = [];
  const connections = fakeConnections((question) => {
    asked.push(question);
    return answer;
  });
  assert.equal(await sendRequest(connections, end, 5), answer);
  assert.deepEqual(asked, [{ apiKey: 26, apiVersion: 1, bytes: encodeRequest(end) }]);
});

test("requests that start in the same turn go out in one write, later ones in another", async () => {
  const connections = fakeConnections(() => answer);
  const first = [
    sendRequest(connections, end, 5),
    Promise.resolve().then(() => sendRequest(connections, end, 5)),
  ];
  assert.equal(connections.writes.length, 0);
  await Promise.all(first);
  await turns();
  await sendRequest(connections, end, 5);
  await turns();
  const [both, single] = connections.writes.map(({ length }) => length);
  assert.equal(connections.writes.length, 2);
  assert.equal(both, 2 * single);
});

test("a large record batch reaches the socket without a copy, between the bytes around it", async () => {
  const batches = [3, 5000, 9000].map((size, partition) => ({
    topic: "t",
    partition,
    bytes: Buffer.alloc(size, partition + 1),
  }));
  const request = produce("g-0", batches, 10);
  const asked: Question[] = [];
  const connections = fakeConnections((question) => {
    asked.push(question);
    return answer;
  });
  const parts: Buffer[] = [];
  const { socket } = connections.pool[0];
  const { write } = socket;
  Object.assign(socket, { write: (part: Buffer) => parts.push(part) > 0 && write(part) });
  await sendRequest(connections, request, 5);
  assert.ok(parts.includes(batches[1].bytes) && parts.includes(batches[2].bytes));
  assert.deepEqual(asked[0].bytes, encodeRequest(request));
});

test("fetches have a connection of their own, so that no other request waits behind them", async () => {
  const connections = fakeConnections(() => answer);
  const used: string[] = [];
  for (const [i, name] of ["general", "fetches"].entries())
    Object.assign(connections.pool[i], { failIfNotConnected: () => used.push(name) });
  await sendRequest(connections, end, 5);
  await sendRequest(
    connections,
    fetchCommitted({ ...withoutSession, places: [] }, { maxWaitMs: 1, maxBytes: 1 }),
    5,
  );
  assert.deepEqual(used, ["general", "fetches"]);
});

test("a connection is opened and logged in before the first request, and logged in again when that expires", async () => {
  const calls: string[] = [];
  let [isConnected, isAuthenticated] = [false, false];
  const connections = fakeConnections(() => answer, {
    sasl: {},
    isConnected: () => isConnected,
    isAuthenticated: () => isAuthenticated,
    connect: async () => {
      calls.push("connect");
      isConnected = true;
    },
    authenticate: async () => {
      calls.push("authenticate");
      isAuthenticated = true;
    },
  });
  await sendRequest(connections, end, 5);
  await sendRequest(connections, end, 5);
  isAuthenticated = false;
  await sendRequest(connections, end, 5);
  assert.deepEqual(calls, ["connect", "authenticate", "authenticate"]);
});

test("nothing is sent over a connection that has closed", async () => {
  const connections = fakeConnections(() => assert.fail("asked"), {
    failIfNotConnected: () => {
      throw new Error("Not connected");
    },
  });
  await assert.rejects(sendRequest(connections, end, 5), /Not connected/);
});
