// The parts a real broker needs from the machine: Java and Maven. Says what is missing, installs it where that
// is expected of a test run, and otherwise gives the reason for a loud skip.

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { installPackages } from "./apt-packages.ts";

const oldestJava = 17;
const packages = ["default-jre-headless", "maven"];

let known: string | null | undefined;
let hasTriedInstall = false;

/** Null when a real broker can run here; otherwise one sentence that says what to install. */
export function missingParts(): string | null {
  if (known === undefined) known = findMissing();
  if (known !== null && !hasTriedInstall) {
    hasTriedInstall = true;
    if (installPackages(packages)) known = findMissing();
  }
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
