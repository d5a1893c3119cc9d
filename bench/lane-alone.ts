// One lane of the pipeline with nothing around it: its input lies ready in memory and its commits go nowhere.
// What is left is the whole work on an observation: decode, window, forecast, encode, state. Runs in a process of
// its own, so that one fleet's memory is no other fleet's garbage.

import type { Outgoing } from "../src/domain.ts";
import { openThreadedEngine } from "../src/engine/threads/threaded-engine.ts";
import { type Attempt, isolateFailures } from "../src/isolate-failures.ts";
import { createLane } from "../src/lane.ts";
import type { OwnedPartition, StoredBatch, StoredRecord } from "../src/log/log.ts";
import { createMemoryLog } from "../src/log/memory-log.ts";
import { createFamilies } from "../src/models/families.ts";
import { type PipelineParts, runLane } from "../src/pipeline.ts";
import { systemClock } from "../src/runtime/clock.ts";
import { loadConfig } from "../src/runtime/config/load.ts";
import { silentLogger } from "../src/runtime/logging.ts";
import { createMetrics } from "../src/runtime/metrics.ts";
import { buildPipelineParts } from "../src/service/pipeline-parts.ts";
import { answerParent } from "./rig/child-task.ts";
import { Fleet, growthFlags, growthSteps, interval, matureState } from "./rig/fleet.ts";

const batchRecords = 1000;

export type LaneQuestion =
  | { readonly kind: "restore"; readonly series: number }
  | { readonly kind: "round"; readonly observations: number };

/** What an observation took in a round, garbage collection included. */
export interface LaneAnswer {
  readonly wallUs: number;
  readonly cpuUs: number;
}

class LaneAlone {
  readonly #parts: PipelineParts;
  readonly #fleet: Fleet;
  readonly #state: Iterable<Outgoing>;
  #forecasts = 0;
  #wake: (batches: readonly StoredBatch[]) => void = () => undefined;
  #settled: () => void = () => undefined;
  #left = 0;

  private constructor(series: number, parts: PipelineParts) {
    this.#parts = parts;
    this.#fleet = new Fleet(series, 1, growthSteps);
    this.#state = matureState(this.#fleet, parts.stateTopic, growthSteps, parts.settingsOf(""));
  }

  static async open(series: number): Promise<LaneAlone> {
    const log = createMemoryLog({ topics: [{ topic: "sensors", partitions: 1, compacted: false }] });
    const argv = [`--series.interval=${interval}`, "--pipeline.behindAfterMs=0", ...growthFlags];
    const config = loadConfig({ argv, env: {} });
    const surroundings = {
      config,
      clock: systemClock,
      random: Math.random,
      logger: silentLogger,
      metrics: createMetrics("bench"),
    };
    const engine = await openThreadedEngine({ setup: { kind: "reference" }, threads: 1 });
    const parts = await buildPipelineParts(log, createFamilies(engine), surroundings);
    const lane = new LaneAlone(series, parts);
    await lane.#start();
    return lane;
  }

  /** Takes in so many observations, every one of which must bring a forecast. */
  async run(observations: number): Promise<LaneAnswer> {
    const batches = toBatches(this.#fleet.take(observations, "sensors"));
    this.#forecasts = 0;
    this.#left = batches.length;
    const settled = new Promise<void>((resolve) => {
      this.#settled = resolve;
    });
    const startMs = performance.now();
    const startCpu = process.cpuUsage();
    this.#wake(batches);
    await settled;
    const { user, system } = process.cpuUsage(startCpu);
    const wallUs = 1000 * (performance.now() - startMs);
    if (this.#forecasts !== observations) {
      throw new Error(`${observations} observations brought ${this.#forecasts} forecasts`);
    }
    return { wallUs: wallUs / observations, cpuUs: (user + system) / observations };
  }

  /** Resolves once the lane is restored and waits for input. */
  async #start(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const owned = this.#owned(resolve);
      const { deadLetters, metrics } = this.#parts.source;
      const isolation = { ...this.#parts, deadLetters, metrics };
      const run = (attempt: Attempt) => runLane(createLane(attempt, this.#parts), this.#parts);
      isolateFailures(owned, isolation, run).catch(reject);
    });
  }

  #owned(onDecided: () => void): OwnedPartition {
    const { stateTopic, sink } = this.#parts;
    const nextInput = () =>
      new Promise<readonly StoredBatch[]>((resolve) => {
        this.#wake = resolve;
        onDecided();
      });
    return {
      partition: 0,
      lost: new AbortController().signal,
      lag: 0,
      restore: (table) => stored(table === stateTopic ? this.#state : []),
      async *tail() {},
      write: async () => {},
      async *batches() {
        for (;;) yield* await nextInput();
      },
      commit: async ({ records }) => {
        for (const record of records) if (record.topic === sink.topic) this.#forecasts++;
        if (--this.#left === 0) this.#settled();
      },
    };
  }
}

async function* stored(records: Iterable<Outgoing>): AsyncGenerator<readonly StoredRecord[]> {
  for (const record of records) yield [toStored(record, 0)];
}

function toBatches(records: readonly Outgoing[]): StoredBatch[] {
  const batches: StoredBatch[] = [];
  for (let from = 0; from < records.length; from += batchRecords) {
    const piece = records.slice(from, from + batchRecords).map(toStored);
    batches.push({ topic: "sensors", partition: 0, records: piece, nextOffset: from + piece.length });
  }
  return batches;
}

function toStored({ key, value }: Outgoing, offset: number): StoredRecord {
  return { key, value, headers: [], offset, timestampMs: systemClock.nowMs() };
}

let lane: LaneAlone | undefined;

answerParent<LaneQuestion, LaneAnswer | null>(async (question) => {
  if (question.kind === "restore") {
    lane = await LaneAlone.open(question.series);
    return null;
  }
  if (lane === undefined) throw new Error("restore comes before the first round");
  return lane.run(question.observations);
});
