// What a worker costs that owns many partitions and has nothing to do: how soon it is ready, its sockets, the processor time
// that it takes at rest, and its memory. Three brokers, empty topics. Afterwards every partition gets an observation, and its
// forecast must reach a subscriber of committed data.

import { readdirSync, readlinkSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { openKafkaLog } from "../src/log/kafka/kafka-log.ts";
import { systemClock } from "../src/runtime/clock.ts";
import { silentLogger } from "../src/runtime/logging.ts";
import { KafkaCluster } from "../test/rig/kafka-cluster.ts";
import { Fleet } from "./rig/fleet.ts";
import { cpuMsOf, memoryOf } from "./rig/process-cpu.ts";
import { decimals, type Section, whole } from "./rig/report.ts";
import { namesOf, WorkerProcess } from "./rig/worker-process.ts";

/** How long a worker may take to be ready, and its forecasts to arrive. */
const patienceMs = 60_000;
const pollMs = 20;

export interface PartitionsOptions {
  readonly idleSeconds: number;
}

interface AtRest {
  readonly partitions: number;
  readonly readySeconds: number;
  readonly sockets: number;
  readonly idleShare: number;
  readonly memory: number;
  readonly forecastSeconds: number;
}

export async function measurePartitions({ idleSeconds }: PartitionsOptions): Promise<Section> {
  const brokers = await KafkaCluster.startUp();
  const rows: AtRest[] = [];
  try {
    for (const partitions of [8, 64]) rows.push(await measureWorker(brokers, partitions, idleSeconds));
  } finally {
    await brokers.shutDown();
  }
  return {
    title: "Many partitions at rest",
    method:
      "One worker on three brokers, all topics empty. Ready: from the start of the process until /readyz says so; its topics " +
      `exist. Sockets and memory: of the process ${idleSeconds} s later. Idle: its processor time in those ${idleSeconds} s, as a share of one ` +
      "core. First forecasts: from the second observation in every partition, the first that yields a forecast, until forecasts of all of them were read by a subscriber of committed data.",
    columns: ["partitions", "ready s", "sockets", "idle % of a core", "memory MB", "first forecasts s"],
    rows: rows.map((row) => [
      whole(row.partitions),
      decimals(1)(row.readySeconds),
      whole(row.sockets),
      decimals(1)(100 * row.idleShare),
      whole(row.memory / 1e6),
      decimals(1)(row.forecastSeconds),
    ]),
  };
}

async function measureWorker(
  brokers: KafkaCluster,
  partitions: number,
  idleSeconds: number,
): Promise<AtRest> {
  const { direct } = await brokers.addresses();
  const names = namesOf(`partitions-${partitions}`);
  await brokers.createTopics([{ topic: names.input, partitions }]);
  // Creates the topics: how long brokers take for thousands of replicas is not the worker's doing.
  const first = new WorkerProcess(direct.join(","), names);
  await untilReady(first);
  await first.stop();
  const startMs = performance.now();
  const worker = new WorkerProcess(direct.join(","), names);
  await untilReady(worker);
  const readySeconds = (performance.now() - startMs) / 1000;
  const restored = await worker.logged("partition restored", partitions);
  if (restored.length !== partitions)
    throw new Error(`restored ${restored.length} partitions of ${partitions}`);
  await wait(2_000); // what is left of the start
  const cpuMs = cpuMsOf(worker.pid);
  await wait(1_000 * idleSeconds);
  const idleShare = (cpuMsOf(worker.pid) - cpuMs) / (1_000 * idleSeconds);
  const sockets = socketsOf(worker.pid);
  const memory = memoryOf(worker.pid);
  const forecastSeconds = await timeForecasts(direct, names, partitions);
  await worker.stop();
  return { partitions, readySeconds, sockets, idleShare, memory, forecastSeconds };
}

async function untilReady(worker: WorkerProcess): Promise<void> {
  const [{ port }] = await worker.logged("http listening");
  const deadline = performance.now() + patienceMs;
  for (let reason = ""; performance.now() < deadline; await wait(pollMs)) {
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`);
    reason = await answer.text();
    if (answer.ok) return;
    if (performance.now() + pollMs >= deadline) throw new Error(`the worker is not ready: ${reason}`);
  }
}

/** Every series is in a partition of its own, so a forecast of each series is one of each partition. */
async function timeForecasts(
  brokers: readonly string[],
  { input, forecasts }: WorkerProcess["names"],
  partitions: number,
): Promise<number> {
  const log = await openKafkaLog({
    brokers,
    clientId: "bench",
    sessionTimeoutMs: 10_000,
    transactions: { timeoutMs: 60_000, onEnd: () => {} },
    replicationFactor: -1,
    clock: systemClock,
    logger: silentLogger,
  });
  try {
    const fleet = new Fleet(partitions, partitions);
    await log.append(fleet.take(partitions, input)); // a forecast takes two points
    const startMs = performance.now();
    await log.append(fleet.take(partitions, input));
    const forecastPartitions = new Set<number>();
    for await (const { partition, records } of log.follow(
      forecasts,
      "earliest",
      AbortSignal.timeout(patienceMs),
    )) {
      if (records.length > 0) forecastPartitions.add(partition);
      if (forecastPartitions.size === partitions) break;
    }
    if (forecastPartitions.size < partitions)
      throw new Error(`forecasts came from ${forecastPartitions.size} partitions of ${partitions}`);
    return (performance.now() - startMs) / 1000;
  } finally {
    await log.close();
  }
}

/** Sockets of any kind, listening ones included. */
function socketsOf(pid: number): number {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).filter((fd) => readlinkSync(`${folder}/${fd}`).startsWith("socket:")).length;
}
