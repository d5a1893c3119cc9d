// The rivals that a user would pick instead of the worker, each with a process, topics and a fleet of its own. A rival that
// cannot run here is left out, and the report says what to install.

import type { Log } from "../../src/log/log.ts";
import { missingParts } from "../../test/rig/parts.ts";
import type { Cluster } from "../rig/cluster.ts";
import { Fleet } from "../rig/fleet.ts";
import { type RivalCommand, RivalProcess } from "../rig/rival-process.ts";
import { TimedLoop } from "../rig/timed-loop.ts";
import type { WorkerNames } from "../rig/worker-process.ts";
import { type StreamsOptions, streamsCommand, streamsNamesOf } from "./kafka-streams.ts";

/** Observations of a series before the first forecast of a rival: a season, and as many errors as the band needs, less one. */
export const silentSteps = 53;

const stepsPerRound = 64;

export interface Rival {
  readonly kind: "streams" | "python";
  readonly title: string;
  readonly loop: TimedLoop;
  /** Steps of the fleet in a timed round. */
  readonly steps: number;
  restart(): Promise<void>;
  close(): Promise<void>;
}

export interface Rivals {
  readonly running: readonly Rival[];
  readonly absences: readonly { readonly title: string; readonly reason: string }[];
}

export interface RivalsOptions {
  readonly cluster: Cluster;
  readonly log: Log;
  /** Every rival gets one like it. */
  readonly fleet: Fleet;
}

const streamsVariants: Readonly<Record<string, StreamsOptions>> = {
  "Kafka Streams, 1 thread, in-memory store": { threads: 1, store: "in-memory", commitMs: 100 },
  "Kafka Streams, 2 threads, in-memory store": { threads: 2, store: "in-memory", commitMs: 100 },
  "Kafka Streams, 2 threads, RocksDB": { threads: 2, store: "rocksdb", commitMs: 100 },
};

export async function openRivals(options: RivalsOptions): Promise<Rivals> {
  const { bootstrap } = options.cluster;
  const running: Rival[] = [];
  const absences: { readonly title: string; readonly reason: string }[] = [];
  const missingJava = missingParts();
  for (const [title, variant] of Object.entries(streamsVariants)) {
    const names = streamsNamesOf(`streams-${variant.threads}-${variant.store}`);
    if (missingJava !== null) absences.push({ title, reason: missingJava });
    else {
      const command = await streamsCommand(bootstrap, names, variant);
      running.push(
        await openRival({ kind: "streams", title, names, command, steps: stepsPerRound }, options),
      );
    }
  }
  for (const { title, reason } of absences) process.stderr.write(`SKIPPED: ${title}: ${reason}\n`);
  return { running, absences };
}

interface RivalPlan extends Pick<Rival, "kind" | "title" | "steps"> {
  readonly names: WorkerNames;
  readonly command: RivalCommand;
}

async function openRival(plan: RivalPlan, { cluster, log, fleet }: RivalsOptions): Promise<Rival> {
  const { kind, title, steps, names, command } = plan;
  const { series, partitions } = fleet;
  await cluster.createTopic(names.input, partitions);
  await cluster.createTopic(names.forecasts, partitions);
  let process = await RivalProcess.start(command);
  const loop = new TimedLoop({
    cluster,
    log,
    names,
    pid: () => process.pid,
    fleet: new Fleet(series, partitions),
    silentSteps,
  });
  return {
    kind,
    title,
    loop,
    steps,
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
