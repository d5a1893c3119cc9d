// A TCP proxy in front of one listener of a broker. A test can cut it, slow it down or, through an inspector that
// sees Kafka frames, hold single requests and answers back. Bytes are never dropped from the middle of a stream:
// a silent cut keeps them, as a network does that retransmits, and a heal delivers them, even those of a client
// that has gone.

import { once } from "node:events";
import { createConnection, createServer, type Server, type Socket } from "node:net";

/**
 * silent: nothing passes and nobody is told.
 * refuse: connections break and new ones are refused, as by a machine whose broker is gone.
 * hang-up: connections break and new ones are accepted and closed, as by a load balancer whose broker is gone.
 */
export type Cut = "silent" | "refuse" | "hang-up";

/** Sees the frames of one connection. What it does not pass on stays with it. */
export interface Inspector {
  request(chunk: Buffer, passOn: (bytes: Buffer) => void): void;
  answer(chunk: Buffer, passOn: (bytes: Buffer) => void): void;
}

/** What an inspector may do to its connection. */
export interface Connection {
  /** Breaks it off at once, on both sides; what was passed on before is still delivered to the broker. */
  reset(): void;
  readonly requests: Flow;
  readonly answers: Flow;
}

export interface ProxyOptions {
  readonly host: string;
  readonly port: number;
  readonly targetPort: number;
  readonly inspect?: (connection: Connection) => Inspector;
}

/** One direction of a connection: keeps the order, and keeps everything while it is held. */
export class Flow {
  readonly #to: Socket;
  readonly #delayMs: () => number;
  readonly #queue: { readonly bytes: Buffer; readonly dueMs: number }[] = [];
  readonly #holders = new Set<object>();
  #timer: NodeJS.Timeout | undefined;
  #hasEnded = false;

  constructor(to: Socket, delayMs: () => number) {
    this.#to = to;
    this.#delayMs = delayMs;
  }

  push(bytes: Buffer): void {
    this.#queue.push({ bytes, dueMs: performance.now() + this.#delayMs() });
    this.#drain();
  }

  /** No more comes: closes the other side once everything has been delivered. */
  end(): void {
    this.#hasEnded = true;
    this.#drain();
  }

  /** Until everybody who holds it has let go, nothing passes. */
  hold(holder: object): void {
    this.#holders.add(holder);
  }

  letGo(holder: object): void {
    this.#holders.delete(holder);
    this.#drain();
  }

  #drain(): void {
    while (this.#holders.size === 0 && this.#timer === undefined) {
      const next = this.#queue[0];
      if (next === undefined) {
        if (this.#hasEnded) this.#to.end();
        return;
      }
      const waitMs = next.dueMs - performance.now();
      if (waitMs > 0) {
        this.#timer = setTimeout(() => {
          this.#timer = undefined;
          this.#drain();
        }, waitMs);
        return;
      }
      this.#queue.shift();
      if (this.#to.writable) this.#to.write(next.bytes);
    }
  }
}

export class TcpProxy {
  readonly #options: ProxyOptions;
  readonly #connections = new Set<Connection>();
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;
  #isShut = false;
  #cut: Cut | null = null;
  #delayMs = 0;

  private constructor(options: ProxyOptions) {
    this.#options = options;
  }

  static async open(options: ProxyOptions): Promise<TcpProxy> {
    const proxy = new TcpProxy(options);
    await proxy.#listenIfOpen();
    return proxy;
  }

  async cut(how: Cut): Promise<void> {
    this.#cut = how;
    for (const connection of this.#connections) {
      if (how === "silent") for (const flow of [connection.requests, connection.answers]) flow.hold(this);
      else connection.reset();
    }
    await this.#listenIfOpen();
  }

  /** Refuses connections while there is no broker behind it, whatever else is done to it. */
  async shut(isShut: boolean): Promise<void> {
    this.#isShut = isShut;
    await this.#listenIfOpen();
  }

  /** Ends every cut and delay. */
  async heal(): Promise<void> {
    this.#cut = null;
    this.#delayMs = 0;
    for (const { requests, answers } of this.#connections) {
      requests.letGo(this);
      answers.letGo(this);
    }
    await this.#listenIfOpen();
  }

  /** From now on every piece arrives this much later, in both directions. */
  delay(ms: number): void {
    this.#delayMs = ms;
  }

  close(): void {
    this.#server?.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  async #listenIfOpen(): Promise<void> {
    const isOpen = this.#cut === "hang-up" || (this.#cut !== "refuse" && !this.#isShut);
    const server = this.#server;
    if (isOpen === (server !== undefined)) return;
    if (server !== undefined) {
      this.#server = undefined;
      server.close(); // Takes no more; those it has go on.
      return;
    }
    this.#server = createServer({ noDelay: true }, (client) => this.#connect(client));
    this.#server.listen(this.#options.port, this.#options.host);
    await once(this.#server, "listening");
    this.#server.unref();
  }

  #connect(client: Socket): void {
    if (this.#cut === "hang-up") {
      client.destroy();
      return;
    }
    const broker = createConnection({ port: this.#options.targetPort, host: "127.0.0.1", noDelay: true });
    const delayMs = () => this.#delayMs;
    const connection: Connection = {
      requests: new Flow(broker, delayMs),
      answers: new Flow(client, delayMs),
      reset() {
        client.resetAndDestroy();
        this.requests.end();
      },
    };
    const { requests, answers } = connection;
    if (this.#cut === "silent") for (const flow of [requests, answers]) flow.hold(this);
    this.#connections.add(connection);
    const inspector = this.#options.inspect?.(connection);
    client.on("data", (chunk) => {
      if (inspector === undefined) requests.push(chunk);
      else inspector.request(chunk, (bytes) => requests.push(bytes));
    });
    broker.on("data", (chunk) => {
      if (inspector === undefined) answers.push(chunk);
      else inspector.answer(chunk, (bytes) => answers.push(bytes));
    });
    for (const [from, flow] of [
      [client, requests],
      [broker, answers],
    ] as const) {
      this.#sockets.add(from);
      from.on("error", () => flow.end()); // One side broke off: so does the other, after what is on its way.
      from.on("close", () => {
        flow.end();
        this.#sockets.delete(from);
        if (client.destroyed && broker.destroyed) this.#connections.delete(connection);
      });
    }
  }
}
