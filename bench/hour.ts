// A restart behind an hour of live traffic: how much more a worker reads, and how much longer that takes, than from topics
// that were just compacted. The hour is real work of a real worker, but played faster. Every setting that counts time is
// shortened alike: those of the topics and the pause of the broker's cleaner.

import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { tableUpkeep } from "../src/log/table-upkeep.ts";
import type { TrainedModel } from "../src/models/family.ts";
import { loadConfig } from "../src/runtime/config/load.ts";
import { seriesRules } from "../src/runtime/config/series-rules.ts";
import { openTrainingThreads } from "../src/training/training-threads.ts";
import { type Broker, startBroker } from "../test/rig/kafka-broker.ts";
import { Cluster } from "./rig/cluster.ts";
import { Fleet, interval, matureState } from "./rig/fleet.ts";
import { modelRecords, trainFleetModel } from "./rig/fleet-models.ts";
import { decimals, median, type Section, spread, whole } from "./rig/report.ts";
import { type TimedRestore, timeRestore } from "./rig/timed-restore.ts";
import { metricsOf } from "./rig/worker-metrics.ts";
import { namesOf, type WorkerNames } from "./rig/worker-process.ts";

const partitions = 8;
const steps = 60;
/** The hour takes this share of an hour. */
const speed = 15;
const stepMs = 60_000 / speed;
/** The observations of a step come in so many portions, each of which becomes a transaction per partition. */
const portions = 40;
const bar = 2;
/** A broker's default for log.cleaner.backoff.ms. */
const cleanerPauseMs = 15_000;

export interface HourOptions {
  readonly series: number;
  readonly rounds: number;
}

export async function measureHour({ series, rounds }: HourOptions): Promise<Section> {
  const { history } = seriesRules(loadConfig({ argv: [`--series.interval=${interval}`], env: {} }).series)(
    "",
  );
  const trainer = await openTrainingThreads({ setup: { kind: "simd" }, threads: 1 });
  const linear = await trainFleetModel(trainer, { family: "linear", effort: "normal", steps: history });
  await trainer.close();
  const broker = await startBroker({
    settings: { "log.cleaner.backoff.ms": String(cleanerPauseMs / speed) },
  });
  const cluster = await Cluster.connect([broker.bootstrap]);
  const runs: Run[] = [];
  for (const [name, trained] of [
    ["hour-cold", null],
    ["hour-linear", linear],
  ] as const) {
    runs.push(await measure({ broker, cluster, name, trained, series, rounds }));
  }
  await cluster.close();
  await broker.stop();
  const ratios = runs.map(({ live, compacted }) => [
    live.bytes / compacted.bytes,
    median(live.seconds) / median(compacted.seconds),
    median(live.cpuSeconds) / median(compacted.cpuSeconds),
  ]);
  const isMissed = ratios.flat().some((ratio) => ratio > bar);
  return {
    title: "Restoring behind an hour of traffic",
    method:
      `${whole(series)} series with ${history} points each on ${partitions} partitions. A worker takes an observation of every series per minute for ${steps} minutes, in ` +
      `${portions} portions per minute, on topics with the settings that it creates them with. Time runs ${speed} times as fast: segment.ms, delete.retention.ms ` +
      "and the broker's log.cleaner.backoff.ms are shortened alike. The cleaner is then held, and workers restore what the topics hold, " +
      `${rounds} times. Then the same topics are compacted to the last record and restored again. MB: state and models on the broker's disk, ` +
      "at the restore, and the most during the second half of the hour. Seconds: from joining the group until the last partition is " +
      "restored. Cleaner: processor time of the broker's cleaner during the hour. Hour: how long it took; on a busy machine the worker needs longer than the pace.",
    columns: [
      ...["fleet", "MB", "most MB", "compacted MB", "ratio", "restore s", "compacted s", "ratio"],
      ...[
        "restore CPU s",
        "compacted CPU s",
        "ratio",
        "longest turn ms",
        "cleaner s",
        "transactions",
        "hour s",
      ],
    ],
    rows: runs.map((run, i) => [
      run.name,
      whole(run.live.bytes / 1e6),
      whole(run.mostBytes / 1e6),
      whole(run.compacted.bytes / 1e6),
      decimals(2)(ratios[i][0]),
      spread(run.live.seconds, decimals(1)),
      spread(run.compacted.seconds, decimals(1)),
      decimals(2)(ratios[i][1]),
      spread(run.live.cpuSeconds, decimals(1)),
      spread(run.compacted.cpuSeconds, decimals(1)),
      decimals(2)(ratios[i][2]),
      whole(run.live.turnMs),
      decimals(1)(run.cleanerSeconds),
      whole(run.transactions),
      whole(run.hourSeconds),
    ]),
    outcome: `At most **${Math.max(...ratios.flat()).toFixed(2)} ×** a compacted topic (bar: ${bar} ×${isMissed ? "; MISSED" : ""}).`,
  };
}

interface Restores {
  readonly bytes: number;
  readonly seconds: readonly number[];
  readonly cpuSeconds: readonly number[];
  readonly turnMs: number;
}

interface Run {
  readonly name: string;
  readonly live: Restores;
  readonly compacted: Restores;
  readonly mostBytes: number;
  readonly cleanerSeconds: number;
  readonly transactions: number;
  readonly hourSeconds: number;
}

interface RunOptions extends HourOptions {
  readonly broker: Broker;
  readonly cluster: Cluster;
  readonly name: string;
  readonly trained: TrainedModel | null;
}

async function measure(options: RunOptions): Promise<Run> {
  const { broker, cluster, name, trained, series, rounds } = options;
  const names = namesOf(name);
  const tables = [names.state, names.models];
  const fleet = await prepare(options, names);
  const expected = { partitions, series, models: trained === null ? 0 : series };
  const sizeNow = () => bytesOn(broker, tables);
  const first = await timeRestore(cluster, names, expected);
  const cleanerBefore = cleanerSeconds(broker);
  const startMs = performance.now();
  const sizes = await liveHour(cluster, { names, fleet, sizeNow });
  const hourSeconds = (performance.now() - startMs) / 1000;
  const cleaner = cleanerSeconds(broker) - cleanerBefore;
  const metrics = await metricsOf(first.worker);
  const forecasts = metrics.of("forecastnet_forecasts_total");
  if (forecasts !== steps * series)
    throw new Error(`${name}: ${forecasts} forecasts of ${steps * series} observations`);
  const transactions = metrics.of("forecastnet_transactions_total", 'outcome="committed"');
  await first.worker.stop();
  for (const topic of tables)
    await cluster.alterTopic(topic, { ...compactedTopic, "min.compaction.lag.ms": "86400000" });
  const restoreAll = async (): Promise<Restores> => {
    const bytes = sizeNow();
    const found: TimedRestore[] = [];
    for (let round = 0; round < rounds; round++) {
      const one = await timeRestore(cluster, names, expected);
      await one.worker.stop();
      found.push(one);
    }
    return {
      bytes,
      seconds: found.map(({ seconds }) => seconds),
      cpuSeconds: found.map(({ cpuSeconds }) => cpuSeconds),
      turnMs: Math.max(...found.map(({ turnMs }) => turnMs)),
    };
  };
  const live = await restoreAll();
  await compact(cluster, tables, sizeNow);
  return {
    name: trained === null ? "no models" : `${trained.model.family} models`,
    live,
    compacted: await restoreAll(),
    mostBytes: Math.max(...sizes.slice(sizes.length / 2)),
    cleanerSeconds: cleaner,
    transactions,
    hourSeconds,
  };
}

const compactedTopic = { "cleanup.policy": "compact", "max.message.bytes": "16777216" };
/** Settings that count time. */
const timed = /\.ms$/;

/** The topics as the worker creates them, with the past and the models of the fleet. */
async function prepare({ cluster, trained, series }: RunOptions, names: WorkerNames): Promise<Fleet> {
  const settings = seriesRules(loadConfig({ argv: [`--series.interval=${interval}`], env: {} }).series)("");
  const fleet = new Fleet(series, partitions, settings.history);
  const upkeep = Object.entries(tableUpkeep(16 * 2 ** 20)).map(([key, value]) => [
    key,
    timed.test(key) ? String(Number(value) / speed) : value,
  ]);
  await cluster.createTopic(names.input, partitions);
  for (const topic of [names.state, names.models])
    await cluster.createTopic(topic, partitions, { ...compactedTopic, ...Object.fromEntries(upkeep) });
  await cluster.load(names.state, matureState(fleet, names.state, settings.history, settings));
  if (trained !== null) await cluster.load(names.models, modelRecords(fleet, names.models, trained));
  return fleet;
}

interface HourParts {
  readonly names: WorkerNames;
  readonly fleet: Fleet;
  readonly sizeNow: () => number;
}

/** Returns the size of the tables after each step. */
async function liveHour(cluster: Cluster, { names, fleet, sizeNow }: HourParts): Promise<readonly number[]> {
  const sizes: number[] = [];
  for (let step = 0; step < steps; step++) {
    for (let portion = 0; portion < portions; portion++) {
      const nextMs = performance.now() + stepMs / portions;
      await cluster.send(names.input, fleet.take(fleet.series / portions, names.input));
      await wait(Math.max(0, nextMs - performance.now()));
    }
    await cluster.caughtUp(names.group, names.input);
    sizes.push(sizeNow());
  }
  return sizes;
}

async function compact(cluster: Cluster, topics: readonly string[], sizeNow: () => number): Promise<void> {
  for (const topic of topics) {
    await cluster.alterTopic(topic, {
      ...compactedTopic,
      "segment.ms": "1000",
      "min.cleanable.dirty.ratio": "0",
      "delete.retention.ms": "0",
    });
  }
  for (let pass = 0; pass < 3; pass++) {
    await wait(2_000);
    // Every partition begins a new segment with this record, so that the last one is cleaned as well.
    for (const topic of topics) {
      const value = null;
      const key = Buffer.from("no-series#0");
      await cluster.load(
        topic,
        Array.from({ length: partitions }, (_, partition) => ({ topic, partition, key, value })),
      );
    }
    for (let [last, quiet] = [sizeNow(), 0]; quiet < 5; ) {
      await wait(1_000);
      const now = sizeNow();
      quiet = now === last ? quiet + 1 : 0;
      last = now;
    }
  }
}

/** Of their log segments. */
function bytesOn({ dataDir }: Broker, topics: readonly string[]): number {
  const isOurs = (folder: string) => topics.some((topic) => folder.replace(/-\d+$/, "") === topic);
  const files = readdirSync(dataDir)
    .filter(isOurs)
    .flatMap((folder) => readdirSync(join(dataDir, folder)).map((file) => join(dataDir, folder, file)))
    .filter((file) => file.endsWith(".log"));
  return files.reduce((sum, file) => sum + (statSync(file, { throwIfNoEntry: false })?.size ?? 0), 0);
}

/** Processor time of the broker's cleaner threads. */
function cleanerSeconds({ pid }: Broker): number {
  const tasks = `/proc/${pid}/task`;
  return readdirSync(tasks)
    .filter((task) => readFileSync(join(tasks, task, "comm"), "utf8").startsWith("kafka-log-clean"))
    .map((task) => Number(readFileSync(join(tasks, task, "schedstat"), "utf8").split(" ")[0]) / 1e9)
    .reduce((sum, seconds) => sum + seconds, 0);
}
