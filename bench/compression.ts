// What compression of the output costs the worker and saves on the broker's disk: one worker per codec, in turns, each
// with a fleet and topics of its own.

import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Compression } from "../src/log/kafka/wire/compression.ts";
import type { Cluster } from "./rig/cluster.ts";
import { Fleet, type FleetSize } from "./rig/fleet.ts";
import { cpuMsOf } from "./rig/process-cpu.ts";
import { type Section, spread, whole } from "./rig/report.ts";
import { coldTierOnly, namesOf, type WorkerNames, WorkerProcess } from "./rig/worker-process.ts";

const codecs: readonly Compression[] = ["none", "gzip", "snappy", "lz4", "zstd"];
const stepsPerRound = 64;
const warmRounds = 2;

export interface CompressionOptions {
  readonly cluster: Cluster;
  /** The folder in which the broker keeps its topics. */
  readonly dataDir: string;
  readonly fleet: FleetSize;
  readonly rounds: number;
}

interface Contender {
  readonly codec: Compression;
  readonly names: WorkerNames;
  readonly worker: WorkerProcess;
  readonly fleet: Fleet;
  readonly perSecond: number[];
  readonly cpuUs: number[];
  readonly diskBytes: number[];
}

export async function measureCompression(options: CompressionOptions): Promise<Section> {
  const { fleet, rounds } = options;
  const contenders: Contender[] = [];
  for (const codec of codecs) contenders.push(await open(codec, options));
  for (let round = -warmRounds; round < rounds; round++) {
    for (const contender of contenders) await run(contender, round >= 0, options);
  }
  for (const { worker } of contenders) await worker.stop();
  const [plain] = contenders;
  return {
    title: "Compression of the output",
    method:
      `\`kafka.compression\`, ${whole(fleet.series)} series on ${fleet.partitions} partitions, ${whole(stepsPerRound * fleet.series)} observations per round and ` +
      `worker, ${rounds} rounds in turns after ${warmRounds} for warming up. The values have two decimals. Disk: growth of the broker's files of forecasts and state. ` +
      "A broker stores batches as they come, so followers and subscribers get as many bytes.",
    columns: [
      "compression",
      "observations/s",
      "CPU µs per observation",
      "bytes on disk per observation",
      "of none",
    ],
    rows: contenders.map(({ codec, perSecond, cpuUs, diskBytes }) => [
      codec,
      spread(perSecond, whole),
      spread(cpuUs, whole),
      spread(diskBytes, whole),
      `${whole((100 * sum(diskBytes)) / sum((plain as Contender).diskBytes))} %`,
    ]),
  };
}

async function open(codec: Compression, { cluster, fleet }: CompressionOptions): Promise<Contender> {
  const names = namesOf(`compression-${codec}`);
  await cluster.createTopic(names.input, fleet.partitions);
  const flags = [...coldTierOnly, `--kafka.compression=${codec}`];
  const worker = new WorkerProcess(cluster.bootstrap, names, flags);
  await worker.logged("partition restored", fleet.partitions);
  const own = new Fleet(fleet.series, fleet.partitions);
  return { codec, names, worker, fleet: own, perSecond: [], cpuUs: [], diskBytes: [] };
}

async function run(
  contender: Contender,
  isTimed: boolean,
  { cluster, dataDir }: CompressionOptions,
): Promise<void> {
  const { names, worker, fleet, perSecond, cpuUs, diskBytes } = contender;
  const observations = fleet.take(stepsPerRound * fleet.series, names.input);
  const bytesBefore = bytesOf(dataDir, names);
  const cpuBefore = cpuMsOf(worker.pid);
  const { records, ms } = await cluster.timeGroup(names.group, names.input, observations);
  if (!isTimed) return;
  perSecond.push((1000 * records) / ms);
  cpuUs.push((1000 * (cpuMsOf(worker.pid) - cpuBefore)) / observations.length);
  diskBytes.push((bytesOf(dataDir, names) - bytesBefore) / observations.length);
}

/** Forecasts and state. */
function bytesOf(dataDir: string, { forecasts, state }: WorkerNames): number {
  const folders = readdirSync(dataDir).filter((name) =>
    [forecasts, state].includes(name.replace(/-\d+$/, "")),
  );
  if (folders.length === 0) throw new Error(`${dataDir} has no folder of ${forecasts} or ${state}`);
  return sum(
    folders.flatMap((folder) => logFilesOf(join(dataDir, folder)).map((path) => statSync(path).size)),
  );
}

function logFilesOf(folder: string): readonly string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith(".log"))
    .map((name) => join(folder, name));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
