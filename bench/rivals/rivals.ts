// The rivals that a user would pick instead of the worker, each with a process, topics and a fleet of its own. A rival that
// cannot run here is left out, and the report says what to install.

import type { Log } from "../../src/log/log.ts";
import { missingParts } from "../../test/rig/parts.ts";
import { arrivalTimes, type Cluster } from "../rig/cluster.ts";
import { Fleet, type FleetSize } from "../rig/fleet.ts";
import { type RivalCommand, RivalProcess } from "../rig/rival-process.ts";
import { TimedLoop } from "../rig/timed-loop.ts";
import { namesOf, type WorkerNames } from "../rig/worker-process.ts";
import { type StreamsOptions, streamsCommand, streamsNamesOf } from "./kafka-streams.ts";
import { missingPackages, pythonCommand } from "./python-consumer.ts";

/** Observations of a series before the first forecast of a rival: a season, and as many errors as the band needs, less one. */
export const silentSteps = 53;

export interface Rival {
  readonly kind: RivalPlan["kind"];
  readonly title: string;
  readonly pid: number;
  /** Runs only between `resume` and `pause`. */
  readonly loop: TimedLoop;
  pause(): void;
  resume(): void;
  /** Runs on after that. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

export interface Rivals {
  readonly running: readonly Rival[];
  /** Why the others are not, by title. */
  readonly absences: ReadonlyMap<string, string>;
}

export interface RivalsOptions {
  readonly cluster: Cluster;
  readonly log: Log;
  /** Every rival gets one like it. */
  readonly fleet: FleetSize;
}

interface RivalPlan {
  readonly kind: "streams" | "python";
  readonly title: string;
  readonly names: WorkerNames;
  /** What to install before it can run; null if it can. */
  readonly missing: string | null;
  readonly command: () => Promise<RivalCommand>;
}

export async function openRivals(options: RivalsOptions): Promise<Rivals> {
  const { bootstrap } = options.cluster;
  return openAll(
    [...streamsPlans(bootstrap, "throughput", throughputVariants), ...(await pythonPlans(bootstrap))],
    options,
  );
}

/** Kafka Streams only, as tuned for latency: its own commit interval, and a short one. */
export async function openStreams(options: RivalsOptions): Promise<Rivals> {
  return openAll(streamsPlans(options.cluster.bootstrap, "latency", latencyVariants), options);
}

async function openAll(plans: readonly RivalPlan[], options: RivalsOptions): Promise<Rivals> {
  const running: Rival[] = [];
  const absences = new Map<string, string>();
  for (const plan of plans) {
    const { title, missing } = plan;
    if (missing === null) running.push(await openRival(plan, options));
    else {
      absences.set(title, missing);
      process.stderr.write(`SKIPPED: ${title}: ${missing}\n`);
    }
  }
  return { running, absences };
}

type StreamsVariants = Readonly<Record<string, StreamsOptions>>;

const throughputVariants: StreamsVariants = {
  "Kafka Streams, 1 thread, in-memory store": { threads: 1, store: "in-memory", commitMs: 100 },
  "Kafka Streams, 2 threads, in-memory store": { threads: 2, store: "in-memory", commitMs: 100 },
  "Kafka Streams, 2 threads, RocksDB": { threads: 2, store: "rocksdb", commitMs: 100 },
};
const latencyVariants: StreamsVariants = {
  "Kafka Streams, commits every 100 ms": { threads: 2, store: "in-memory", commitMs: 100 },
  "Kafka Streams, commits every 10 ms": { threads: 2, store: "in-memory", commitMs: 10 },
};

/** `bench`: begins the names of topics. Those of another bench on the same broker hold a past that is not this fleet's. */
function streamsPlans(bootstrap: string, bench: string, variants: StreamsVariants): readonly RivalPlan[] {
  const missing = missingParts();
  return Object.entries(variants).map(([title, variant]) => {
    const names = streamsNamesOf(`${bench}-streams-${variant.threads}-${variant.store}-${variant.commitMs}`);
    return {
      kind: "streams",
      title,
      names,
      missing,
      command: () => streamsCommand(bootstrap, names, variant),
    };
  });
}

async function pythonPlans(bootstrap: string): Promise<readonly RivalPlan[]> {
  const missing = await missingPackages();
  return (["batch", "single"] as const).map((numpy) => {
    const names = namesOf(`python-${numpy}`);
    return {
      kind: "python",
      title: numpy === "batch" ? "Python, numpy over a batch" : "Python, one by one",
      names,
      missing,
      command: () => pythonCommand(bootstrap, names, numpy),
    };
  });
}

async function openRival(plan: RivalPlan, { cluster, log, fleet }: RivalsOptions): Promise<Rival> {
  const { kind, title, names } = plan;
  const { series, partitions } = fleet;
  await cluster.createTopic(names.input, partitions, arrivalTimes);
  await cluster.createTopic(names.forecasts, partitions);
  // Kafka Streams creates its changelog itself.
  if (kind === "python") await cluster.createTopic(names.state, partitions, { "cleanup.policy": "compact" });
  const command = await plan.command();
  let process = await RivalProcess.start(command);
  process.pause();
  const own = new Fleet(series, partitions);
  const loop = new TimedLoop({ cluster, log, names, pid: () => process.pid, fleet: own, silentSteps });
  return {
    kind,
    title,
    get pid() {
      return process.pid;
    },
    loop,
    pause: () => process.pause(),
    resume: () => process.resume(),
    restart: async () => {
      await process.stop();
      process = await RivalProcess.start(command);
    },
    close: async () => {
      await loop.close();
      await process.stop();
    },
  };
}
