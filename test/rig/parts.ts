// The parts a real broker needs from the machine: Java and Maven. Says what is missing, installs it where that
// is expected of a test run, and otherwise gives the reason for a loud skip.

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

const oldestJava = 17;
const packages = ["default-jre-headless", "maven"];

/** True where a test may not be skipped for want of a part. */
export const isCi = process.env.CI === "true";

let known: string | null | undefined;

/** Null when a real broker can run here; otherwise one sentence that says what to install. */
export function missingParts(): string | null {
  if (known === undefined) known = findMissing();
  if (known !== null && installParts()) known = findMissing();
  return known;
}

function findMissing(): string | null {
  const missing: string[] = [];
  const java = javaVersion();
  if (java === null) missing.push(`Java ${oldestJava} or newer`);
  else if (java < oldestJava) missing.push(`Java ${oldestJava} or newer (found ${java})`);
  if (!isOnPath("mvn")) missing.push("Maven (mvn)");
  if (missing.length === 0) return null;
  return `a real broker needs ${missing.join(" and ")}: for example apt-get install ${packages.join(" ")}`;
}

function javaVersion(): number | null {
  // Printed to standard error as: openjdk version "17.0.15" 2025-04-15
  const { stderr } = spawnSync("java", ["-version"], { encoding: "utf8" });
  const version = /version "(\d+)/.exec(stderr ?? "");
  return version === null ? null : Number(version[1]);
}

function isOnPath(command: string): boolean {
  const folders = (process.env.PATH ?? "").split(delimiter);
  return folders.some((folder) => existsSync(join(folder, command)));
}

let hasTriedInstall = false;

/** Only in CI or as root: nobody else's machine is changed by running the tests. True when it was tried. */
function installParts(): boolean {
  const isRoot = process.getuid?.() === 0;
  if (hasTriedInstall || !isOnPath("apt-get") || !(isRoot || isCi)) return false;
  hasTriedInstall = true;
  process.stderr.write(`Installing ${packages.join(" and ")} with apt-get, once.\n`);
  const install = ["apt-get", "install", "-qq", "-y", "--no-install-recommends", ...packages];
  if (!runAsRoot(install, isRoot)) {
    // The package lists of a fresh image are empty or old.
    runAsRoot(["apt-get", "update", "-qq"], isRoot);
    runAsRoot(install, isRoot);
  }
  return true;
}

function runAsRoot(command: readonly string[], isRoot: boolean): boolean {
  const [file, ...args] = isRoot ? command : ["sudo", "-n", ...command];
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const { status } = spawnSync(file as string, args, { env, stdio: ["ignore", "ignore", "inherit"] });
  return status === 0;
}
