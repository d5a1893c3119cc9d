// A real schema registry for tests: Apicurio, which speaks the Confluent protocol, keeping its schemas in memory.

import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { cachedFolder } from "./cache.ts";
import { runMavenDependency } from "./maven.ts";
import { missingParts } from "./parts.ts";
import { freePorts, guardedFolder, startService } from "./service.ts";

const registryVersion = "3.0.9";

export interface Registry {
  /** Base address of the Confluent-compatible API. */
  readonly url: string;
  readonly pid: number;
  /** Ends it in order. Not needed at the end of a test file: it goes with the process. */
  stop(): Promise<void>;
}

export async function startRegistry(): Promise<Registry> {
  const missing = missingParts();
  if (missing !== null) throw new Error(missing);
  const software = await cachedFolder(`apicurio-${registryVersion}`, fetchRegistry);
  const [port] = await freePorts(1);
  const folder = guardedFolder("registry");
  const service = await startService({
    name: "registry",
    folder,
    command: "java",
    args: [
      "-XX:+UseSerialGC",
      "-Xmx384m",
      "-jar",
      join(software, `apicurio-registry-app-${registryVersion}-runner.jar`),
    ],
    env: {
      QUARKUS_HTTP_HOST: "127.0.0.1",
      QUARKUS_HTTP_PORT: String(port),
      // Or it would not say when it is ready.
      QUARKUS_LOG_CATEGORY__IO_QUARKUS__LEVEL: "INFO",
    },
    readyText: "Listening on",
  });
  return {
    url: `http://127.0.0.1:${port}/apis/ccompat/v7`,
    pid: service.pid,
    async stop() {
      await service.end("SIGTERM");
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function fetchRegistry(folder: string): Promise<void> {
  process.stderr.write(`Fetching Apicurio ${registryVersion} for the tests (109 MB, first time only).\n`);
  const artifact = `io.apicurio:apicurio-registry-app:${registryVersion}:tar.gz:all`;
  // Not a newer plugin: 3.x reads the artifact's parent description, which was never published.
  await runMavenDependency("2.10:copy", [`-Dartifact=${artifact}`, "-DoutputDirectory=."], folder);
  const archive = join(folder, `apicurio-registry-app-${registryVersion}-all.tar.gz`);
  await promisify(execFile)("tar", ["xzf", archive, "-C", folder]);
  await rm(archive);
}
