// A day of event time at full speed through one worker that also trains: memory must not grow with what has passed, and
// every observation must get exactly one forecast.

import { setTimeout as wait } from "node:timers/promises";
import { openKafkaLog } from "../src/log/kafka/kafka-log.ts";
import { systemClock } from "../src/runtime/clock.ts";
import { loadConfig } from "../src/runtime/config/load.ts";
import { seriesRules } from "../src/runtime/config/series-rules.ts";
import { silentLogger } from "../src/runtime/logging.ts";
import type { Cluster } from "./rig/cluster.ts";
import { Fleet, interval, matureState } from "./rig/fleet.ts";
import { memoryOf } from "./rig/process-cpu.ts";
import { median, type Section, whole } from "./rig/report.ts";
import { TimedLoop } from "./rig/timed-loop.ts";
import { metricsOf } from "./rig/worker-metrics.ts";
import { namesOf, WorkerProcess } from "./rig/worker-process.ts";

const partitions = 8;
const hours = 24;
const stepsPerHour = 60;
/** Defaults, but for a schedule that looks every minute of the clock, because a day passes within minutes. */
const flags = ["--retrain.schedule=* * * * *", "--retrain.jitterMs=1000"];
const compacted = {
  "cleanup.policy": "compact",
  "max.message.bytes": "16777216",
  "segment.bytes": "16777216",
};
/** What readers have had goes, so that the disk does not fill. */
const passing = { "retention.bytes": "100000000", "segment.bytes": "20000000" };
const barMb = 10;
const trainingMs = 1_800_000;

interface Sample {
  readonly hour: number;
  readonly rss: number;
  readonly heap: number;
  readonly external: number;
  readonly models: number;
  readonly trainings: number;
}

export async function measureSoak(cluster: Cluster, series: number): Promise<Section> {
  const names = namesOf("soak");
  const settings = seriesRules(loadConfig({ argv: [`--series.interval=${interval}`], env: {} }).series)("");
  const fleet = new Fleet(series, partitions, settings.history);
  await cluster.createTopic(names.input, partitions, passing);
  await cluster.createTopic(names.forecasts, partitions, passing);
  await cluster.createTopic(names.state, partitions, compacted);
  await cluster.load(names.state, matureState(fleet, names.state, settings.history, settings));
  const log = await openKafkaLog({
    brokers: [cluster.bootstrap],
    clientId: "soak",
    sessionTimeoutMs: 10_000,
    transactions: { timeoutMs: 60_000, onEnd: () => {} },
    replicationFactor: 1,
    clock: systemClock,
    logger: silentLogger,
  });
  const worker = new WorkerProcess(cluster.bootstrap, names, flags);
  await worker.logged("partition restored", partitions);
  const loop = new TimedLoop({ cluster, log, names, pid: () => worker.pid, fleet, silentSteps: 0 });
  await trainAll(worker, loop, series);
  const samples: Sample[] = [];
  for (let hour = 1; hour <= hours; hour++) {
    // In portions that the client of this process can publish at once.
    for (let part = 0; part < 4; part++) await loop.run(stepsPerHour / 4);
    // Throws unless every observation has got one forecast, with an id of its own.
    await loop.readForecasts(() => {});
    samples.push({ hour, ...(await sampleOf(worker)) });
  }
  await worker.stop();
  await loop.close();
  await log.close();
  return toSection(series, settings.history, samples, loop);
}

/** The day begins when every series has a model, so that what first models take does not count as growth. */
async function trainAll(worker: WorkerProcess, loop: TimedLoop, series: number): Promise<void> {
  const deadline = performance.now() + trainingMs;
  while ((await metricsOf(worker)).of("forecastnet_models") < series) {
    if (performance.now() > deadline) throw new Error("not every series got a model in time");
    await loop.run(1);
    await wait(1_000);
  }
  await loop.readForecasts(() => {});
}

async function sampleOf(worker: WorkerProcess): Promise<Omit<Sample, "hour">> {
  const metrics = await metricsOf(worker);
  return {
    rss: memoryOf(worker.pid),
    heap: metrics.of("nodejs_heap_size_used_bytes"),
    external: metrics.of("nodejs_external_memory_bytes"),
    models: metrics.of("forecastnet_models"),
    trainings: metrics.of("forecastnet_trainings_total", 'outcome="trained"'),
  };
}

type Measure = Exclude<keyof Sample, "hour">;

function toSection(
  series: number,
  history: number,
  samples: readonly Sample[],
  loop: Pick<TimedLoop, "cpuUs">,
): Section {
  const observations = series * hours * stepsPerHour;
  const late = samples.slice(samples.length / 3);
  const measures: readonly Measure[] = ["rss", "heap", "external"];
  /** Bytes per million observations. */
  const slopeOf = (measure: Measure) =>
    slope(
      late.map(({ hour }) => (hour * stepsPerHour * series) / 1e6),
      late.map((sample) => sample[measure]),
    );
  const growth = slopeOf("rss") / 1e6;
  const shown = samples.filter(({ hour }) => hour === 1 || hour % 4 === 0);
  return {
    title: "A day of traffic",
    method:
      `${whole(series)} series on ${partitions} partitions, each with ${whole(history)} points of history at the start, first get a model each, then report every minute for ${hours} hours of event time, at full ` +
      `speed: ${whole(observations)} observations. Defaults; models are evaluated every minute of the clock, and trained on a thread of the worker. MB after each hour, as it ` +
      "happens to lie between two garbage collections. All forecasts are read by another client, which counts them and their ids.",
    columns: ["after", "RSS", "heap in use", "external", "models", "trainings"],
    rows: [
      ...shown.map((sample) => [
        `${sample.hour} h`,
        ...measures.map((measure) => whole(sample[measure] / 1e6)),
        whole(sample.models),
        whole(sample.trainings),
      ]),
      [
        "last 16 h, MB per million",
        ...measures.map((measure) => (slopeOf(measure) / 1e6).toFixed(1)),
        ...["", ""],
      ],
    ],
    outcome:
      `Memory grows by **${growth.toFixed(1)} MB** per million observations (bar: ${barMb} MB${growth > barMb ? "; MISSED" : ""}), ` +
      `at ${whole(median(loop.cpuUs.slice(-4 * hours)))} CPU µs each, training included. ` +
      `${whole(observations)} observations got as many forecasts, each with an id of its own.`,
  };
}

/** Of the line with the least squared errors. */
function slope(xs: readonly number[], ys: readonly number[]): number {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [meanX, meanY] = [mean(xs), mean(ys)];
  const covariance = xs.reduce((sum, x, i) => sum + (x - meanX) * (ys[i] - meanY), 0);
  return covariance / xs.reduce((sum, x) => sum + (x - meanX) ** 2, 0);
}
