// What the setup needs of the machine: the platform, Python with pip, a C++ compiler and disk space. An error says what to
// install. Also runs the tools.

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { statfsSync } from "node:fs";

/** A problem that the user can fix; the message says how. */
export class SetupError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "SetupError";
  }
}

export interface Platform {
  readonly os: string;
  readonly arch: string;
  /** Null with another C library. */
  readonly glibc: string | null;
}

export function thisPlatform(): Platform {
  const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } };
  return { os: process.platform, arch: process.arch, glibc: header.glibcVersionRuntime ?? null };
}

/** Why the native part cannot run here and what runs instead; null if it can run. */
export function platformProblem({ os, arch, glibc }: Platform): string | null {
  const rest = "forecasts run on the simd engine or on TensorFlow's plain backend instead";
  if (os !== "linux" || arch !== "x64") {
    return `native TensorFlow needs Linux on x64, but this is ${os} on ${arch}; ${rest}`;
  }
  if (glibc === null) {
    return `native TensorFlow needs the GNU C library, which this Linux does not have: use an image based on Debian, for example; ${rest}`;
  }
  return null;
}

/** One sentence per missing tool, with what to install. */
export function missingTools(): string[] {
  const problems: string[] = [];
  if (!answers("python3", ["--version"])) {
    problems.push(
      "python3 was not found: install it with pip, for example apt-get install python3 python3-pip",
    );
  } else if (!answers("python3", ["-m", "pip", "--version"])) {
    problems.push("python3 has no pip: install it, for example apt-get install python3-pip");
  }
  if (!answers("g++", ["--version"])) {
    problems.push("g++ was not found: install a C++ compiler, for example apt-get install g++");
  }
  return problems;
}

function answers(command: string, args: readonly string[]): boolean {
  return spawnSync(command, args, { stdio: "ignore" }).status === 0;
}

export function demandDisk(folder: string, neededMb: number): void {
  const { bavail, bsize } = statfsSync(folder);
  const freeMb = Math.floor((bavail * bsize) / 2 ** 20);
  if (freeMb >= neededMb) return;
  throw new SetupError(
    `${folder} has ${freeMb} MB free, but the setup needs ${neededMb}: free some space, or choose another folder with --cache`,
  );
}

/** Runs a program that ends with this process and writes to standard error. Rejects with `advice` if it fails. */
export async function runTool(command: string, args: readonly string[], advice: string): Promise<void> {
  const child = spawn(command, args, { stdio: ["ignore", 2, 2] });
  const endChild = (): void => {
    child.kill();
  };
  process.once("exit", endChild);
  const [code, signal] = (await once(child, "exit")) as [number | null, string | null];
  process.off("exit", endChild);
  if (code === 0) return;
  const end = signal === null ? `ended with ${code}` : `was ended by ${signal}`;
  throw new SetupError(`${command} ${args.slice(0, 3).join(" ")} … ${end}: ${advice}`);
}
