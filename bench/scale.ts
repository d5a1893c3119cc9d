// A hundred thousand series on one worker and one partition, with and without models: how long it takes to restore them,
// how fast it serves them, what it holds, and how long its event loop is away meanwhile. A turn that lasts longer than
// the session would cost the worker its partitions.

import type { TrainedModel } from "../src/models/family.ts";
import { loadConfig } from "../src/runtime/config/load.ts";
import { seriesRules } from "../src/runtime/config/series-rules.ts";
import { openTrainingThreads } from "../src/training/training-threads.ts";
import type { Cluster } from "./rig/cluster.ts";
import { Fleet, interval, matureState } from "./rig/fleet.ts";
import { modelRecords, trainFleetModel } from "./rig/fleet-models.ts";
import { cpuMsOf, memoryOf } from "./rig/process-cpu.ts";
import { decimals, type Section, whole } from "./rig/report.ts";
import { timeRestore } from "./rig/timed-restore.ts";
import { longestTurnMs, metricsOf } from "./rig/worker-metrics.ts";
import { namesOf } from "./rig/worker-process.ts";

const patienceMs = 900_000;
const liveSteps = 3;

interface ScaleRow {
  readonly name: string;
  readonly restoreSeconds: number;
  readonly restoreTurnMs: number;
  readonly againSeconds: number;
  readonly againTurnMs: number;
  readonly perSecond: number;
  readonly cpuUs: number;
  readonly liveTurnMs: number;
  readonly memory: number;
}

export async function measureScale(cluster: Cluster, series: number): Promise<Section> {
  const config = loadConfig({ argv: [`--series.interval=${interval}`], env: {} });
  const { history } = seriesRules(config.series)("");
  const trainer = await openTrainingThreads({ setup: { kind: "simd" }, threads: 1 });
  const linear = await trainFleetModel(trainer, { family: "linear", effort: "normal", steps: history });
  await trainer.close();
  const rows = [
    await measure(cluster, { name: "scale-cold", series, trained: null }),
    await measure(cluster, { name: "scale-linear", series, trained: linear }),
  ];
  const session = config.kafka.sessionTimeoutMs;
  const longest = Math.max(
    ...rows.flatMap(({ restoreTurnMs, againTurnMs, liveTurnMs }) => [restoreTurnMs, againTurnMs, liveTurnMs]),
  );
  return {
    title: `${whole(series)} series on one worker`,
    method:
      `All series on one partition of one broker, each with ${whole(history)} points of history; defaults, without retraining. First restore: the state holds ` +
      `the histories. Then ${liveSteps} steps of live traffic at full speed. Second restore, by another process: the state holds forecasts and scores as well, ` +
      "and their older versions. Longest turn: the longest time that the event loop was away, from Node's own monitor (garbage collection included). " +
      "Memory: resident, at the end of the live traffic and of the second restore.",
    columns: [
      ...["models", "restore s", "longest turn ms", "observations/s", "CPU µs each", "longest turn ms"],
      ...["second restore s", "longest turn ms", "memory MB"],
    ],
    rows: rows.map((row) => [
      row.name,
      decimals(1)(row.restoreSeconds),
      whole(row.restoreTurnMs),
      whole(row.perSecond),
      whole(row.cpuUs),
      whole(row.liveTurnMs),
      decimals(1)(row.againSeconds),
      whole(row.againTurnMs),
      whole(row.memory / 1e6),
    ]),
    outcome: `The longest turn: **${whole(longest)} ms**, of a session of ${whole(session)} ms.`,
  };
}

interface Subject {
  readonly name: string;
  readonly series: number;
  readonly trained: TrainedModel | null;
}

async function measure(cluster: Cluster, { name, series, trained }: Subject): Promise<ScaleRow> {
  const names = namesOf(name);
  const settings = seriesRules(loadConfig({ argv: [`--series.interval=${interval}`], env: {} }).series)("");
  const fleet = new Fleet(series, 1, settings.history);
  const compacted = { "cleanup.policy": "compact", "max.message.bytes": "16777216" };
  await cluster.createTopic(names.input, 1);
  await cluster.createTopic(names.state, 1, compacted);
  await cluster.createTopic(names.models, 1, compacted);
  await cluster.load(names.state, matureState(fleet, names.state, settings.history, settings));
  if (trained !== null) await cluster.load(names.models, modelRecords(fleet, names.models, trained));
  const expected = { partitions: 1, series, models: trained === null ? 0 : series };
  const first = await timeRestore(cluster, names, expected);
  const { worker } = first;
  const cpuBefore = cpuMsOf(worker.pid);
  const live = { records: 0, ms: 0 };
  for (let step = 0; step < liveSteps; step++) {
    const timed = await cluster.timeGroup(
      names.group,
      names.input,
      fleet.take(series, names.input),
      patienceMs,
    );
    live.records += timed.records;
    live.ms += timed.ms;
  }
  const cpuUs = (1000 * (cpuMsOf(worker.pid) - cpuBefore)) / (liveSteps * series);
  const liveTurnMs = await longestTurnMs(worker);
  const made = (await metricsOf(worker)).of("forecastnet_forecasts_total");
  if (made !== liveSteps * series)
    throw new Error(`${name}: ${made} forecasts of ${liveSteps * series} observations`);
  const memory = memoryOf(worker.pid);
  await worker.stop();
  const second = await timeRestore(cluster, names, expected);
  const restoredMemory = memoryOf(second.worker.pid);
  await second.worker.stop();
  return {
    name: trained === null ? "none" : trained.model.family,
    restoreSeconds: first.seconds,
    restoreTurnMs: first.turnMs,
    againSeconds: second.seconds,
    againTurnMs: second.turnMs,
    perSecond: (1000 * live.records) / live.ms,
    cpuUs,
    liveTurnMs,
    memory: Math.max(memory, restoredMemory),
  };
}
