// The rival from the Java world: ColdTier.java on Kafka Streams. Its libraries come from Maven Central and are cached, and so
// are its classes.

import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFile, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { cachedFolder } from "../../test/rig/cache.ts";
import { runMavenDependency } from "../../test/rig/maven.ts";
import { projectRoot } from "../../test/rig/project.ts";
import { guardedFolder } from "../../test/rig/service.ts";
import type { RivalCommand } from "../rig/rival-process.ts";
import { namesOf, type WorkerNames } from "../rig/worker-process.ts";

export interface StreamsOptions {
  readonly threads: number;
  readonly store: "in-memory" | "rocksdb";
  /** Kafka Streams' own default under exactly-once is 100. */
  readonly commitMs: number;
}

const sources = join(projectRoot, "bench", "rivals", "kafka-streams");

/** Kafka Streams names the changelog after the application and the store. */
export function streamsNamesOf(name: string): WorkerNames {
  return { ...namesOf(name), state: `${name}-past-changelog` };
}

/** The command can be run again: state on disk stays until the bench ends. */
export async function streamsCommand(
  bootstrap: string,
  names: WorkerNames,
  { threads, store, commitMs }: StreamsOptions,
): Promise<RivalCommand> {
  const { jars, classes } = await build();
  const folder = guardedFolder("streams");
  const options = {
    bootstrap,
    application: names.group,
    input: names.input,
    forecasts: names.forecasts,
    schemas: join(projectRoot, "schemas"),
    threads,
    store,
    commitMs,
    stateDir: join(folder, "state"),
  };
  return {
    folder,
    program: "java",
    args: [
      "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
      ...["-Xmx1g", "-cp", `${classes}:${join(jars, "*")}`, "ColdTier"],
      ...Object.entries(options).map(([name, value]) => `${name}=${value}`),
    ],
  };
}

async function build(): Promise<{ readonly jars: string; readonly classes: string }> {
  const pom = await readFile(join(sources, "pom.xml"));
  const program = await readFile(join(sources, "ColdTier.java"));
  const jars = join(await cachedFolder(`kafka-streams-${digest(pom)}`, fetchJars), "jars");
  const classes = await cachedFolder(`kafka-streams-cold-tier-${digest(pom, program)}`, (folder) =>
    compile(jars, folder),
  );
  return { jars, classes };
}

async function fetchJars(folder: string): Promise<void> {
  process.stderr.write("Fetching Kafka Streams for the bench (100 MB, first time only).\n");
  await copyFile(join(sources, "pom.xml"), join(folder, "pom.xml"));
  await runMavenDependency(
    "3.8.1:copy-dependencies",
    ["-DincludeScope=runtime", "-DoutputDirectory=jars"],
    folder,
  );
}

async function compile(jars: string, folder: string): Promise<void> {
  await promisify(execFile)("java", [
    ...["-cp", join(jars, "*"), "org.eclipse.jdt.internal.compiler.batch.Main"],
    ...["-17", "-nowarn", "-d", folder, join(sources, "ColdTier.java")],
  ]);
}

function digest(...contents: readonly Buffer[]): string {
  const hash = createHash("sha256");
  for (const content of contents) hash.update(content);
  return hash.digest("hex").slice(0, 12);
}
