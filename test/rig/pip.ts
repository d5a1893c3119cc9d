// The one way the rig downloads Python software: the machine's own pip, with whatever index it is set up for.

import { spawnSync } from "node:child_process";
import { runTool } from "../../scripts/tensorflow/machine.ts";
import { installPackages } from "./apt-packages.ts";

let known: string | undefined;

/** Such as 3.11; undefined without Python. */
export function pythonVersion(): string | undefined {
  known ??= spawnSync("python3", ["-c", "import sys; print('%d.%d' % sys.version_info[:2])"], {
    encoding: "utf8",
  }).stdout?.trim();
  return known;
}

/** Null when pip is there, after installing it where that may be done; otherwise what to install for `what`. */
export function missingPip(what: string): string | null {
  if (!hasPip()) installPackages(["python3-pip"]);
  return hasPip() ? null : `${what} is fetched with pip: for example apt-get install python3-pip`;
}

/** Unpacks a requirement such as name==1.2.3 into the folder. Wheels only: nothing is compiled. */
export function fetchWheel(requirement: string, folder: string): Promise<void> {
  return fetchWheels([requirement], folder);
}

export function fetchWheels(requirements: readonly string[], folder: string): Promise<void> {
  const quietly = ["--quiet", "--disable-pip-version-check", "--no-input", "--root-user-action=ignore"];
  const what = ["--only-binary=:all:", "--target", folder, ...requirements];
  const advice = "check the network, or the package index that pip is configured with";
  return runTool("python3", ["-m", "pip", "install", ...quietly, ...what], advice);
}

function hasPip(): boolean {
  return spawnSync("python3", ["-m", "pip", "--version"], { stdio: "ignore" }).status === 0;
}
