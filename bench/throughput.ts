// Observations per second through the real worker, beside the bare kafkajs loop that writes the same bytes. Both
// processes run all the time and take turns: an input published in one transaction wakes one of them.

import { decodeForecast } from "../src/log/codec/forecast-codec.ts";
import type { Log, StoredRecord } from "../src/log/log.ts";
import type { BareLoopQuestion, RecordSize, WrittenSizes } from "./bare-loop.ts";
import { ChildTask } from "./rig/child-task.ts";
import type { Cluster } from "./rig/cluster.ts";
import { Fleet } from "./rig/fleet.ts";
import { cpuMsOf } from "./rig/process-cpu.ts";
import { decimals, median, type Section, spread, whole } from "./rig/report.ts";
import { TopicTail } from "./rig/topic-tail.ts";
import { namesOf, type WorkerNames, type WorkerProcess } from "./rig/worker-process.ts";

/** The worker's default, and so the rival's. */
const batchRecords = 1000;
/** As many as a block of stored state has slots: every round then writes blocks of every length. */
const stepsPerRound = 64;
const bar = 0.7;

export interface ThroughputOptions {
  readonly cluster: Cluster;
  readonly log: Log;
  /** It runs and has read nothing yet. */
  readonly worker: WorkerProcess;
  readonly fleet: Fleet;
  readonly rounds: number;
}

export async function measureThroughput(options: ThroughputOptions): Promise<Section> {
  const { cluster, fleet, rounds } = options;
  const rival = new ChildTask<BareLoopQuestion, void>(new URL("./bare-loop.js", import.meta.url));
  const worker = new Side(options, options.worker, fleet);
  const bare = new Side(
    options,
    { names: namesOf("bare"), pid: rival.pid },
    new Fleet(fleet.series, fleet.partitions),
  );
  await createRivalTopics(cluster, bare.names, fleet.partitions);

  // Seasonal-naive needs two seasons, 48 steps: the first round is what makes the series mature.
  await worker.run();
  await worker.readForecasts(false);
  await worker.run();
  const written = await worker.readForecasts(true);

  await rival.ask({ bootstrap: cluster.bootstrap, ...bare.names, batchRecords, written });
  await bare.run();
  await bare.count();

  for (let round = 0; round < rounds; round++) {
    await worker.run();
    await worker.readForecasts(true);
    await bare.run();
    await bare.count();
  }
  rival.close();
  await Promise.all([worker.close(), bare.close()]);
  return toSection(worker, bare, options);
}

/** One of the two loops: its topics, its input, and what it did in each round. */
class Side {
  readonly names: WorkerNames;
  readonly perSecond: number[] = [];
  readonly cpuUs: number[] = [];
  readonly bytesPerObservation: number[] = [];
  readonly #pid: number;
  readonly #cluster: Cluster;
  readonly #fleet: Fleet;
  readonly #forecasts: TopicTail;
  readonly #states: TopicTail;
  readonly #forecastIds = new Set<string>();
  #published = 0;
  #found = 0;

  constructor(
    { cluster, log }: ThroughputOptions,
    { names, pid }: Pick<WorkerProcess, "names" | "pid">,
    fleet: Fleet,
  ) {
    this.names = names;
    this.#pid = pid;
    this.#cluster = cluster;
    this.#fleet = fleet;
    this.#forecasts = new TopicTail(log, cluster, names.forecasts);
    this.#states = new TopicTail(log, cluster, names.state);
  }

  async run(): Promise<void> {
    const { group, input } = this.names;
    const observations = this.#fleet.take(stepsPerRound * this.#fleet.series, input);
    const cpuBefore = cpuMsOf(this.#pid);
    const { records, ms } = await this.#cluster.timeGroup(group, input, observations);
    this.perSecond.push((1000 * records) / ms);
    this.cpuUs.push((1000 * (cpuMsOf(this.#pid) - cpuBefore)) / observations.length);
    this.#published += observations.length;
  }

  /** Reads what the round wrote and checks that there is one forecast, with an id of its own, per observation. */
  async readForecasts(isMature: boolean): Promise<readonly WrittenSizes[]> {
    // A series has nothing to go by at its very first observation.
    const expected = this.#published - this.#fleet.series;
    const sizes = await this.count(expected - this.#forecastIds.size, (value) => {
      this.#found++;
      const { id, method } = decodeForecast(value);
      this.#forecastIds.add(id);
      if (isMature && method !== "seasonal-naive") throw new Error(`forecast ${id} is by ${method}`);
    });
    if (this.#found !== expected || this.#forecastIds.size !== expected) {
      throw new Error(
        `${expected} forecasts expected, ${this.#found} found, ${this.#forecastIds.size} different ones`,
      );
    }
    return sizes;
  }

  /** Reads what the round wrote. */
  async count(
    expected = stepsPerRound * this.#fleet.series,
    read: (forecast: Buffer) => void = () => undefined,
  ): Promise<readonly WrittenSizes[]> {
    const sizes = Array.from({ length: this.#fleet.partitions }, () => ({
      forecasts: [] as RecordSize[],
      states: [] as RecordSize[],
    }));
    await this.#forecasts.drain(expected, (record, partition) => {
      sizes[partition].forecasts.push(sizeOf(record));
      read(record.value ?? Buffer.alloc(0));
    });
    await this.#states.drain(0, (record, partition) => sizes[partition].states.push(sizeOf(record)));
    const bytes = sizes.flatMap(({ forecasts, states }) => [...forecasts, ...states]);
    const inputs = stepsPerRound * this.#fleet.series;
    this.bytesPerObservation.push(bytes.reduce((sum, [key, value]) => sum + key + value, 0) / inputs);
    return sizes;
  }

  async close(): Promise<void> {
    await Promise.all([this.#forecasts.close(), this.#states.close()]);
  }
}

function sizeOf({ key, value }: StoredRecord): RecordSize {
  return [key?.length ?? 0, value?.length ?? 0];
}

async function createRivalTopics(cluster: Cluster, names: WorkerNames, partitions: number): Promise<void> {
  // One request per transaction, however large: the rival need not cut.
  const settings = { "max.message.bytes": String(16 * 1024 * 1024) };
  await cluster.createTopic(names.input, partitions);
  await cluster.createTopic(names.forecasts, partitions, settings);
  await cluster.createTopic(names.state, partitions, { ...settings, "cleanup.policy": "compact" });
}

function toSection(worker: Side, bare: Side, { fleet, rounds }: ThroughputOptions): Section {
  const [workerRates, bareRates] = [worker, bare].map(({ perSecond }) => perSecond.slice(-rounds));
  const ratios = workerRates.map((rate, round) => rate / bareRates[round]);
  const row = (name: string, side: Side, rates: readonly number[]) => [
    name,
    spread(rates, whole),
    spread(side.cpuUs.slice(-rounds), whole),
    whole(median(side.bytesPerObservation.slice(-rounds))),
  ];
  const ratio = median(ratios);
  return {
    title: "Throughput, exactly once, cold tier",
    method:
      `${whole(fleet.series)} series on ${fleet.partitions} partitions, ${whole(stepsPerRound * fleet.series)} observations per round, ` +
      `${rounds} rounds in turns. The worker reads, forecasts 24 steps with 9 quantiles for every observation, and commits ` +
      "forecasts, state and offsets in transactions. The bare loop is plain kafkajs: it reads the same input and writes " +
      `the same number of prepared records of the same sizes, with one transactional producer per partition and ${batchRecords} input records per ` +
      "transaction. Both processes are warm; the time counts from the first commit to the last. After each round every forecast is read back: " +
      "there is exactly one, with a unique id, for every observation.",
    columns: ["loop", "observations/s", "CPU µs per observation", "bytes written per observation"],
    rows: [row("worker", worker, workerRates), row("bare kafkajs", bare, bareRates)],
    outcome: `Worker to bare loop: **${spread(ratios, decimals(2))}** (bar: at least ${bar}${ratio >= bar ? "" : "; MISSED"}).`,
  };
}
