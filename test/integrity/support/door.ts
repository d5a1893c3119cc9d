// A door in front of a server: clients reach it through a port that a test can close and open again, as if the
// server had gone and come back.

import { once } from "node:events";
import { createConnection, createServer, type Server, type Socket } from "node:net";

export class Door {
  readonly port: number;
  readonly #target: URL;
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;

  /** Closed at first. */
  constructor(target: string, port: number) {
    this.#target = new URL(target);
    this.port = port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}${this.#target.pathname}`;
  }

  async open(): Promise<void> {
    const server = createServer((client) => this.#connect(client));
    this.#server = server;
    server.listen(this.port, "127.0.0.1");
    await once(server, "listening");
  }

  async close(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    server.close();
    for (const socket of this.#sockets) socket.destroy();
    await once(server, "close");
  }

  #connect(client: Socket): void {
    const behind = createConnection(Number(this.#target.port), this.#target.hostname);
    for (const [from, to] of [
      [client, behind],
      [behind, client],
    ] as const) {
      this.#sockets.add(from);
      from.pipe(to);
      from.on("error", () => to.destroy()); // One side broke off: so does the other.
      from.on("close", () => {
        this.#sockets.delete(from);
        to.destroy();
      });
    }
  }
}
