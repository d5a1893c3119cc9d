// Installs Debian packages for a test run, where that is expected of one: in CI or as root. Nobody else's machine
// is changed by running the tests.

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { isCi } from "./ci.ts";

const isRoot = process.getuid?.() === 0;

/** True where a test run may fetch and install what it lacks. */
export const mayInstall = isCi || isRoot;

/** False when it could not even be tried; whether it helped is for the caller to see. */
export function installPackages(names: readonly string[]): boolean {
  if (!mayInstall || !existsSync("/usr/bin/apt-get")) return false;
  process.stderr.write(`Installing ${names.join(" and ")} with apt-get, once.\n`);
  const install = ["apt-get", "install", "-qq", "-y", "--no-install-recommends", ...names];
  if (!runAsRoot(install)) {
    // The package lists of a fresh image are empty or old.
    runAsRoot(["apt-get", "update", "-qq"]);
    runAsRoot(install);
  }
  return true;
}

function runAsRoot(command: readonly string[]): boolean {
  const [file, ...args] = isRoot ? command : ["sudo", "-n", ...command];
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const { status } = spawnSync(file as string, args, { env, stdio: ["ignore", "ignore", "inherit"] });
  return status === 0;
}
