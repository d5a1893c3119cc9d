// How long a worker takes to get state and models of its partitions back, from the compacted topics to a store that can
// forecast, and the memory that it holds then. The worker itself says when each partition is restored; its series, blocks and
// models are counted.

import type { Outgoing } from "../src/domain.ts";
import type { TrainedModel } from "../src/models/family.ts";
import { loadConfig } from "../src/runtime/config/load.ts";
import { seriesRules } from "../src/runtime/config/series-rules.ts";
import { openTrainingThreads } from "../src/training/training-threads.ts";
import type { Cluster } from "./rig/cluster.ts";
import { Fleet, interval, matureState } from "./rig/fleet.ts";
import { type FleetModel, modelRecords, trainFleetModel } from "./rig/fleet-models.ts";
import { memoryOf } from "./rig/process-cpu.ts";
import { decimals, median, type Section, spread, whole } from "./rig/report.ts";
import { type TimedRestore, timeRestore } from "./rig/timed-restore.ts";
import { namesOf, type WorkerNames } from "./rig/worker-process.ts";

const partitions = 8;

export interface RestoreOptions {
  readonly cluster: Cluster;
  readonly rounds: number;
  /** Leave out the largest states. */
  readonly isQuick: boolean;
}

interface Timing extends Omit<TimedRestore, "worker"> {
  readonly memory: number;
}

interface Kind {
  readonly series: number;
  readonly steps: number;
  readonly model: Omit<FleetModel, "steps"> | null;
}

const linear = { family: "linear", effort: "normal" } as const;
const nets = { family: "ensemble", effort: "normal" } as const;

export async function measureRestore({ cluster, rounds, isQuick }: RestoreOptions): Promise<Section> {
  const settings = seriesRules(loadConfig({ argv: [`--series.interval=${interval}`], env: {} }).series)("");
  const { history, horizon } = settings;
  const kinds: readonly Kind[] = [
    { series: 10_000, steps: 2 * horizon, model: null },
    { series: 10_000, steps: history, model: null },
    { series: 10_000, steps: history, model: linear },
    { series: 10_000, steps: history, model: nets },
    { series: 20_000, steps: history, model: linear },
  ];
  const trainer = await openTrainingThreads({ setup: { kind: "simd" }, threads: 1 });
  const states: StoredFleet[] = [];
  for (const [i, kind] of (isQuick ? kinds.slice(0, 1) : kinds).entries()) {
    const trained =
      kind.model === null ? null : await trainFleetModel(trainer, { ...kind.model, steps: kind.steps });
    const state = new StoredFleet(cluster, kind, `restore-${i}`);
    await state.write(settings, trained);
    states.push(state);
  }
  await trainer.close();
  for (let round = 0; round < rounds; round++) for (const state of states) await state.restore();
  return {
    title: "Restoring a fleet",
    method:
      `A worker starts alone on ${partitions} partitions and restores them concurrently; ${rounds} rounds in turns. ` +
      "All partitions: from joining the group until the last partition is restored, including fencing and positions. One partition: as " +
      "logged by the worker, concurrently with seven others. From process start: until the worker can read its first observation. Longest turn: the longest time that the event loop was away meanwhile, in any round. The " +
      "topics hold each block and model once, as after compaction. Memory: what the process holds after it has then forecast every series once.",
    columns: [
      "state",
      "blocks",
      "MB",
      "all partitions s",
      "one partition s",
      "from process start s",
      "longest turn ms",
      "memory MB",
    ],
    rows: states.map((state) => state.toRow()),
  };
}

/** State and models of a fleet of one age on their topics, and how long workers took to read them. */
class StoredFleet {
  readonly #cluster: Cluster;
  readonly #kind: Kind;
  readonly #fleet: Fleet;
  readonly #names: WorkerNames;
  readonly #timings: Timing[] = [];
  #blocks = 0;
  #bytes = 0;

  constructor(cluster: Cluster, kind: Kind, name: string) {
    this.#cluster = cluster;
    this.#kind = kind;
    this.#fleet = new Fleet(kind.series, partitions, kind.steps);
    this.#names = namesOf(name);
  }

  async write(settings: Parameters<typeof matureState>[3], trained: TrainedModel | null): Promise<void> {
    const { input, state, models } = this.#names;
    const compacted = { "cleanup.policy": "compact", "max.message.bytes": "16777216" };
    await this.#cluster.createTopic(input, partitions);
    for (const topic of [state, models]) await this.#cluster.createTopic(topic, partitions, compacted);
    const blocks = matureState(this.#fleet, state, this.#kind.steps, settings);
    await this.#cluster.load(
      state,
      this.#counted(blocks, () => this.#blocks++),
    );
    if (trained === null) return;
    await this.#cluster.load(
      models,
      this.#counted(modelRecords(this.#fleet, models, trained), () => 0),
    );
  }

  async restore(): Promise<void> {
    const { series, model } = this.#kind;
    const expected = { partitions, series, models: model === null ? 0 : series };
    const { worker, ...timing } = await timeRestore(this.#cluster, this.#names, expected);
    const { group, input } = this.#names;
    await this.#cluster.timeGroup(group, input, this.#fleet.take(this.#fleet.series, input));
    this.#timings.push({ ...timing, memory: memoryOf(worker.pid) });
    await worker.stop();
  }

  toRow(): readonly string[] {
    const timings = this.#timings;
    const { series, steps, model } = this.#kind;
    const show = decimals(1);
    const served = model === null ? "" : `, ${model.family} models`;
    return [
      `${whole(series)} series, ${whole(steps)} points each${served}`,
      whole(this.#blocks),
      whole(this.#bytes / 1e6),
      spread(
        timings.map(({ seconds }) => seconds),
        show,
      ),
      show(median(timings.flatMap(({ partitionSeconds }) => partitionSeconds))),
      spread(
        timings.map(({ readySeconds }) => readySeconds),
        show,
      ),
      whole(Math.max(...timings.map(({ turnMs }) => turnMs))),
      whole(median(timings.map(({ memory }) => memory)) / 1e6),
    ];
  }

  *#counted(records: Iterable<Outgoing>, count: () => void): Generator<Outgoing> {
    for (const record of records) {
      count();
      this.#bytes += (record.key?.length ?? 0) + (record.value?.length ?? 0);
      yield record;
    }
  }
}
