// From the moment the broker appended an observation to the moment a subscriber of committed data holds its forecast: the
// worker beside Kafka Streams, each under an even load of some shares of the most that it can take. The sender keeps its pace
// whatever they do. Sender and subscriber share the machine with them and with the broker.

import { setTimeout as wait } from "node:timers/promises";
import { decodeForecast } from "../src/log/codec/forecast-codec.ts";
import type { Log } from "../src/log/log.ts";
import { arrivalTimes, type Cluster } from "./rig/cluster.ts";
import { Fleet, type FleetSize } from "./rig/fleet.ts";
import { cpuMsOf } from "./rig/process-cpu.ts";
import { quantile, type Section, whole } from "./rig/report.ts";
import { TopicTail } from "./rig/topic-tail.ts";
import { coldTierOnly, namesOf, type WorkerNames, WorkerProcess } from "./rig/worker-process.ts";
import { openStreams } from "./rivals/rivals.ts";

const tickMs = 5;
/** The worker under the load that its fastest rival has at the same share. */
const atTheirRate = "worker, at the rate of Kafka Streams";
const patienceMs = 30_000;
const batchIntervalsMs = [0, 5, 10, 20, 50, 100, 500];
const shares = [0.1, 0.5, 0.8];
/** Until every series has a past that forecasts come from, and Java has compiled what is hot. */
const warmSteps = 64;
const warmRounds = { worker: 2, streams: 4 };
/** Observations that may wait for their forecasts while the most that a loop can take is measured. */
const mostWaiting = 8_000;
const bars = [
  { share: 0.1, level: 0.5, ms: 30 },
  { share: 0.1, level: 0.99, ms: 150 },
  { share: 0.5, level: 0.99, ms: 300 },
];

export interface LatencyOptions {
  readonly cluster: Cluster;
  readonly log: Log;
  readonly fleet: FleetSize;
  readonly seconds: number;
  /** How long the broker is warmed up first, under a light load. */
  readonly warmSeconds: number;
}

/** A loop that turns observations into forecasts. */
interface Contender {
  readonly title: string;
  readonly names: WorkerNames;
  readonly fleet: Fleet;
  readonly warmRounds: number;
  pid(): number;
  /** Ready to work, until `pause`. */
  resume(): void;
  pause(): void;
  close(): Promise<void>;
}

interface Measured {
  readonly contender: Contender;
  readonly share: number;
  readonly perSecond: number;
  readonly latenciesMs: readonly number[];
  readonly cpuUs: number;
}

export async function measureLatency(options: LatencyOptions): Promise<readonly Section[]> {
  const { cluster, seconds, warmSeconds } = options;
  const streams = await openStreams(options);
  const contenders: readonly Contender[] = [
    await openWorker(options, "worker"),
    ...streams.running.map(
      (rival): Contender => ({
        title: rival.title,
        names: rival.loop.names,
        fleet: rival.loop.fleet,
        warmRounds: warmRounds.streams,
        pid: () => rival.pid,
        resume: rival.resume,
        pause: rival.pause,
        close: rival.close,
      }),
    ),
  ];
  const worker = contenders[0] as Contender;
  for (const contender of contenders) await inTurn(contender, warmUp);
  await measureAt(worker, 0, 1_000, warmSeconds);
  const mostByContender = new Map<Contender, number>();
  for (const contender of contenders) mostByContender.set(contender, await inTurn(contender, measureMost));
  const mostOfRivals = Math.max(...contenders.slice(1).map((rival) => mostByContender.get(rival) ?? 0));
  const measured: Measured[] = [];
  for (const share of shares) {
    for (const contender of contenders) {
      const perSecond = Math.round(share * (mostByContender.get(contender) ?? 0));
      measured.push(await inTurn(contender, () => measureAt(contender, share, perSecond, seconds)));
    }
    if (mostOfRivals === Number.NEGATIVE_INFINITY) continue;
    const alike = { ...worker, title: atTheirRate };
    measured.push(await measureAt(alike, share, Math.round(share * mostOfRivals), seconds));
  }
  for (const contender of contenders) await contender.close();
  const lightLoad = measured[0]?.perSecond ?? 0;
  const curve: Measured[] = [];
  for (const ms of batchIntervalsMs) {
    const worker = await openWorker(options, `every ${ms} ms`, [`--pipeline.batchIntervalMs=${ms}`]);
    await warmUp(worker);
    curve.push(await measureAt(worker, shares[0] as number, lightLoad, seconds));
    await worker.close();
  }
  return [toSection(measured, streams.absences, options), toCurve(curve, options)];

  async function inTurn<T>(contender: Contender, run: (contender: Contender) => Promise<T>): Promise<T> {
    contender.resume();
    const result = await run(contender);
    contender.pause();
    return result;
  }

  async function warmUp({ names, fleet, warmRounds: rounds }: Contender): Promise<void> {
    for (let round = 0; round < rounds; round++)
      await cluster.timeGroup(names.group, names.input, fleet.take(warmSteps * fleet.series, names.input));
  }

  /** Observations per second while as many as allowed wait for their forecasts. */
  async function measureMost({ names, fleet }: Contender): Promise<number> {
    const subscriber = await Subscriber.open(options, names);
    const total = 60 * fleet.series;
    let begin = { ms: performance.now(), received: 0 };
    const deadline = begin.ms + 2 * patienceMs;
    for (let sent = 0; sent < total; ) {
      if (performance.now() > deadline)
        throw new Error(`${names.group}: ${subscriber.received} of ${sent} forecasts came`);
      if (sent - subscriber.received < mostWaiting) {
        const records = fleet.take(500, names.input);
        sent += records.length;
        await cluster.send(names.input, records);
      } else await wait(1);
      if (sent < total / 4) begin = { ms: performance.now(), received: subscriber.received };
    }
    const perSecond = (1_000 * (subscriber.received - begin.received)) / (performance.now() - begin.ms);
    await subscriber.close(total);
    return perSecond;
  }

  async function measureAt(
    contender: Contender,
    share: number,
    perSecond: number,
    seconds: number,
  ): Promise<Measured> {
    const { names, fleet } = contender;
    const subscriber = await Subscriber.open(options, names);
    const total = perSecond * seconds;
    const cpuBefore = cpuMsOf(contender.pid());
    const appendedMsByKey = await sendSteadily(cluster, { names, fleet, perSecond, total });
    const receivedMsByKey = await subscriber.close(total);
    const cpuUs = (1_000 * (cpuMsOf(contender.pid()) - cpuBefore)) / total;
    const latenciesMs = [...appendedMsByKey].map(([key, appendedMs]) => {
      const receivedMs = receivedMsByKey.get(key);
      if (receivedMs === undefined) throw new Error(`no forecast came for the observation ${key}`);
      return receivedMs - appendedMs;
    });
    return { contender, share, perSecond, latenciesMs, cpuUs };
  }
}

async function openWorker(
  { cluster, fleet: { series, partitions } }: LatencyOptions,
  name: string,
  flags: readonly string[] = [],
): Promise<Contender> {
  const names = namesOf(`latency-${name.replaceAll(" ", "-")}`);
  await cluster.createTopic(names.input, partitions, arrivalTimes);
  const worker = new WorkerProcess(cluster.bootstrap, names, [...coldTierOnly, ...flags]);
  await worker.logged("partition restored", partitions);
  return {
    title: name,
    names,
    fleet: new Fleet(series, partitions),
    warmRounds: warmRounds.worker,
    pid: () => worker.pid,
    resume: () => undefined,
    pause: () => undefined,
    close: () => worker.stop(),
  };
}

/** Reads the forecasts of a topic that are yet to come. */
class Subscriber {
  readonly #tail: TopicTail;
  readonly #receivedMsByKey = new Map<string, number>();
  #expected = Number.POSITIVE_INFINITY;
  #reading: Promise<void> = Promise.resolve();

  private constructor(tail: TopicTail) {
    this.#tail = tail;
  }

  static async open({ log, cluster }: LatencyOptions, { forecasts }: WorkerNames): Promise<Subscriber> {
    const subscriber = new Subscriber(new TopicTail(log, cluster, forecasts));
    await subscriber.#tail.drain(0, () => undefined);
    subscriber.#reading = subscriber.#read();
    return subscriber;
  }

  get received(): number {
    return this.#receivedMsByKey.size;
  }

  /** Resolves when that many forecasts have come: when each did, by its observation. */
  async close(expected: number): Promise<ReadonlyMap<string, number>> {
    this.#expected = expected;
    const late = wait(patienceMs, "late", { ref: false });
    if (this.received < expected && (await Promise.race([this.#reading, late])) === "late")
      throw new Error(
        `${this.received} of ${expected} forecasts came within ${patienceMs} ms of the last observation`,
      );
    await this.#tail.close();
    return this.#receivedMsByKey;
  }

  async #read(): Promise<void> {
    while (this.received < this.#expected) {
      const arrived: Buffer[] = [];
      if (!(await this.#tail.next(({ value }) => arrived.push(value ?? Buffer.alloc(0))))) return;
      const nowMs = Date.now();
      for (const value of arrived) {
        const { seriesId, origin } = decodeForecast(value);
        this.#receivedMsByKey.set(keyOf(seriesId, origin), nowMs);
      }
    }
  }
}

interface Load {
  readonly names: WorkerNames;
  readonly fleet: Fleet;
  readonly perSecond: number;
  readonly total: number;
}

/** When the broker appended each observation. */
async function sendSteadily(
  cluster: Cluster,
  { names, fleet, perSecond, total }: Load,
): Promise<ReadonlyMap<string, number>> {
  const appendedMsByKey = new Map<string, number>();
  const startMs = performance.now();
  for (let sent = 0; sent < total; await wait(tickMs)) {
    const due = Math.min(total, Math.floor(((performance.now() - startMs) * perSecond) / 1000));
    const points = fleet.takePoints(due - sent, names.input);
    sent = due;
    if (points.length === 0) continue;
    // One request at a time, because two can overtake each other on their way.
    const records = points.map(({ record }) => record);
    const appendedMsByPartition = await cluster.send(names.input, records);
    for (const { record, seriesId, timeMs } of points)
      appendedMsByKey.set(keyOf(seriesId, timeMs), appendedMsByPartition.get(record.partition) ?? 0);
  }
  return appendedMsByKey;
}

function keyOf(seriesId: string, timeMs: number): string {
  return `${seriesId}@${timeMs}`;
}

/** What the setting that trades latency against cost does. */
function toCurve(curve: readonly Measured[], { fleet, seconds }: LatencyOptions): Section {
  return {
    title: "Latency against cost",
    method:
      `\`pipeline.batchIntervalMs\`, the shortest time between two batches of a partition, at ${whole(curve[0]?.perSecond ?? 0)} observations/s ` +
      `of ${whole(fleet.series)} series on ${fleet.partitions} partitions, ${seconds} s for each row; everything else as in the table above.`,
    columns: ["batchIntervalMs", "p50 ms", "p90 ms", "p99 ms", "max ms", "CPU µs per observation"],
    rows: curve.map(({ latenciesMs, cpuUs }, i) => [
      whole(batchIntervalsMs[i] as number),
      ...quantilesOf(latenciesMs),
      whole(cpuUs),
    ]),
  };
}

function quantilesOf(latenciesMs: readonly number[]): readonly string[] {
  return [0.5, 0.9, 0.99, 1].map((level) => whole(quantile(latenciesMs, level)));
}

function toSection(
  measured: readonly Measured[],
  absences: ReadonlyMap<string, string>,
  { fleet: { series, partitions }, seconds }: LatencyOptions,
): Section {
  const percent = (share: number) => `${whole(100 * share)} %`;
  const ofWorker = measured.filter(({ contender: { title } }) => title === "worker");
  const verdicts = bars.map(({ share, level, ms }) => {
    const found = quantile(ofWorker.find((row) => row.share === share)?.latenciesMs ?? [], level);
    const verdict = found <= ms ? "" : "; MISSED";
    return `p${whole(100 * level)} at ${percent(share)}: **${whole(found)} ms** (bar: at most ${ms}${verdict}).`;
  });
  const comparisons = shares.flatMap((share) => {
    const alike = measured.find((row) => row.share === share && row.contender.title === atTheirRate);
    const rival = measured.find((row) => row.share === share && row.perSecond === alike?.perSecond);
    if (alike === undefined || rival === undefined) return [];
    const both = [0.5, 0.99].map((level) => {
      const [ours, theirs] = [alike, rival].map(({ latenciesMs }) => quantile(latenciesMs, level));
      return `p${whole(100 * level)} ${whole(ours as number)} ms against ${whole(theirs as number)}`;
    });
    return `With ${whole(rival.perSecond)} observations/s for worker and Kafka Streams alike: ${both.join(", ")}.`;
  });
  return {
    title: "Latency from arrival to committed forecast",
    method:
      `${whole(series)} series on ${partitions} partitions, exactly once, ${seconds} s at an even pace for each row. The latency counts from the broker's append time ` +
      "of the observation until a read-committed subscriber has its forecast. Load: share of the most that the same loop takes while at " +
      `most ${whole(mostWaiting)} observations wait for their forecasts. Sender and subscriber share the machine with loop and broker. Kafka Streams runs two threads with in-memory stores.`,
    columns: [
      "load",
      "loop",
      "observations/s",
      "p50 ms",
      "p90 ms",
      "p99 ms",
      "max ms",
      "CPU µs per observation",
    ],
    rows: [
      ...measured.map(({ contender, share, perSecond, latenciesMs, cpuUs }) => [
        percent(share),
        contender.title,
        whole(perSecond),
        ...quantilesOf(latenciesMs),
        whole(cpuUs),
      ]),
      ...[...absences].map(([title, reason]) => ["", title, `not run: ${reason}`, "", "", "", "", ""]),
    ],
    outcome: [...verdicts, ...comparisons].join(" "),
  };
}
