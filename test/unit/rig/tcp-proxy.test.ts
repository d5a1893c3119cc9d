import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createConnection, createServer, type Server, type Socket } from "node:net";
import { afterEach, beforeEach, describe, test } from "node:test";
import { until } from "../../integrity/support/until.ts";
import { apiKeys, HeldRequests } from "../../rig/held-requests.ts";
import { freePorts } from "../../rig/service.ts";
import { TcpProxy } from "../../rig/tcp-proxy.ts";

/** Answers every request with its correlation id and the error code 47, and remembers it. */
class ScriptedBroker {
  readonly received: Buffer[] = [];
  readonly #sockets = new Set<Socket>();
  readonly #server: Server = createServer((socket) => {
    this.#sockets.add(socket);
    socket.on("error", () => undefined); // A client broke off, as these tests mean it to.
    socket.on("data", (chunk) => {
      for (let at = 0; at < chunk.length; at += 4 + chunk.readInt32BE(at)) {
        this.received.push(chunk.subarray(at, at + 4 + chunk.readInt32BE(at)));
        const answer = Buffer.alloc(14);
        answer.writeInt32BE(10, 0);
        answer.writeInt32BE(chunk.readInt32BE(at + 8), 4);
        answer.writeInt16BE(47, 12);
        socket.write(answer);
      }
    });
  });

  async listen(): Promise<number> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return (this.#server.address() as AddressInfo).port;
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}

/** A request of version 1 from the client "c", whose body is a transactional id. */
function request(apiKey: number, correlationId: number, transactionalId: string): Buffer {
  const frame = Buffer.alloc(17 + transactionalId.length);
  frame.writeInt32BE(frame.length - 4, 0);
  frame.writeInt16BE(apiKey, 4);
  frame.writeInt16BE(apiKey === apiKeys.produce ? 3 : 1, 6);
  frame.writeInt32BE(correlationId, 8);
  frame.writeInt16BE(1, 12);
  frame.write("c", 14);
  frame.writeInt16BE(transactionalId.length, 15);
  frame.write(transactionalId, 17);
  return frame;
}

class Client {
  readonly answers: number[] = [];
  isBroken = false;
  wasAccepted = false;
  readonly #socket: Socket;

  constructor(port: number) {
    this.#socket = createConnection({ port, host: "127.0.0.1" });
    this.#socket.on("error", () => undefined); // "close" follows.
    this.#socket.on("connect", () => {
      this.wasAccepted = true;
    });
    this.#socket.on("close", () => {
      this.isBroken = true;
    });
    this.#socket.on("data", (chunk) => {
      for (let at = 0; at < chunk.length; at += 4 + chunk.readInt32BE(at)) {
        this.answers.push(chunk.readInt32BE(at + 4));
      }
    });
  }

  send(...frames: readonly Buffer[]): void {
    this.#socket.write(Buffer.concat(frames));
  }

  close(): void {
    this.#socket.destroy();
  }
}

describe("a proxy in front of a broker", () => {
  let broker: ScriptedBroker;
  let proxy: TcpProxy;
  let held: HeldRequests;
  let client: Client;
  let port: number;

  beforeEach(async () => {
    broker = new ScriptedBroker();
    held = new HeldRequests();
    const targetPort = await broker.listen();
    [port] = (await freePorts(1)) as [number];
    const inspect = (connection: Parameters<HeldRequests["inspect"]>[0]) =>
      held.inspect(connection, targetPort);
    proxy = await TcpProxy.open({ host: "127.0.0.1", port, targetPort, inspect });
    client = new Client(port);
  });
  afterEach(() => {
    client.close();
    proxy.close();
    broker.close();
  });

  test("delivers after a silent cut what was sent during it, even if the client has gone", async () => {
    client.send(request(apiKeys.endTxn, 1, "g-0"));
    await until("the first answer", () => client.answers.length === 1);
    await proxy.cut("silent");
    const late = new Client(port);
    client.send(request(apiKeys.endTxn, 2, "g-0"));
    late.send(request(apiKeys.endTxn, 3, "g-0"));
    await until("both requests to be on their way", async () => {
      client.close();
      return client.isBroken;
    });
    assert.equal(broker.received.length, 1, "nothing passes a silent cut");
    await proxy.heal();
    await until("the requests to be delivered", () => broker.received.length === 3);
    await until("the answer to the client that waited", () => late.answers.length === 1);
    late.close();
  });

  for (const how of ["refuse", "hang-up"] as const) {
    test(`breaks connections and lets no new one through until it is healed (${how})`, async () => {
      client.send(request(apiKeys.endTxn, 1, "g-0"));
      await until("the first answer", () => client.answers.length === 1);
      await proxy.cut(how);
      await until("the connection to break", () => client.isBroken);
      const later = new Client(port);
      later.send(request(apiKeys.endTxn, 2, "g-0"));
      await until("the new connection to break", () => later.isBroken);
      assert.equal(later.wasAccepted, how === "hang-up");
      await proxy.heal();
      client = new Client(port);
      client.send(request(apiKeys.endTxn, 3, "g-0"));
      await until("an answer", () => client.answers.length === 1);
      assert.equal(broker.received.length, 2);
    });
  }

  test("refuses connections while it is shut", async () => {
    await proxy.shut(true);
    const refused = new Client(port);
    await until("the new connection to break", () => refused.isBroken);
    assert.equal(refused.wasAccepted, false);
    await proxy.shut(false);
    client = new Client(port);
    client.send(request(apiKeys.endTxn, 1, "g-0"));
    await until("an answer", () => client.answers.length === 1);
  });

  test("delivers a detached request alone, after its connection broke, and keeps the answer", async () => {
    const late = held.hold({ apiKeys: [apiKeys.endTxn], transactionalId: "g-", action: "detach" });
    client.send(request(apiKeys.endTxn, 1, "other"), request(apiKeys.endTxn, 2, "g-0"));
    await until("the connection to break", () => client.isBroken);
    assert.deepEqual(held.state(late), {
      ...{ isCaught: true, apiKey: apiKeys.endTxn, transactionalId: "g-0", lateAnswer: null },
    });
    assert.equal(broker.received.length, 1, "the request of the other producer passed");
    await held.release(late, "forward");
    assert.equal(broker.received.length, 2);
    assert.equal(held.state(late).lateAnswer, 47);
  });

  test("stalls the request that follows another one of the same producer, and no earlier one", async () => {
    const late = held.hold({ apiKeys: [apiKeys.endTxn], transactionalId: "g-", action: "detach" });
    const after = { hold: late, apiKey: apiKeys.produce };
    const middle = held.hold({
      ...{ apiKeys: [apiKeys.endTxn], transactionalId: "g-", action: "stall", after },
    });
    client.send(request(apiKeys.endTxn, 1, "g-0"));
    await until("the connection to break", () => client.isBroken);
    client = new Client(port);
    client.send(
      request(apiKeys.endTxn, 2, "g-0"), // A retry of the same, before any record.
      request(apiKeys.produce, 3, "g-1"),
      request(apiKeys.endTxn, 4, "g-1"),
      request(apiKeys.produce, 5, "g-0"),
      request(apiKeys.endTxn, 6, "g-0"),
      request(apiKeys.produce, 7, "g-1"),
    );
    await until("the answers before the stalled request", () => client.answers.length === 4);
    assert.equal(held.state(middle).isCaught, true);
    assert.deepEqual(client.answers, [2, 3, 4, 5]);
    await held.release(middle, "forward");
    await until("the others", () => client.answers.length === 6);
    assert.deepEqual(client.answers, [2, 3, 4, 5, 6, 7]);
  });

  test("never delivers a stalled request that is released by a reset", async () => {
    const hold = held.hold({ apiKeys: [apiKeys.produce], transactionalId: "g-", action: "stall" });
    client.send(request(apiKeys.produce, 1, "g-0"));
    await until("the request to be held", () => held.state(hold).isCaught);
    await held.release(hold, "reset");
    await until("the connection to break", () => client.isBroken);
    held.clear();
    await proxy.heal();
    client = new Client(port);
    client.send(request(apiKeys.produce, 2, "g-0"));
    await until("an answer", () => client.answers.length === 1);
    assert.equal(broker.received.length, 1);
  });

  test("loses an answer, but not its request", async () => {
    held.hold({ apiKeys: [apiKeys.endTxn], transactionalId: "g-", action: "lose-answer" });
    client.send(request(apiKeys.endTxn, 1, "g-0"));
    await until("the connection to break", () => client.isBroken);
    assert.equal(broker.received.length, 1);
    assert.deepEqual(client.answers, []);
  });

  test("keeps an answer back, and all after it, until it is released", async () => {
    const hold = held.hold({ apiKeys: [apiKeys.endTxn], transactionalId: "g-", action: "stall-answer" });
    client.send(request(apiKeys.endTxn, 1, "g-0"), request(apiKeys.produce, 2, "g-0"));
    await until("both requests to arrive", () => broker.received.length === 2);
    assert.deepEqual(client.answers, []);
    await held.release(hold, "forward");
    await until("both answers", () => client.answers.length === 2);
    assert.deepEqual(client.answers, [1, 2]);
  });
});
