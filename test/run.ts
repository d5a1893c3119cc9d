// The test command: the linter, then the tests that need no broker, two files at a time. Beside them run those that do, one file
// at a time: first on one shared real broker, then on three. They mostly wait, so together they take little longer.
//
//   npm test                  everything
//   npm test -- --unit        all that needs no broker
//   npm test -- window        the test files whose path contains "window", without the linter

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { isCi } from "./rig/ci.ts";
import { shareCluster } from "./rig/cluster-control.ts";
import { sharedBrokerVariable, startBroker } from "./rig/kafka-broker.ts";
import { neededParts } from "./rig/needed-parts.ts";
import { missingParts } from "./rig/parts.ts";
import { compiledTests, filesBelow, projectRoot } from "./rig/project.ts";
import { TestSuite } from "./rig/test-suite.ts";

const args = process.argv.slice(2);
const isUnitOnly = args.includes("--unit");
const nameParts = args.filter((arg) => !arg.startsWith("-"));

// From the sources, not from the compiled folder, which may still hold tests that were deleted.
const selected = filesBelow("test")
  .filter((path) => path.endsWith(".test.ts"))
  .filter((path) => nameParts.length === 0 || nameParts.some((part) => path.includes(part)));
const needsCluster = (path: string): boolean => path.startsWith("test/integrity/cluster-");
const needsBroker = (path: string): boolean =>
  /^test\/(integrity\/|contract\/kafka)/.test(path) && !needsCluster(path);
const quick = selected.filter((path) => !needsBroker(path) && !needsCluster(path)).map(compiledPath);
const onBroker = isUnitOnly ? [] : selected.filter(needsBroker).map(compiledPath);
const onCluster = isUnitOnly ? [] : selected.filter(needsCluster).map(compiledPath);

// Reaches the test processes and the workers they start.
process.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ""} --enable-source-maps`;

const suite = new TestSuite({ fileTimeoutMs: 15 * 60_000 });
const notes: string[] = [];

if (nameParts.length === 0) suite.addCheck("lint", lint());
await provideParts();
await Promise.all([suite.runFiles(quick, 2), runOnBrokers()]);
process.exitCode = (await suite.finish(notes)) ? 0 : 1;

async function provideParts(): Promise<void> {
  for (const { name, isNeededBy, missing } of neededParts) {
    const problem = selected.some(isNeededBy) ? await missing() : null;
    if (problem === null) continue;
    if (isCi) suite.addProblem(problem);
    else notes.push(`SKIPPED the tests on ${name}: ${problem}`);
  }
}

async function runOnBrokers(): Promise<void> {
  if (onBroker.length > 0) {
    await runOn("a real broker", onBroker, async () => {
      const broker = await startBroker();
      process.env[sharedBrokerVariable] = broker.bootstrap;
      return () => broker.stop();
    });
  }
  if (onCluster.length > 0) {
    await runOn("three real brokers", onCluster, async () => {
      const cluster = await shareCluster();
      return () => cluster.shutDown();
    });
  }
}

/** Runs the files one at a time on what `start` provides, and ends that with what `start` returns. */
async function runOn(
  what: string,
  files: readonly string[],
  start: () => Promise<() => Promise<void>>,
): Promise<void> {
  const missing = missingParts();
  if (missing !== null && !isCi) {
    suite.addSkipped(files.length);
    notes.push(`SKIPPED ${files.length} test files: ${missing}`);
    return;
  }
  let end: () => Promise<void>;
  try {
    end = await start();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    suite.addProblem(`${files.length} test files did not run, for want of ${what}: ${why}`);
    return;
  }
  await suite.runFiles(files, 1);
  await end();
}

/** Null when the linter finds nothing; it has printed what it finds. */
function lint(): string | null {
  const biome = join(projectRoot, "node_modules", ".bin", "biome");
  const { status, error } = spawnSync(biome, ["check"], {
    cwd: projectRoot,
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (status === 0) return null;
  return error?.message ?? "biome found problems, shown above; `npm run format` mends most of them";
}

function compiledPath(source: string): string {
  return join(compiledTests, source.replace(/^test\//, "").replace(/\.ts$/, ".js"));
}
