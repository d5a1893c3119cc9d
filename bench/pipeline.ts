// `npm run bench:pipeline`: the figures of the pipeline on a real broker. Prints them, and writes each part of docs/benchmarks.md as
// soon as it is measured, unless the run is a quick one. What is compared with each other is measured side by side, in one part.
//
//   npm run bench:pipeline                              everything, more than an hour
//   npm run bench:pipeline -- --quick                   in a few minutes; too short to publish, and to warm up a JVM
//   npm run bench:pipeline -- --only=throughput,latency these parts; their names are below

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { openKafkaLog } from "../src/log/kafka/kafka-log.ts";
import type { Log } from "../src/log/log.ts";
import { systemClock } from "../src/runtime/clock.ts";
import { silentLogger } from "../src/runtime/logging.ts";
import { type Broker, startBroker } from "../test/rig/kafka-broker.ts";
import { KafkaCluster } from "../test/rig/kafka-cluster.ts";
import { measureCompression } from "./compression.ts";
import { measureGrowth } from "./growth.ts";
import { measureHour } from "./hour.ts";
import { measureLatency } from "./latency.ts";
import { measureMemory } from "./memory.ts";
import { measurePartitions } from "./partitions.ts";
import { measureRestore } from "./restore.ts";
import { Cluster } from "./rig/cluster.ts";
import { describeMachine, type Section, toMarkdown, writePart } from "./rig/report.ts";
import { measureRss } from "./rss.ts";
import { measureScale } from "./scale.ts";
import { measureScrape } from "./scrape.ts";
import { measureSoak } from "./soak.ts";
import { measureThroughput } from "./throughput.ts";

const titles = {
  throughput: "The pipeline: throughput",
  latency: "The pipeline: latency",
  memory: "The pipeline: memory per series",
  scrape: "The pipeline: metrics and searches",
  rss: "The pipeline: resident memory",
  restore: "The pipeline: restoring a fleet",
  scale: "The pipeline: 100,000 series",
  soak: "The pipeline: a day of traffic",
  growth: "The pipeline: growth of the fleet",
  compression: "The pipeline: compression",
  hour: "The pipeline: a restart behind an hour of traffic",
  brokers: "The pipeline: three brokers",
  partitions: "The pipeline: many partitions",
};
type PartName = keyof typeof titles;
const parts = Object.keys(titles) as PartName[];
/** These take more than a few minutes even when they are quick. */
const longParts: ReadonlySet<PartName> = new Set(["hour", "soak"]);

const isQuick = process.argv.includes("--quick");
const wanted = wantedParts(process.argv);
const broker = await startBroker();
const version = brokerVersion(broker);
const cluster = await Cluster.connect([broker.bootstrap]);

if (wanted.has("throughput") || wanted.has("latency")) await measureThroughputAndLatency();
if (wanted.has("memory")) publish("memory", await measureMemory());
if (wanted.has("scrape")) publish("scrape", ...(await measureScrape(isQuick ? 20 : 100)));
if (wanted.has("rss")) publish("rss", await measureRss(cluster, isQuick ? 150 : 600));
if (wanted.has("restore"))
  publish("restore", await measureRestore({ cluster, rounds: isQuick ? 1 : 3, isQuick }));
if (wanted.has("scale")) publish("scale", await measureScale(cluster, isQuick ? 10_000 : 100_000));
if (wanted.has("soak")) publish("soak", await measureSoak(cluster, isQuick ? 100 : 500));
if (wanted.has("growth")) {
  publish("growth", ...(await measureGrowth({ cluster, rounds: isQuick ? 1 : 5, observations: 50_000 })));
}
if (wanted.has("compression")) {
  const { dataDir } = broker;
  const fleet = { series: 1_000, partitions: 8 };
  publish("compression", await measureCompression({ cluster, dataDir, fleet, rounds: isQuick ? 1 : 3 }));
}

await cluster.close();
await broker.stop();
// After the one broker has gone: these bring their own.
if (wanted.has("hour"))
  publish("hour", await measureHour({ series: isQuick ? 2_000 : 10_000, rounds: isQuick ? 1 : 3 }));
if (wanted.has("brokers")) await measureThroughputOnThree();
if (wanted.has("partitions"))
  publish("partitions", await measurePartitions({ idleSeconds: isQuick ? 5 : 20 }));

function publish(part: PartName, ...sections: readonly Section[]): void {
  for (const section of sections) process.stdout.write(`${toMarkdown(section)}\n`);
  if (isQuick) return;
  writePart({
    name: `pipeline-${part}`,
    title: titles[part],
    command: `npm run bench:pipeline -- --only=${part}`,
    facts: {
      Machine: describeMachine(),
      Broker: `Kafka ${version}, on the same machine`,
      Date: new Date(systemClock.nowMs()).toISOString().slice(0, 10),
    },
    sections,
  });
}

/** Those of `--only`, or all. */
function wantedParts(argv: readonly string[]): ReadonlySet<PartName> {
  const only = argv.find((arg) => arg.startsWith("--only="));
  if (only === undefined) return new Set(parts.filter((part) => !isQuick || !longParts.has(part)));
  const names = only.slice("--only=".length).split(",");
  const unknown = names.filter((name) => !parts.includes(name as PartName));
  if (unknown.length > 0)
    throw new Error(`--only knows ${parts.join(", ")}; it was given ${unknown.join(", ")}`);
  return new Set(names as PartName[]);
}

async function measureThroughputAndLatency(): Promise<void> {
  const log = await openLog([broker.bootstrap]);
  const fleet = { series: isQuick ? 400 : 1_000, partitions: 8 };
  if (wanted.has("throughput")) {
    const [rounds, javaWarmRounds] = isQuick ? [1, 1] : [6, 4];
    const facts = { title: "Throughput, exactly once, cold tier", brokers: "One broker." };
    publish("throughput", await measureThroughput({ cluster, log, fleet, rounds, javaWarmRounds, ...facts }));
  }
  if (wanted.has("latency")) {
    const [seconds, warmSeconds] = isQuick ? [5, 20] : [15, 60];
    publish("latency", ...(await measureLatency({ cluster, log, fleet, seconds, warmSeconds })));
  }
  await log.close();
}

async function measureThroughputOnThree(): Promise<void> {
  const brokers = await KafkaCluster.startUp();
  const { direct } = await brokers.addresses();
  const cluster = await Cluster.connect(direct);
  const log = await openLog(direct);
  const fleet = { series: isQuick ? 400 : 1_000, partitions: 8 };
  const [rounds, javaWarmRounds] = isQuick ? [1, 1] : [4, 4];
  const facts = {
    title: "Throughput on three brokers",
    brokers:
      "Three brokers on the same machine, each with a copy of every record, two of which must confirm.",
  };
  publish("brokers", await measureThroughput({ cluster, log, fleet, rounds, javaWarmRounds, ...facts }));
  await log.close();
  await cluster.close();
  await brokers.shutDown();
}

/** For the subscribers of the bench. */
function openLog(brokers: readonly string[]): Promise<Log> {
  return openKafkaLog({
    brokers,
    clientId: "bench",
    sessionTimeoutMs: 10_000,
    transactions: { timeoutMs: 60_000, onEnd: () => {} },
    replicationFactor: -1,
    clock: systemClock,
    logger: silentLogger,
  });
}

/** The broker tells it only in its log. */
function brokerVersion({ dataDir }: Broker): string {
  const log = readFileSync(join(dataDir, "..", "kafka.log"), "utf8");
  return /Kafka version: (\S+)/.exec(log)?.[1] ?? "of unknown version";
}
