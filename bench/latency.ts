// From the moment the broker appended an observation to the moment a subscriber of committed data holds its
// forecast, under a steady open-loop load: the sender keeps its pace whatever the worker does.

import { setTimeout as wait } from "node:timers/promises";
import { decodeForecast } from "../src/log/codec/forecast-codec.ts";
import type { Log } from "../src/log/log.ts";
import type { Cluster } from "./rig/cluster.ts";
import type { Fleet } from "./rig/fleet.ts";
import { quantile, type Section, whole } from "./rig/report.ts";
import { TopicTail } from "./rig/topic-tail.ts";
import type { WorkerNames } from "./rig/worker-process.ts";

const tickMs = 5;

export interface LatencyOptions {
  readonly cluster: Cluster;
  readonly log: Log;
  readonly worker: WorkerNames;
  readonly fleet: Fleet;
  readonly perSecond: number;
  readonly seconds: number;
}

export async function measureLatency(options: LatencyOptions): Promise<Section> {
  const { cluster, log, worker, fleet, perSecond, seconds } = options;
  const forecasts = new TopicTail(log, cluster, worker.forecasts);
  await forecasts.drain(0, () => undefined);
  const total = perSecond * seconds;
  const receivedMsByKey = new Map<string, number>();
  const receiving = (async () => {
    while (receivedMsByKey.size < total) {
      const arrived: Buffer[] = [];
      await forecasts.next(({ value }) => arrived.push(value ?? Buffer.alloc(0)));
      const nowMs = Date.now();
      for (const value of arrived) {
        const { seriesId, origin } = decodeForecast(value);
        receivedMsByKey.set(keyOf(seriesId, origin), nowMs);
      }
    }
  })();
  const appendedMsByKey = await sendSteadily(options, total);
  await receiving;
  await forecasts.close();
  const latenciesMs = [...appendedMsByKey].map(([key, appendedMs]) => {
    const receivedMs = receivedMsByKey.get(key);
    if (receivedMs === undefined) throw new Error(`no forecast came for the observation ${key}`);
    return receivedMs - appendedMs;
  });
  const show = (level: number) => whole(quantile(latenciesMs, level));
  return {
    title: "Latency from arrival to committed forecast",
    method:
      `${whole(perSecond)} observations/s at an even pace for ${seconds} s, ${whole(fleet.series)} series on ` +
      `${fleet.partitions} partitions, exactly once. The latency counts from the broker's append time of the observation until a ` +
      "read-committed subscriber has its forecast. Sender and subscriber share the machine with worker and broker.",
    columns: ["observations", "p50 ms", "p90 ms", "p99 ms", "max ms"],
    rows: [[whole(total), show(0.5), show(0.9), show(0.99), show(1)]],
  };
}

async function sendSteadily(options: LatencyOptions, total: number): Promise<ReadonlyMap<string, number>> {
  const { cluster, worker, fleet, perSecond } = options;
  const appendedMsByKey = new Map<string, number>();
  const sending: Promise<void>[] = [];
  const startMs = performance.now();
  for (let sent = 0; sent < total; ) {
    const due = Math.min(total, Math.floor(((performance.now() - startMs) * perSecond) / 1000));
    const points = fleet.takePoints(due - sent, worker.input);
    sent = due;
    if (points.length > 0) {
      sending.push(
        cluster
          .send(
            worker.input,
            points.map(({ record }) => record),
          )
          .then((appendedMsByPartition) => {
            for (const { record, seriesId, timeMs } of points) {
              appendedMsByKey.set(keyOf(seriesId, timeMs), appendedMsByPartition.get(record.partition) ?? 0);
            }
          }),
      );
    }
    await wait(tickMs);
  }
  await Promise.all(sending);
  return appendedMsByKey;
}

function keyOf(seriesId: string, timeMs: number): string {
  return `${seriesId}@${timeMs}`;
}
