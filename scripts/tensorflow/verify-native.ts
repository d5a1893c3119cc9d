// Proves that what was put into the package works: every library finds the ones it needs, and a process of its
// own (native code may end the one that loads it) multiplies two matrices with the native backend.

import { execFile } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { findNativeBinding } from "../../src/engine/tensorflow/native-binding.ts";
import { SetupError } from "./machine.ts";
import type { MultiplyReport } from "./multiply.ts";

/** Generous: the first load reads up to a gigabyte from the disk. */
const multiplyMs = 120_000;

/** What the native backend said of itself; rejects when it is absent, does not load or computes wrongly. */
export async function verifyNative(): Promise<MultiplyReport> {
  const { present, packageFolder, path, reason } = findNativeBinding();
  if (!present || packageFolder === null || path === null) throw new SetupError(reason);
  await demandLibraries([path, ...librariesBelow(join(packageFolder, "deps"))]);
  const report = await multiply();
  if (report.backend !== "native") throw new SetupError(report.reason);
  if (report.wrong > 0) {
    throw new SetupError(
      `${report.version} on ${report.device} got ${report.wrong} entries of a matrix product wrong; do not use it`,
    );
  }
  return report;
}

function librariesBelow(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.so[.0-9]*$/.test(name))
    .map((name) => join(folder, name));
}

/** The CUDA libraries are opened only where there is a GPU; what they lack should be known before that. */
async function demandLibraries(files: readonly string[]): Promise<void> {
  const { stdout } = await promisify(execFile)("ldd", [...files], { maxBuffer: 2 ** 24 });
  const missing = missingLibraries(stdout);
  if (missing.length === 0) return;
  throw new SetupError(
    `not found on this machine: ${missing.join(", ")}; install the packages that hold them (libz.so.1 is in zlib1g, libstdc++.so.6 in libstdc++6)`,
  );
}

/** Reads what `ldd` prints: `libz.so.1 => not found`. */
export function missingLibraries(lddOutput: string): string[] {
  const found = [...lddOutput.matchAll(/^\s*(\S+) => not found/gm)].map(([, name = ""]) => name);
  return [...new Set(found)].sort();
}

async function multiply(): Promise<MultiplyReport> {
  const program = fileURLToPath(new URL("./multiply.js", import.meta.url));
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [program], { timeout: multiplyMs });
    return JSON.parse(stdout) as MultiplyReport;
  } catch (error) {
    const output = error instanceof Error && "stderr" in error ? String(error.stderr).trim() : "";
    const signal = error instanceof Error && "signal" in error ? error.signal : null;
    throw new SetupError(
      `the native binding ended the process that loaded it${signal ? ` (${signal})` : ""}. A processor without AVX cannot ` +
        `run it; otherwise delete its folder in the cache and run the setup again.\n${output}`,
      error,
    );
  }
}
