// The versions of Node that the product promises to run on, each from the npm registry: a package per platform that
// holds the binary and needs no install script. Fetched once and kept in the cache; otherwise the reason for a loud
// skip.

import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { cachedFolder } from "./cache.ts";
import { isCi } from "./ci.ts";

/** The oldest that package.json allows, and the one that the images have. */
export const nodeVersions = ["20.20.2", "24.21.0"] as const;

export type NodeVersion = (typeof nodeVersions)[number];

/** Those that the tests themselves do not run on. */
export const otherNodeVersions = nodeVersions.filter(
  (version) => version.split(".")[0] !== process.versions.node.split(".")[0],
);

/** Options of a test that needs them. In CI their lack is an error. */
export async function needsOtherNodes(): Promise<{ readonly skip: string | false }> {
  const missing = await missingOtherNodes();
  if (missing !== null && isCi) throw new Error(missing);
  return { skip: missing ?? false };
}

/** Null when all are in place, after fetching them if need be; otherwise why not. */
export async function missingOtherNodes(): Promise<string | null> {
  try {
    for (const version of otherNodeVersions) await nodeBinary(version);
    return null;
  } catch (error) {
    return `other versions of Node could not be fetched with npm: ${(error as Error).message.trim()}`;
  }
}

/** The path of its binary. */
export async function nodeBinary(version: NodeVersion): Promise<string> {
  const name = `node-${process.platform}-${process.arch}`;
  const folder = await cachedFolder(`${name}-${version}`, async (target) => {
    process.stderr.write(`Fetching Node ${version} for the tests (50 MB, first time only).\n`);
    mkdirSync(target, { recursive: true });
    writeFileSync(join(target, "package.json"), '{ "private": true }\n');
    const flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-save", "--loglevel=error"];
    await promisify(execFile)("npm", ["install", ...flags, `${name}@${version}`], { cwd: target });
  });
  return join(folder, "node_modules", name, "bin", "node");
}

export interface NodeRun {
  readonly code: number;
  readonly output: string;
}

/** Runs that Node to its end. Both streams are returned. */
export async function runNode(
  version: NodeVersion,
  args: readonly string[],
  timeoutMs = 240_000,
): Promise<NodeRun> {
  const binary = await nodeBinary(version);
  // Without it a test run inside a test run would count as a part of it and do nothing.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  return new Promise((resolve, reject) => {
    const options = { env, timeout: timeoutMs, maxBuffer: 64 * 1024 * 1024 };
    execFile(binary, args, options, (error, out, err) => {
      const code = error === null ? 0 : error.code;
      if (typeof code === "number") resolve({ code, output: `${out}${err}` });
      else
        reject(
          new Error(`node ${version} ${args.join(" ")} did not end by itself:\n${out}${err}`, {
            cause: error,
          }),
        );
    });
  });
}
