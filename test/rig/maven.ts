// The one way the rig downloads Java software: the machine's own Maven, with whatever mirror it is set up for.

import { execFile } from "node:child_process";
import { promisify } from "node:util";

const downloadMs = 10 * 60_000;

/** A goal of Maven's dependency plugin, given as version:goal, run in `folder`. */
export async function runMavenDependency(
  goal: string,
  args: readonly string[],
  folder: string,
): Promise<void> {
  const plugin = `org.apache.maven.plugins:maven-dependency-plugin:${goal}`;
  try {
    await promisify(execFile)("mvn", ["-B", "-q", plugin, ...args], { cwd: folder, timeout: downloadMs });
  } catch (error) {
    const output = error instanceof Error && "stdout" in error ? String(error.stdout).trim() : "";
    throw new Error(`mvn ${goal} failed; check that Maven can reach its repository.\n${output}`, {
      cause: error,
    });
  }
}
