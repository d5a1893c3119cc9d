// Replays every series under every system, on several threads, and puts the results together.

import { JobThread } from "../engine/threads/job-thread.ts";
import { WorkQueue } from "../engine/threads/work-queue.ts";
import type { ConfigInput } from "../runtime/config/sources.ts";
import type { Protocol, ReplayTask, ToReplayThread } from "./protocol.ts";
import type { SystemResult } from "./replay-system.ts";
import { type SeriesPoints, shortestStepMs } from "./series-points.ts";

/** What is compared: a worker under some configuration. */
export interface System {
  readonly name: string;
  /** Flags of its configuration. */
  readonly argv: readonly string[];
}

export interface BacktestOptions {
  readonly protocol: Protocol;
  readonly systems: readonly System[];
  readonly series: readonly SeriesPoints[];
  readonly env: ConfigInput["env"];
  readonly testShare: number;
  readonly threads: number;
  /** Called now and then with the share that is done. */
  readonly onProgress?: (share: number) => void;
}

export interface SystemRun extends SystemResult {
  readonly system: System;
}

const progressEveryMs = 200;
/** The retraining loop of a worker comes round every five minutes; where series are slower, so often in a step of the fastest. */
const roundsPerStep = 12;
const leastResolutionMs = 5 * 60_000;
const MONTH_MS = 30 * 86_400_000;

/** In the order of the systems, each with its series in their order. */
export async function runBacktest(options: BacktestOptions): Promise<readonly SystemRun[]> {
  const { protocol, systems, series, env, testShare, threads, onProgress } = options;
  const opened: ReplayThread[] = [];
  const queue = new WorkQueue<ReplayThread>({
    perWorker: 1,
    addWorker: () => {
      if (opened.length >= threads) return null;
      opened.push(new ReplayThread());
      return opened[opened.length - 1];
    },
  });
  const resolutionMs = Math.max(
    leastResolutionMs,
    Math.min(shortestStepMs(series), MONTH_MS) / roundsPerStep,
  );
  const parts = divide(series, Math.min(threads, series.length));
  const counters: Int32Array[] = [];
  const total = systems.length * series.reduce((sum, { values }) => sum + values.length, 0);
  const timer = setInterval(() => {
    onProgress?.(counters.reduce((sum, [points = 0]) => sum + points, 0) / total);
  }, progressEveryMs);
  try {
    const runs = systems.map(async (system): Promise<SystemRun> => {
      const results = parts.map((own) => {
        const progress = new Int32Array(new SharedArrayBuffer(4));
        counters.push(progress);
        const config = { argv: system.argv, env };
        const task: ReplayTask = { protocol, config, series: own, testShare, resolutionMs, progress };
        return queue.add(1, (thread) => thread.replay(task));
      });
      return { system, ...joined(series, await Promise.all(results)) };
    });
    return await Promise.all(runs);
  } finally {
    clearInterval(timer);
    await Promise.all(opened.map((thread) => thread.close()));
  }
}

/** Neighbours go to different parts: large series often stand together. */
function divide(series: readonly SeriesPoints[], parts: number): readonly (readonly SeriesPoints[])[] {
  return Array.from({ length: parts }, (_, part) => series.filter((_, i) => i % parts === part));
}

function joined(series: readonly SeriesPoints[], results: readonly SystemResult[]): SystemResult {
  const byId = new Map(results.flatMap((result) => result.series.map((one) => [one.seriesId, one] as const)));
  return {
    series: series.flatMap(({ seriesId }) => byId.get(seriesId) ?? []),
    decisions: results
      .flatMap(({ decisions }) => decisions)
      .sort((one, other) => one.timeMs - other.timeMs || (one.seriesId < other.seriesId ? -1 : 1)),
    cpuSeconds: results.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0),
  };
}

class ReplayThread extends JobThread<ToReplayThread, SystemResult, null> {
  constructor() {
    super({ setup: null, entry: new URL("./thread-entry.js", import.meta.url), name: "a replay thread" });
  }

  replay(task: ReplayTask): Promise<SystemResult> {
    return this.start((job) => ({ kind: "replay", job, task }));
  }
}
