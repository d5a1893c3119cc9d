// The real worker, as the command line starts it, in a process of its own.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { compiledTests } from "../../test/rig/project.ts";
import { interval } from "./fleet.ts";

/** A line of the worker's log. */
export interface LogLine {
  readonly msg: string;
  readonly time: string;
  readonly [fact: string]: unknown;
}

export interface WorkerNames {
  readonly group: string;
  readonly models: string;
  readonly input: string;
  readonly forecasts: string;
  readonly state: string;
}

/** Names for everything one worker touches; nothing is shared between two workers. */
export function namesOf(name: string): WorkerNames {
  return {
    group: name,
    models: `${name}.models`,
    input: `${name}.sensors`,
    forecasts: `${name}.forecasts`,
    state: `${name}.state`,
  };
}

/** Without models: with the defaults, every series would get one within minutes. */
export const coldTierOnly = ["--retrain.where=off"];

export class WorkerProcess {
  readonly names: WorkerNames;
  readonly #child: ChildProcess;
  readonly #lines: LogLine[] = [];
  readonly #listeners = new Set<() => void>();
  readonly #kill = () => this.#child.kill("SIGKILL");

  /** `env` adds to the environment of this process. */
  constructor(
    bootstrap: string,
    names: WorkerNames,
    flags: readonly string[] = [],
    env: Readonly<Record<string, string>> = {},
  ) {
    this.names = names;
    const cli = join(compiledTests, "..", "src", "cli", "main.js");
    const args = [
      ...[`--kafka.brokers=${bootstrap}`, `--group=${names.group}`],
      ...[`--topics.inputs=[{"topic":"${names.input}"}]`, `--topics.forecasts=${names.forecasts}`],
      `--topics.state=${names.state}`,
      // All others have the same end in every fleet of a run.
      ...["models", "deadLetters", "events", "training", "attempts"].map(
        (topic) => `--topics.${topic}=${names.group}.${topic}`,
      ),
      ...[`--series.interval=${interval}`, "--pipeline.behindAfterMs=0"],
      ...["--worker.host=127.0.0.1", "--worker.port=0"],
    ];
    this.#child = spawn(process.execPath, [cli, "worker", ...args, ...flags], {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, ...env },
    });
    process.once("exit", this.#kill);
    this.#child.once("exit", () => process.off("exit", this.#kill));
    if (this.#child.stdout === null) throw new Error("the worker was started without a pipe to its log");
    createInterface(this.#child.stdout).on("line", (line) => this.#onLine(line));
    this.#child.once("exit", () => this.#notify());
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** The last that it said, for errors. */
  get lastLine(): string {
    return JSON.stringify(this.#lines.at(-1));
  }

  /** The log lines with that message, once there are `count` of them. */
  async logged(msg: string, count = 1): Promise<readonly LogLine[]> {
    for (;;) {
      const found = this.#lines.filter((line) => line.msg === msg);
      if (found.length >= count) return found;
      if (this.#child.exitCode !== null) {
        throw new Error(`the worker ended before it logged "${msg}": ${this.lastLine}`);
      }
      await new Promise<void>((resolve) => this.#listeners.add(resolve));
    }
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const gone = once(this.#child, "exit");
    this.#child.kill("SIGTERM");
    const [code] = await gone;
    if (code !== 0) throw new Error(`the worker ended with code ${code}: ${this.lastLine}`);
  }

  #onLine(line: string): void {
    this.#lines.push(JSON.parse(line) as LogLine);
    this.#notify();
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
    this.#listeners.clear();
  }
}
