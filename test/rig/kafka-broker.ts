// A real Kafka broker for tests: fetched once from Maven Central, one node in KRaft mode on the loopback
// interface, tuned to start and to notice failures fast.

import { execFile } from "node:child_process";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { guardedSettings } from "./broker-users.ts";
import { cachedFolder } from "./cache.ts";
import { runMavenDependency } from "./maven.ts";
import { missingParts } from "./parts.ts";
import { freePorts, guardedFolder, type Service, startService } from "./service.ts";

/** Another release can be tried: `KAFKA_VERSION_FOR_TESTS=3.9.2 npm test -- integrity`. */
export const kafkaVersion = process.env.KAFKA_VERSION_FOR_TESTS ?? "4.3.1";

/** Names the variable through which `run.ts` hands its broker to the test files. */
export const sharedBrokerVariable = "KAFKA_FOR_TESTS";

export interface Broker {
  /** host:port, for a client's list of brokers. */
  readonly bootstrap: string;
  /** Of the running process; a signal such as SIGSTOP may be sent to it. */
  readonly pid: number;
  readonly dataDir: string;
  /** As a power cut would end it; the data stay. */
  kill9(): Promise<void>;
  /** Starts it again on the same port and data, after `kill9` or, if it runs, after an orderly shutdown. */
  restart(): Promise<void>;
  /** Ends it in order and removes its data. Not needed at the end of a test file: it goes with the process. */
  stop(): Promise<void>;
}

export interface BrokerOptions {
  /** Added to server.properties, by Kafka's names. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Who may log in, beside the super user: nobody else then gets in, and nothing is allowed that was not granted. */
  readonly users?: readonly string[];
  /** Options of its Java, such as system properties. */
  readonly java?: readonly string[];
}

let ownBroker: Promise<Broker> | undefined;

/** The address of the run's shared broker, or of one started for this process when a file is run by hand. */
export async function brokerForTests(): Promise<string> {
  const shared = process.env[sharedBrokerVariable];
  if (shared !== undefined) return shared;
  ownBroker ??= startBroker();
  return (await ownBroker).bootstrap;
}

export async function startBroker(options: BrokerOptions = {}): Promise<Broker> {
  const jars = await kafkaJars();
  const [port, controllerPort] = await freePorts(2);
  const folder = guardedFolder("kafka");
  const dataDir = join(folder, "data");
  const properties = join(folder, "server.properties");
  const settings = {
    ...brokerSettings(port, controllerPort, dataDir),
    ...(options.users === undefined ? {} : guardedSettings(options.users, { port, controllerPort })),
    ...options.settings,
  };
  await formatStorage(jars, properties, settings);
  const start = (): Promise<Service> =>
    startService({
      name: "kafka",
      folder,
      command: "java",
      args: ["-XX:+UseSerialGC", "-Xmx768m", ...(options.java ?? []), "-cp", jars, "kafka.Kafka", properties],
      readyText: "Kafka Server started",
    });
  let service = await start();
  return {
    bootstrap: `127.0.0.1:${port}`,
    dataDir,
    get pid() {
      return service.pid;
    },
    kill9: () => service.end("SIGKILL"),
    async restart() {
      await service.end("SIGTERM");
      service = await start();
    },
    async stop() {
      await service.end("SIGTERM");
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The class path of a broker, fetched if need be. */
export async function kafkaJars(): Promise<string> {
  const missing = missingParts();
  if (missing !== null) throw new Error(missing);
  return join(await cachedFolder(`kafka-${kafkaVersion}`, fetchKafka), "jars", "*");
}

/** Writes the settings of a node to its file and makes its storage ready. */
export async function formatStorage(
  jars: string,
  properties: string,
  settings: Readonly<Record<string, string>>,
): Promise<void> {
  await writeFile(properties, toProperties(settings));
  await promisify(execFile)("java", [
    ...["-XX:TieredStopAtLevel=1", "-cp", jars, "kafka.tools.StorageTool"],
    ...["format", "--cluster-id", "Zm9yZWNhc3RuZXQtdGVzdA", "--config", properties],
  ]);
}

async function fetchKafka(folder: string): Promise<void> {
  process.stderr.write(`Fetching Kafka ${kafkaVersion} for the tests (44 MB, first time only).\n`);
  await writeFile(join(folder, "pom.xml"), kafkaPom);
  await runMavenDependency(
    "3.8.1:copy-dependencies",
    ["-DincludeScope=runtime", "-DoutputDirectory=jars"],
    folder,
  );
}

// slf4j-simple makes the broker log to standard error; without it the broker says nothing at all.
const kafkaPom = `<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>forecastnet</groupId><artifactId>test-broker</artifactId><version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>${kafkaVersion}</version>
    </dependency>
    <dependency>
      <groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version>
    </dependency>
  </dependencies>
</project>
`;

/** Settings under which a broker notices what happens to its clients at a test's pace. */
export const testPace: Readonly<Record<string, string>> = {
  // Dead members and abandoned transactions are noticed at a test's pace.
  "group.initial.rebalance.delay.ms": "0",
  "group.min.session.timeout.ms": "1000",
  "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
  // Compaction that a test can wait for.
  "log.cleaner.backoff.ms": "500",
  "log.cleaner.dedupe.buffer.size": String(16 * 1024 * 1024),
};

function brokerSettings(port: number, controllerPort: number, dataDir: string): Record<string, string> {
  return {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.quorum.voters": `1@127.0.0.1:${controllerPort}`,
    "controller.listener.names": "CONTROLLER",
    listeners: `PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
    "advertised.listeners": `PLAINTEXT://127.0.0.1:${port}`,
    "log.dirs": dataDir,
    "auto.create.topics.enable": "false",
    // One node, few partitions: every internal topic is created and loaded quickly.
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "4",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "4",
    // A killed broker is forgotten, and may register again, after 2 s instead of 9.
    "broker.session.timeout.ms": "2000",
    "broker.heartbeat.interval.ms": "500",
    ...testPace,
  };
}

function toProperties(settings: Readonly<Record<string, string>>): string {
  return Object.entries(settings)
    .map(([key, value]) => `${key}=${value}\n`)
    .join("");
}
