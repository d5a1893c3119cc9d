// From a thousand to a hundred thousand series: what one observation costs as the fleet grows. Same number of
// observations, partitions and batch size, same past of every series; only the number of series differs. Once for
// a lane without a broker, and once for the real worker on one.

import { loadConfig } from "../src/runtime/config/load.ts";
import { seriesRules } from "../src/runtime/config/series-rules.ts";
import type { LaneAnswer, LaneQuestion } from "./lane-alone.ts";
import { ChildTask } from "./rig/child-task.ts";
import type { Cluster } from "./rig/cluster.ts";
import { Fleet, growthFlags, growthSteps, interval, matureState } from "./rig/fleet.ts";
import { cpuMsOf } from "./rig/process-cpu.ts";
import { decimals, median, type Section, spread, whole } from "./rig/report.ts";
import { namesOf, WorkerProcess } from "./rig/worker-process.ts";

const sizes = [1_000, 100_000];
const bar = 1.3;

export interface GrowthOptions {
  readonly cluster: Cluster;
  readonly rounds: number;
  readonly observations: number;
}

/** A fleet of one size, ready to take in observations. */
interface Subject {
  readonly series: number;
  run(observations: number): Promise<LaneAnswer>;
  close(): Promise<void>;
}

export async function measureGrowth(options: GrowthOptions): Promise<readonly Section[]> {
  const { rounds, observations, cluster } = options;
  const past = `every series has ${growthSteps} steps of past (${growthFlags.join(" ")})`;
  const turns = `${whole(observations)} observations per round, ${rounds} rounds in turns`;
  const alone = await compare(options, openLane);
  const onBroker = await compare(options, (series) => openWorker(cluster, series));
  return [
    {
      ...alone,
      title: "Growth of the fleet, without a broker",
      method:
        `One lane with its input in memory and commits that are discarded: decode, window, forecast, encode, state. ${turns}, ` +
        `each fleet in its own process; ${past}. The series report in turn, so all other series report between two ` +
        "observations of the same series.",
    },
    {
      ...onBroker,
      title: "Growth of the fleet, the whole worker",
      method:
        `The real worker on one partition of a real broker, exactly once, with its state restored from the state topic. ${turns}; ` +
        `${past}. Both fleets change one state block per observation.`,
    },
  ];
}

async function compare(
  { rounds, observations }: GrowthOptions,
  open: (series: number) => Promise<Subject>,
): Promise<Pick<Section, "columns" | "rows" | "outcome">> {
  const subjects: Subject[] = [];
  for (const series of sizes) subjects.push(await open(series));
  const results = subjects.map((): LaneAnswer[] => []);
  // The first rounds compile the code and touch every series once.
  for (const subject of subjects) {
    for (let touched = 0; touched < Math.max(...sizes); touched += observations)
      await subject.run(observations);
  }
  for (let round = 0; round < rounds; round++) {
    for (const [i, subject] of subjects.entries()) results[i].push(await subject.run(observations));
  }
  for (const subject of subjects) await subject.close();
  return toTable(results);
}

function toTable(results: readonly (readonly LaneAnswer[])[]): Pick<Section, "columns" | "rows" | "outcome"> {
  const of = (i: number, key: keyof LaneAnswer) => results[i].map((result) => result[key]);
  const last = sizes.length - 1;
  const growth = (key: keyof LaneAnswer) => of(last, key).map((us, round) => us / of(0, key)[round]);
  const isMissed = median(growth("wallUs")) > bar;
  return {
    columns: ["series", "µs per observation", "CPU µs per observation"],
    rows: [
      ...sizes.map((series, i) => [
        whole(series),
        spread(of(i, "wallUs"), decimals(1)),
        spread(of(i, "cpuUs"), decimals(1)),
      ]),
      ["growth", spread(growth("wallUs"), decimals(2)), spread(growth("cpuUs"), decimals(2))],
    ],
    outcome: `A hundred times the series: **${median(growth("wallUs")).toFixed(2)} ×** the time per observation (bar: at most ${bar} ×${isMissed ? "; MISSED" : ""}).`,
  };
}

async function openLane(series: number): Promise<Subject> {
  const child = new ChildTask<LaneQuestion, LaneAnswer>(new URL("./lane-alone.js", import.meta.url));
  await child.ask({ kind: "restore", series });
  return {
    series,
    run: (observations) => child.ask({ kind: "round", observations }),
    close: async () => child.close(),
  };
}

async function openWorker(cluster: Cluster, series: number): Promise<Subject> {
  const names = namesOf(`growth-${series}`);
  const fleet = new Fleet(series, 1, growthSteps);
  const argv = [`--series.interval=${interval}`, ...growthFlags];
  const settings = seriesRules(loadConfig({ argv, env: {} }).series)("");
  await cluster.createTopic(names.input, 1);
  await cluster.createTopic(names.state, 1, { "cleanup.policy": "compact" });
  await cluster.load(names.state, matureState(fleet, names.state, growthSteps, settings));
  const worker = new WorkerProcess(cluster.bootstrap, names, growthFlags);
  await worker.logged("partition restored");
  return {
    series,
    run: async (observations) => {
      const cpuBefore = cpuMsOf(worker.pid);
      const { records, ms } = await cluster.timeGroup(
        names.group,
        names.input,
        fleet.take(observations, names.input),
      );
      const cpuMs = cpuMsOf(worker.pid) - cpuBefore;
      return { wallUs: (1000 * ms) / records, cpuUs: (1000 * cpuMs) / observations };
    },
    close: () => worker.stop(),
  };
}
