// A rival in another language, in a process of its own. It prints "ready" once it reads its input, and ends by itself when
// its standard input closes, which also happens when the bench is gone.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as wait } from "node:timers/promises";

const patienceMs = 60_000;

export interface RivalCommand {
  readonly program: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** From `guardedFolder`: the process is killed when the bench is gone, even while it is paused. */
  readonly folder: string;
}

export class RivalProcess {
  readonly #command: RivalCommand;
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  #complaints = "";
  #isStopping = false;

  private constructor(command: RivalCommand) {
    this.#command = command;
    this.#child = spawn(command.program, command.args, {
      env: { ...process.env, ...command.env },
      stdio: ["pipe", "pipe", "pipe"],
    });
    writeFileSync(join(command.folder, "pid"), String(this.#child.pid));
    this.#ended = once(this.#child, "exit").then(() => this.#onEnd());
    this.#child.stderr?.on("data", (text) => {
      this.#complaints = (this.#complaints + text).slice(-10_000);
    });
  }

  /** Resolves when the rival is ready. */
  static async start(command: RivalCommand): Promise<RivalProcess> {
    const rival = new RivalProcess(command);
    const lines = createInterface({ input: rival.#child.stdout as NodeJS.ReadableStream });
    const ready = new Promise<"ready">((resolve) => {
      lines.on("line", (line) => line === "ready" && resolve("ready"));
    });
    const outcome = await Promise.race([ready, rival.#ended, wait(patienceMs, "late", { ref: false })]);
    if (outcome !== "ready") {
      rival.#child.kill("SIGKILL");
      throw new Error(
        `${command.program} was not ready after ${patienceMs} ms, or ended:\n${rival.#complaints}`,
      );
    }
    return rival;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** An idle rival would still poll, at the expense of whoever is being timed. */
  pause(): void {
    this.#child.kill("SIGSTOP");
  }

  resume(): void {
    this.#child.kill("SIGCONT");
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    this.resume();
    this.#child.stdin?.end();
    await this.#ended;
  }

  /** Whoever waits for its forecasts would wait in vain, and not know why. */
  #onEnd(): void {
    const { exitCode, signalCode } = this.#child;
    if (this.#isStopping && exitCode === 0) return;
    const outcome = `${this.#command.program} ended with ${exitCode ?? signalCode}`;
    process.stderr.write(`${outcome}:\n${this.#complaints}\n`);
  }
}
