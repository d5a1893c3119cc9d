// Observations per second through the real worker, beside the bare kafkajs loop that writes the same bytes and the rivals that
// a user would pick instead. All processes stay alive and take turns: an input published in one transaction wakes one of
// them. The rivals are paused when it is not their turn.

import type { ForecastRecord } from "../src/log/codec/schemas.generated.ts";
import type { Log } from "../src/log/log.ts";
import type { BareLoopQuestion } from "./bare-loop.ts";
import { ChildTask } from "./rig/child-task.ts";
import type { Cluster } from "./rig/cluster.ts";
import { Fleet, type FleetSize } from "./rig/fleet.ts";
import { decimals, median, type Section, spread, whole } from "./rig/report.ts";
import { TimedLoop } from "./rig/timed-loop.ts";
import { coldTierOnly, namesOf, type WorkerNames, WorkerProcess } from "./rig/worker-process.ts";
import { Comparison, collectReference, tolerance } from "./rivals/reference-forecasts.ts";
import { openRivals, type Rival, type Rivals, silentSteps } from "./rivals/rivals.ts";

/** The worker's default, and so the bare loop's. */
const batchRecords = 1000;
/** As many as a block of stored state has slots: every round then writes blocks of every length. */
const stepsPerRound = 64;
/** Steps whose forecasts are compared: few errors, more, and all that the band is made of. The last is that of the warm-up. */
const comparedSteps = [stepsPerRound - 1, 90, 2 * stepsPerRound - 1];
const bars = { bare: 0.85, streams: 1, python: 5 };

export interface ThroughputOptions {
  readonly title: string;
  /** What the brokers do with a record. */
  readonly brokers: string;
  readonly cluster: Cluster;
  readonly log: Log;
  readonly fleet: FleetSize;
  readonly rounds: number;
  /** Rounds of Kafka Streams before the timed ones, beyond the two that every rival gets. */
  readonly javaWarmRounds: number;
}

export async function measureThroughput(options: ThroughputOptions): Promise<Section> {
  const { cluster, fleet, rounds } = options;
  const bareLoop = new ChildTask<BareLoopQuestion, void>(new URL("./bare-loop.js", import.meta.url));
  const names = namesOf("worker");
  await cluster.createTopic(names.input, fleet.partitions);
  const process = new WorkerProcess(cluster.bootstrap, names, coldTierOnly);
  await process.logged("partition restored", fleet.partitions);
  const worker = openLoop(options, names, () => process.pid, 1);
  const bare = await openBareLoop(options, bareLoop.pid);

  // Seasonal-naive needs two seasons, 48 steps: the first round is what makes the series mature.
  await worker.run(stepsPerRound);
  await worker.readForecasts(() => undefined);
  await worker.run(stepsPerRound);
  const written = await worker.readForecasts(demandSeasonalNaive);

  await bareLoop.ask({ bootstrap: cluster.bootstrap, ...bare.names, batchRecords, written });
  await bare.run(stepsPerRound);
  await bare.count();

  const rivals = await openRivals(options);
  const largest = await warmUp(rivals.running, options);

  for (let round = 0; round < rounds; round++) {
    await worker.run(stepsPerRound);
    await worker.readForecasts(demandSeasonalNaive);
    await bare.run(stepsPerRound);
    await bare.count();
    for (const rival of rivals.running) {
      rival.resume();
      await rival.loop.run(stepsPerRound);
      await rival.loop.readForecasts(demandSeasonalNaive);
      rival.pause();
    }
  }
  bareLoop.close();
  for (const rival of rivals.running) await rival.close();
  await Promise.all([worker.close(), bare.close()]);
  await process.stop();
  return toSection({ worker, bare, rivals, largest }, options);
}

function demandSeasonalNaive({ id, method }: ForecastRecord): void {
  if (method !== "seasonal-naive") throw new Error(`forecast ${id} is by ${method}`);
}

async function openBareLoop(options: ThroughputOptions, pid: number): Promise<TimedLoop> {
  const names = namesOf("bare");
  await createBareTopics(options.cluster, names, options.fleet.partitions);
  return openLoop(options, names, () => pid, 0);
}

function openLoop(
  { cluster, log, fleet }: ThroughputOptions,
  names: WorkerNames,
  pid: () => number,
  silentSteps: number,
): TimedLoop {
  const own = new Fleet(fleet.series, fleet.partitions);
  return new TimedLoop({ cluster, log, names, pid, fleet: own, silentSteps });
}

async function createBareTopics(cluster: Cluster, names: WorkerNames, partitions: number): Promise<void> {
  // One request per transaction, however large: the loop need not cut.
  const settings = { "max.message.bytes": String(16 * 1024 * 1024) };
  await cluster.createTopic(names.input, partitions);
  await cluster.createTopic(names.forecasts, partitions, settings);
  await cluster.createTopic(names.state, partitions, { ...settings, "cleanup.policy": "compact" });
}

/**
 * Two rounds for each rival, with a restart between them: what it forecasts in the second comes from a past that it kept
 * through the restart. Returns the largest relative difference from the worker's forecasts.
 */
async function warmUp(rivals: readonly Rival[], options: ThroughputOptions): Promise<number> {
  if (rivals.length === 0) return 0;
  const { cluster, log, fleet, javaWarmRounds } = options;
  const steps = 2 * stepsPerRound;
  const reference = await collectReference({ cluster, log, fleet, steps, origins: comparedSteps });
  const largest: number[] = [];
  for (const { kind, title, loop, pause, resume, restart } of rivals) {
    resume();
    const comparison = new Comparison(title, reference);
    await loop.run(stepsPerRound);
    await loop.readForecasts((forecast) => comparison.add(forecast));
    await restart();
    await loop.run(stepsPerRound);
    await loop.readForecasts((forecast) => comparison.add(forecast));
    comparison.demandComplete();
    // Java compiles what is hot as it runs: on a busy machine its CPU time per observation still
    // fell by half after 200,000 observations.
    for (let round = 0; round < (kind === "streams" ? javaWarmRounds : 0); round++) {
      await loop.run(stepsPerRound);
      await loop.readForecasts(demandSeasonalNaive);
    }
    pause();
    largest.push(comparison.largest);
  }
  return Math.max(...largest);
}

interface Measured {
  readonly worker: TimedLoop;
  readonly bare: TimedLoop;
  readonly rivals: Rivals;
  /** Relative difference between a rival's forecasts and the worker's. */
  readonly largest: number;
}

function toSection({ worker, bare, rivals, largest }: Measured, options: ThroughputOptions): Section {
  const { fleet, rounds } = options;
  const row = (title: string, { perSecond, cpuUs, bytesPerObservation }: TimedLoop) => [
    title,
    spread(perSecond.slice(-rounds), whole),
    spread(cpuUs.slice(-rounds), whole),
    whole(median(bytesPerObservation.slice(-rounds))),
  ];
  const ratio = (title: string, other: TimedLoop, bar: number) => {
    const ratios = worker.perSecond
      .slice(-rounds)
      .map((rate, round) => rate / other.perSecond.slice(-rounds)[round]);
    const verdict = median(ratios) >= bar ? "" : "; MISSED";
    return `Worker to ${title}: **${spread(ratios, decimals(2))}** (bar: at least ${bar}${verdict}).`;
  };
  const medianRate = ({ loop }: Rival) => median(loop.perSecond.slice(-rounds));
  const ofKind = (kind: Rival["kind"]) =>
    rivals.running.filter((rival) => rival.kind === kind).sort((a, b) => medianRate(b) - medianRate(a));
  const [streams] = ofKind("streams");
  const [python] = ofKind("python");
  return {
    title: options.title,
    method: [
      options.brokers,
      `${whole(fleet.series)} series on ${fleet.partitions} partitions, ${whole(stepsPerRound * fleet.series)} observations per round, ` +
        `${rounds} rounds in turns. The worker reads, forecasts 24 steps with 9 quantiles for every observation, and commits ` +
        "forecasts, state and offsets in transactions. The bare loop is plain kafkajs: it reads the same input and writes " +
        `the same number of prepared records of the same sizes, with one transactional producer per partition and ${batchRecords} input records per ` +
        "transaction. All processes are warm; the time counts from the first commit to the last. After each round every forecast is read back: " +
        "there is exactly one, with a unique id, for every observation.",
      ...(rivals.running.length === 0 ? [] : [describeRivals(options, largest)]),
    ].join(" "),
    columns: ["loop", "observations/s", "CPU µs per observation", "bytes written per observation"],
    rows: [
      row("worker", worker),
      row("bare kafkajs", bare),
      ...rivals.running.map(({ title, loop }) => row(title, loop)),
      ...[...rivals.absences].map(([title, reason]) => [title, `not run: ${reason}`, "", ""]),
    ],
    outcome: [
      ratio("bare loop", bare, bars.bare),
      ...(streams === undefined
        ? []
        : [ratio(`Kafka Streams at its best (${streams.title})`, streams.loop, bars.streams)]),
      ...(python === undefined
        ? []
        : [ratio(`the Python consumer at its best (${python.title})`, python.loop, bars.python)]),
    ].join(" "),
  };
}

function describeRivals({ fleet, javaWarmRounds }: ThroughputOptions, largest: number): string {
  const javaObservations = whole((1 + javaWarmRounds) * stepsPerRound * fleet.series);
  return (
    "The rivals do the same job in their own way and write the same message; they are paused when it is not their turn, neither score nor calibrate, and give no forecast for the " +
    `first ${silentSteps} observations of a series, all of them before the timed rounds. Before timing, each is restarted to show that its state is restored, and its forecasts ` +
    `are compared with those of a worker whose calibration is off, for all ${whole(fleet.series)} series at ${comparedSteps.length} origins: all fields but the scores are equal, and ` +
    `means, standard deviations and quantiles are within ${tolerance.toExponential()} of each other (largest relative difference ${largest.toExponential(0)}). Kafka Streams has seen ${javaObservations} observations since its restart when timing begins.`
  );
}
