// How long a worker takes to get the state of its partitions back, from the compacted topic to a store that can
// forecast. The worker itself says when each partition is restored; its series and blocks are counted.

import { loadConfig } from "../src/runtime/config/load.ts";
import { seriesRules } from "../src/runtime/config/series-rules.ts";
import type { Cluster } from "./rig/cluster.ts";
import { Fleet, interval, matureState } from "./rig/fleet.ts";
import { decimals, median, type Section, spread, whole } from "./rig/report.ts";
import { namesOf, type WorkerNames, WorkerProcess } from "./rig/worker-process.ts";

const fleet = new Fleet(10_000, 8);

export interface RestoreOptions {
  readonly cluster: Cluster;
  readonly rounds: number;
  /** Leave out the largest state. */
  readonly isQuick: boolean;
}

interface Timing {
  readonly readySeconds: number;
  readonly restoreSeconds: number;
  readonly partitionSeconds: readonly number[];
}

export async function measureRestore({ cluster, rounds, isQuick }: RestoreOptions): Promise<Section> {
  const settings = seriesRules(loadConfig({ argv: [`--series.interval=${interval}`], env: {} }).series)("");
  const ages = isQuick ? [2 * settings.season] : [2 * settings.season, settings.history];
  const states: StoredFleet[] = [];
  for (const steps of ages) {
    const state = new StoredFleet(cluster, steps);
    await state.write(settings);
    states.push(state);
  }
  for (let round = 0; round < rounds; round++) for (const state of states) await state.restore();
  return {
    title: `Restoring ${whole(fleet.series)} series`,
    method:
      `A worker starts alone on ${fleet.partitions} partitions and restores them concurrently; ${rounds} rounds in turns. ` +
      "All partitions: from joining the group until the last partition is restored, including fencing and positions. One partition: as " +
      "logged by the worker, concurrently with seven others. From process start: until the worker can read its first observation. The " +
      "state topic holds each block once, as after compaction.",
    columns: ["state", "blocks", "MB", "all partitions s", "one partition s", "from process start s"],
    rows: states.map((state) => state.toRow()),
  };
}

/** The state of a fleet of one age on its topic, and how long workers took to read it. */
class StoredFleet {
  readonly #cluster: Cluster;
  readonly #steps: number;
  readonly #names: WorkerNames;
  readonly #timings: Timing[] = [];
  #blocks = 0;
  #bytes = 0;

  constructor(cluster: Cluster, steps: number) {
    this.#cluster = cluster;
    this.#steps = steps;
    this.#names = namesOf(`restore-${steps}`);
  }

  async write(settings: Parameters<typeof matureState>[3]): Promise<void> {
    const { input, state } = this.#names;
    await this.#cluster.createTopic(input, fleet.partitions);
    await this.#cluster.createTopic(state, fleet.partitions, { "cleanup.policy": "compact" });
    await this.#cluster.load(state, this.#counted(matureState(fleet, state, this.#steps, settings)));
  }

  async restore(): Promise<void> {
    const startMs = performance.now();
    const worker = new WorkerProcess(this.#cluster.bootstrap, this.#names);
    const restored = await worker.logged("partition restored", fleet.partitions);
    const readySeconds = (performance.now() - startMs) / 1000;
    const [joined] = await worker.logged("group joined");
    await worker.stop();
    const [series, blocks] = [sum(restored, "series"), sum(restored, "blocks")];
    if (series !== fleet.series || blocks !== this.#blocks) {
      throw new Error(`restored ${series} series of ${fleet.series}, ${blocks} blocks of ${this.#blocks}`);
    }
    const lastMs = Math.max(...restored.map(({ time }) => Date.parse(time)));
    this.#timings.push({
      readySeconds,
      restoreSeconds: (lastMs - Date.parse(joined.time)) / 1000,
      partitionSeconds: restored.map(({ tookMs }) => Number(tookMs) / 1000),
    });
  }

  toRow(): readonly string[] {
    const timings = this.#timings;
    const show = decimals(1);
    return [
      `${whole(this.#steps)} points a series`,
      whole(this.#blocks),
      whole(this.#bytes / 1e6),
      spread(
        timings.map(({ restoreSeconds }) => restoreSeconds),
        show,
      ),
      show(median(timings.flatMap(({ partitionSeconds }) => partitionSeconds))),
      spread(
        timings.map(({ readySeconds }) => readySeconds),
        show,
      ),
    ];
  }

  *#counted(records: ReturnType<typeof matureState>): ReturnType<typeof matureState> {
    for (const record of records) {
      this.#blocks++;
      this.#bytes += (record.key?.length ?? 0) + (record.value?.length ?? 0);
      yield record;
    }
  }
}

function sum(lines: readonly { readonly [fact: string]: unknown }[], fact: string): number {
  return lines.reduce((total, line) => total + Number(line[fact]), 0);
}
