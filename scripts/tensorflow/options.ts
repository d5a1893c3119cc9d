// The command line of the setup, and where it keeps its cache.

import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import type { Variant } from "./recipe.ts";

export const usage = `usage: npm run setup:tensorflow -- cpu|gpu [--cache DIR]
       npm run setup:tensorflow -- --check

  cpu          TensorFlow for the processor: 207 MB to fetch, 0.6 GB on disk
  gpu          with CUDA 12 for NVIDIA GPUs: 2.1 GB to fetch, 3.4 GB on disk
  --cache DIR  keep the finished files below DIR (default: forecastnet in the user's cache folder)
  --check      set nothing up; verify what is there
`;

export interface SetupOptions {
  /** Null when there is only to check. */
  readonly variant: Variant | null;
  readonly cacheBase: string;
}

/** Shared with the downloads of the tests. */
export function defaultCacheBase(env: Readonly<Record<string, string | undefined>>): string {
  return join(env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "forecastnet");
}

/** The options, or the sentence that says what is wrong with the command line. */
export function parseOptions(
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): SetupOptions | string {
  let parsed: { values: { cache?: string; check?: boolean }; positionals: string[] };
  try {
    parsed = parseArgs({
      args: [...argv],
      options: { cache: { type: "string" }, check: { type: "boolean" } },
      allowPositionals: true,
    });
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  const { values, positionals } = parsed;
  const [word, ...more] = positionals;
  const cacheBase = values.cache === undefined ? defaultCacheBase(env) : resolve(values.cache);
  if (values.check === true) {
    return word === undefined ? { variant: null, cacheBase } : `--check takes no variant, and got "${word}"`;
  }
  if (more.length > 0) return `one variant at a time, and got "${positionals.join(" ")}"`;
  if (word !== "cpu" && word !== "gpu") return `name a variant, cpu or gpu${word ? `, not "${word}"` : ""}`;
  return { variant: word, cacheBase };
}
