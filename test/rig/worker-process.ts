// A worker, a trainer or sensors as a user runs them: `forecastnet worker --config …` in a process of its own, told what to do by
// signals and asked how it is through its log and its pages. It never outlives the test process.

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { guardedFolder } from "./service.ts";

const commandLine = fileURLToPath(new URL("../../src/cli/main.js", import.meta.url));
const commandMs = 90_000;

export type Role = "worker" | "trainer" | "sensors";

export interface CommandEnd {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs a command that ends by itself, as a user does at the keyboard. */
export function runCommand(words: readonly string[], config: object): Promise<CommandEnd> {
  const configPath = join(guardedFolder("command"), "config.json");
  writeFileSync(configPath, JSON.stringify(config));
  const argv = [commandLine, ...words, "--config", configPath];
  return new Promise((resolve, reject) => {
    execFile(process.execPath, argv, { timeout: commandMs }, (error, out, err) => {
      const code = error === null ? 0 : error.code;
      if (typeof code === "number") resolve({ code, out, err });
      else reject(error); // It could not be run, or had to be ended.
    });
  });
}

export interface LogLine {
  readonly msg: string;
  readonly [fact: string]: unknown;
}

export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface Page {
  readonly status: number;
  readonly body: string;
}

export class WorkerProcess {
  readonly name: string;
  readonly ended: Promise<Ending>;
  readonly #child: ChildProcess;
  readonly #logPath: string;

  private constructor(name: string, child: ChildProcess, logPath: string) {
    this.name = name;
    this.#child = child;
    this.#logPath = logPath;
    this.ended = once(child, "exit").then(([code, signal]) => ({ code, signal }));
  }

  static async start(
    name: string,
    config: object,
    role: Role = "worker",
    flags: readonly string[] = [],
  ): Promise<WorkerProcess> {
    const folder = guardedFolder("worker");
    const configPath = join(folder, "config.json");
    const logPath = join(folder, "worker.log");
    const pidPath = join(folder, "pid"); // whom the folder's guard kills after this process
    writeFileSync(configPath, JSON.stringify(config));
    const log = openSync(logPath, "w");
    const child = spawn(process.execPath, [commandLine, role, "--config", configPath, ...flags], {
      stdio: ["ignore", log, log],
    });
    child.once("exit", () => rmSync(pidPath, { force: true }));
    await once(child, "spawn");
    writeFileSync(pidPath, String(child.pid));
    return new WorkerProcess(name, child, logPath);
  }

  get isAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  signal(signal: "SIGTERM" | "SIGKILL" | "SIGSTOP" | "SIGCONT"): void {
    this.#child.kill(signal);
  }

  /** Sends the signal and resolves once the process is gone. */
  end(signal: "SIGTERM" | "SIGKILL"): Promise<Ending> {
    if (this.isAlive) this.signal(signal);
    return this.ended;
  }

  /** What it has logged so far; text that is no JSON, such as a stack trace, is passed over. */
  lines(): LogLine[] {
    return readFileSync(this.#logPath, "utf8")
      .split("\n")
      .filter((line) => line.startsWith("{") && line.endsWith("}"))
      .map((line) => JSON.parse(line));
  }

  linesOf(message: string): LogLine[] {
    return this.lines().filter(({ msg }) => msg === message);
  }

  lastLines(count: number): string {
    return readFileSync(this.#logPath, "utf8").trimEnd().split("\n").slice(-count).join("\n");
  }

  /** Null while the worker does not listen, or answers too slowly to be asked. */
  async page(path: string): Promise<Page | null> {
    const port = this.linesOf("http listening")[0]?.port;
    if (port === undefined) return null;
    try {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`, { signal: AbortSignal.timeout(2_000) });
      return { status: answer.status, body: (await answer.text()).trim() };
    } catch {
      return null; // not there, which is what the caller asked to know
    }
  }

  /** The sum of a metric over those of its label sets that hold all of `labels`, as text; null while not listening. */
  async metric(name: string, labels = ""): Promise<number | null> {
    const body = (await this.page("/metrics"))?.body;
    if (body === undefined) return null;
    const lines = body.split("\n").filter((line) => /^[{ ]/.test(line.slice(name.length)));
    return lines
      .filter((line) => line.startsWith(name) && line.includes(labels))
      .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
  }

  async isReady(): Promise<boolean> {
    return (await this.page("/readyz"))?.status === 200;
  }
}
