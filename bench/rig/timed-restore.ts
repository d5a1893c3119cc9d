// Starts a worker and times how long it takes to restore its partitions, as the worker itself says.

import type { Cluster } from "./cluster.ts";
import { cpuMsOf } from "./process-cpu.ts";
import { longestTurnMs } from "./worker-metrics.ts";
import { type WorkerNames, WorkerProcess } from "./worker-process.ts";

export interface TimedRestore {
  /** Running; the caller stops it. */
  readonly worker: WorkerProcess;
  /** From the start of the process. */
  readonly readySeconds: number;
  /** From joining the group until the last partition is restored. */
  readonly seconds: number;
  readonly partitionSeconds: readonly number[];
  /** Processor time of all threads meanwhile. */
  readonly cpuSeconds: number;
  /** The longest time that the event loop was away meanwhile. */
  readonly turnMs: number;
}

interface Expected {
  readonly partitions: number;
  readonly series: number;
  readonly models: number;
}

/** Throws if the worker restores other numbers of series and models. */
export async function timeRestore(
  cluster: Cluster,
  names: WorkerNames,
  { partitions, ...expected }: Expected,
): Promise<TimedRestore> {
  const startMs = performance.now();
  const worker = new WorkerProcess(cluster.bootstrap, names, ["--retrain.where=off"]);
  const [joined] = await worker.logged("group joined");
  await longestTurnMs(worker); // Forgets the turns of the start.
  const cpuMs = cpuMsOf(worker.pid);
  const restored = await worker.logged("partition restored", partitions);
  const readySeconds = (performance.now() - startMs) / 1000;
  const sum = (fact: string) => restored.reduce((total, line) => total + Number(line[fact]), 0);
  const found = { series: sum("series"), models: sum("models") };
  if (JSON.stringify(found) !== JSON.stringify(expected))
    throw new Error(
      `${names.group}: restored ${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`,
    );
  const lastMs = Math.max(...restored.map(({ time }) => Date.parse(time)));
  return {
    worker,
    readySeconds,
    seconds: (lastMs - Date.parse(joined.time)) / 1000,
    partitionSeconds: restored.map(({ tookMs }) => Number(tookMs) / 1000),
    cpuSeconds: (cpuMsOf(worker.pid) - cpuMs) / 1000,
    turnMs: await longestTurnMs(worker),
  };
}
