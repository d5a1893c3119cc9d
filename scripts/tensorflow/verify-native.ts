// Verifies the linked files: every library finds the libraries it needs, and a separate process, which native code may
// crash, multiplies two matrices with the native backend.

import { execFile } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { findNativeBinding } from "../../src/engine/tensorflow/native-binding.ts";
import { SetupError } from "./machine.ts";
import type { MultiplyReport } from "./multiply.ts";

/** Generous, because the first load reads up to a gigabyte from disk. */
const multiplyMs = 120_000;

/** The report of the native backend. Rejects if it is missing, does not load or computes wrongly. */
export async function verifyNative(): Promise<MultiplyReport> {
  const { present, packageFolder, path, reason } = findNativeBinding();
  if (!present || packageFolder === null || path === null) throw new SetupError(reason);
  await demandLibraries([path, ...librariesBelow(join(packageFolder, "deps"))]);
  const report = await multiply();
  if (report.backend !== "native") throw new SetupError(report.reason);
  if (report.wrong > 0) {
    throw new SetupError(
      `${report.version} on ${report.device} computed ${report.wrong} entries of a matrix product wrongly; do not use it`,
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

/** The CUDA libraries are loaded only where there is a GPU; missing dependencies should be known before. */
async function demandLibraries(files: readonly string[]): Promise<void> {
  const { stdout } = await promisify(execFile)("ldd", [...files], { maxBuffer: 2 ** 24 });
  const missing = missingLibraries(stdout);
  if (missing.length === 0) return;
  throw new SetupError(
    `not found on this machine: ${missing.join(", ")}; install the packages that hold them (libz.so.1 is in zlib1g, libstdc++.so.6 in libstdc++6)`,
  );
}

/** From the output of `ldd`: `libz.so.1 => not found`. */
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
      `the native binding crashed the process that loaded it${signal ? ` (${signal})` : ""}. It does not run on a ` +
        `processor without AVX. Otherwise delete its folder in the cache and run the setup again.\n${output}`,
      error,
    );
  }
}
