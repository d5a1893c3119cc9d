// The command line of the setup, and the folder of its cache.

import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import type { Variant } from "./recipe.ts";

export const usage = `usage: npm run setup:tensorflow -- cpu|gpu [--cache DIR]
       npm run setup:tensorflow -- --check

  cpu          TensorFlow for the CPU: downloads 207 MB, needs 0.6 GB of disk space
  gpu          TensorFlow with CUDA 12 for NVIDIA GPUs: downloads 2.1 GB, needs 3.4 GB of disk space
  --cache DIR  folder of the cache (default: forecastnet in the user's cache folder)
  --check      only verify the present installation
`;

export interface SetupOptions {
  /** Null for --check. */
  readonly variant: Variant | null;
  readonly cacheBase: string;
}

/** The downloads of the tests use it, too. */
export function defaultCacheBase(env: Readonly<Record<string, string | undefined>>): string {
  return join(env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "forecastnet");
}

/** The options, or what is wrong with the command line. */
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
    return word === undefined
      ? { variant: null, cacheBase }
      : `--check takes no variant, but "${word}" was given`;
  }
  if (more.length > 0) return `give one variant, not "${positionals.join(" ")}"`;
  if (word !== "cpu" && word !== "gpu") return `give a variant, cpu or gpu${word ? `, not "${word}"` : ""}`;
  return { variant: word, cacheBase };
}
