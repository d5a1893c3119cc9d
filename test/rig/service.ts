// A real server as a child process of a test. It never outlives the test process, however that ends, and
// neither does its folder.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";

export interface ServiceOptions {
  readonly name: string;
  /** From `guardedFolder`; holds the log and the process id. */
  readonly folder: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The service is ready once its log contains this text. */
  readonly readyText: string;
}

export interface Service {
  readonly pid: number;
  /** Sends the signal and resolves once the process is gone. */
  end(signal: "SIGTERM" | "SIGKILL"): Promise<void>;
}

const readyMs = 60_000;

// Waits for the end of its standard input, which comes when the test process is gone, SIGKILL included.
const watchdog = `
read -r _
[ -f "$1/pid" ] && kill -9 "$(cat "$1/pid")" && sleep 1
rm -rf "$1"
`;

/** A temporary folder that is removed after this process, once the service in it has been killed. */
export function guardedFolder(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `forecastnet-${name}-`));
  const guard = spawn("sh", ["-c", watchdog, "sh", folder], {
    // A session of its own, so that Ctrl-C in a terminal ends the tests but not the guard.
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  guard.unref();
  unrefStream(guard.stdin);
  return folder;
}

/** Starts the service and waits until it says that it is ready. */
export async function startService(options: ServiceOptions): Promise<Service> {
  const logPath = join(options.folder, `${options.name}.log`);
  const pidPath = join(options.folder, "pid");
  const log = openSync(logPath, "w");
  const child = spawn(options.command, options.args, {
    cwd: options.folder,
    env: { ...process.env, ...options.env },
    stdio: ["ignore", log, log],
  });
  child.once("exit", () => rmSync(pidPath, { force: true }));
  await once(child, "spawn");
  writeFileSync(pidPath, String(child.pid));
  await untilReady(child, options, logPath);
  // From here on the service does not keep the test process alive.
  child.unref();
  return { pid: child.pid as number, end: (signal) => endChild(child, signal) };
}

async function untilReady(child: ChildProcess, options: ServiceOptions, logPath: string): Promise<void> {
  const deadline = Date.now() + readyMs;
  for (;;) {
    const log = readFileSync(logPath, "utf8");
    if (log.includes(options.readyText)) return;
    const tail = log.split("\n").slice(-30).join("\n");
    if (hasEnded(child)) {
      throw new Error(
        `${options.name} ended before it was ready; the last lines of its log say why:\n${tail}`,
      );
    }
    if (Date.now() > deadline) {
      await endChild(child, "SIGKILL");
      throw new Error(
        `${options.name} was not ready after ${readyMs} ms; the last lines of its log:\n${tail}`,
      );
    }
    await wait(50);
  }
}

async function endChild(child: ChildProcess, signal: "SIGTERM" | "SIGKILL"): Promise<void> {
  if (hasEnded(child)) return;
  child.ref();
  const gone = once(child, "exit");
  child.kill(signal);
  await gone;
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

function unrefStream(stream: object): void {
  if ("unref" in stream && typeof stream.unref === "function") stream.unref();
}

/**
 * Ports nobody listens on. Taken from below the range the system gives to outgoing connections: a client that
 * keeps dialling a dead service on a port of that range can connect to itself and so block the restart.
 */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = 10_000 + Math.floor(Math.random() * 20_000);
    if (await isFree(port)) ports.add(port);
  }
  return [...ports];
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const listening = new Promise<boolean>((resolve) => {
    server.once("listening", () => resolve(true));
    server.once("error", () => resolve(false));
  });
  server.listen(port, "127.0.0.1");
  const free = await listening;
  if (free) server.close();
  return free;
}
