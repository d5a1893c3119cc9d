// A contestant: a process of its own, pinned to one core where the system lets us, that answers questions. Only one
// is asked at a time, so no two of them ever compute side by side.

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { createInterface, type Interface } from "node:readline";
import type { Answer, Question } from "./protocol.ts";

export class ContestantProcess {
  readonly #child: ChildProcess;
  readonly #lines: Interface;
  readonly #errors: string[] = [];
  #settle: ((answer: Answer<unknown>) => void) | undefined;

  constructor(command: readonly string[], environment: Readonly<Record<string, string>> = {}) {
    const [program, ...args] = [...pinning, ...command];
    this.#child = spawn(program, args, {
      stdio: ["pipe", "pipe", "pipe"],
      env: { ...process.env, ...environment },
    });
    const { stdout, stderr } = this.#child;
    if (stdout === null || stderr === null) throw new Error("a contestant was started without pipes");
    this.#lines = createInterface(stdout);
    // Libraries greet on standard output too; only JSON is meant for us.
    this.#lines.on("line", (line) => line.startsWith("{") && this.#settle?.(JSON.parse(line)));
    stderr.on("data", (chunk) => this.#errors.push(String(chunk)));
    const onEnd = (): void => this.#settle?.({ error: `ended: ${this.#errors.join("").trim().slice(-400)}` });
    this.#child.once("error", (error) => this.#settle?.({ error: error.message }));
    this.#child.once("close", onEnd);
    // Writing to one that has ended is answered by its end.
    this.#child.stdin?.on("error", () => {});
  }

  /** Rejects with what the contestant says is wrong. */
  async ask<Result>(question: Question): Promise<Result> {
    if (this.#child.exitCode !== null) throw new Error("the contestant has ended");
    const answer = await new Promise<Answer<Result>>((resolve) => {
      this.#settle = (given) => resolve(given as Answer<Result>);
      this.#child.stdin?.write(`${JSON.stringify(question)}\n`);
    });
    this.#settle = undefined;
    if (typeof answer === "object" && answer !== null && "error" in answer) throw new Error(answer.error);
    return answer as Result;
  }

  close(): void {
    this.#child.stdin?.end();
  }
}

/** The command that pins what follows it to one core; empty where there is none. */
const pinning: readonly string[] = findPinning();

export const isPinned = pinning.length > 0;

function findPinning(): readonly string[] {
  // The last core: the first one is where systems like to put their interrupts.
  const command = ["taskset", "-c", String(availableParallelism() - 1)];
  try {
    execFileSync(command[0], [...command.slice(1), "true"], { stdio: "ignore" });
    return command;
  } catch {
    return [];
  }
}
