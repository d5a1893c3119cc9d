// A rival in another language, in a process of its own. It prints "ready" once it reads its input, and ends by itself when
// its standard input closes, which also happens when the bench is gone.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

export interface RivalCommand {
  readonly program: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export class RivalProcess {
  readonly #command: RivalCommand;
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  #complaints = "";

  private constructor(command: RivalCommand) {
    this.#command = command;
    this.#child = spawn(command.program, command.args, {
      env: { ...process.env, ...command.env },
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.#ended = once(this.#child, "exit");
    this.#child.stderr?.on("data", (text) => {
      this.#complaints = (this.#complaints + text).slice(-10_000);
    });
  }

  /** Resolves when the rival is ready. */
  static async start(command: RivalCommand): Promise<RivalProcess> {
    const rival = new RivalProcess(command);
    const lines = createInterface({ input: rival.#child.stdout as NodeJS.ReadableStream });
    const ready = new Promise<void>((resolve) => {
      lines.on("line", (line) => line === "ready" && resolve());
    });
    await Promise.race([ready, rival.#ended]);
    rival.demandRunning();
    return rival;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Throws what the rival wrote to standard error if it has ended. */
  demandRunning(): void {
    const { exitCode, signalCode } = this.#child;
    if (exitCode === null && signalCode === null) return;
    throw new Error(`${this.#command.program} ended with ${exitCode ?? signalCode}:\n${this.#complaints}`);
  }

  async stop(): Promise<void> {
    this.#child.stdin?.end();
    await this.#ended;
    if (this.#child.exitCode !== 0) this.demandRunning();
  }
}
