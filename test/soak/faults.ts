// What a soak does to its cluster and its workers. Every fault ends what it began; the cluster is made whole by the
// caller afterwards.

import { setTimeout as pause } from "node:timers/promises";
import { type ClusterStory, transactionTimeoutMs } from "../integrity/support/cluster-story.ts";
import { brokerIds } from "../rig/cluster-nodes.ts";
import { apiKeys, type HoldRule } from "../rig/held-requests.ts";
import type { Cut } from "../rig/tcp-proxy.ts";
import type { WorkerProcess } from "../rig/worker-process.ts";
import type { Fleet } from "./fleet.ts";

export interface Stage {
  readonly story: ClusterStory;
  readonly fleet: Fleet;
  /** Uniform in [0, 1), the same for the same seed. */
  readonly random: () => number;
}

export type Fault = (stage: Stage) => Promise<void>;

/** Of the cluster, one at a time: it stands only one broker down. */
export const clusterFaults: Readonly<Record<string, Fault>> = {
  "broker restarted in order": (stage) => interruptBroker(stage, "stop"),
  "broker killed with -9": (stage) => interruptBroker(stage, "kill9"),
  "broker frozen": async (stage) => {
    const { cluster } = stage.story;
    const broker = choose(stage, brokerIds);
    await cluster.freeze(broker);
    await lasting(stage, 1_000, 10_000);
    await cluster.thaw(broker);
  },
  "broker cut off from workers, silently": (stage) => cut(stage, "cutFromWorkers", "silent"),
  "broker cut off from workers, connections refused": (stage) => cut(stage, "cutFromWorkers", "refuse"),
  "broker cut off from workers, connections closed": (stage) => cut(stage, "cutFromWorkers", "hang-up"),
  "broker cut off from its peers, silently": (stage) => cut(stage, "cutFromPeers", "silent"),
  "broker cut off from its peers, connections refused": (stage) => cut(stage, "cutFromPeers", "refuse"),
  "broker slow": async (stage) => {
    await stage.story.cluster.delayWorkers(choose(stage, brokerIds), 50 + 450 * stage.random());
    await lasting(stage, 2_000, 8_000);
    await stage.story.cluster.heal();
  },
  "leaders moved": async ({ story, random }) => {
    await story.cluster.rotateLeaders(story.dataTopics, random() < 0.5 ? 1 : 2);
  },
  "coordinators moved": async ({ story, random }) => {
    await story.cluster.rotateLeaders(story.coordinatorTopics, random() < 0.5 ? 1 : 2);
  },
  "preferred leaders elected": ({ story }) => story.cluster.electPreferred(),
};

/** Of workers and of single requests: each may come together with one of the cluster. */
export const workerFaults: Readonly<Record<string, Fault>> = {
  "worker stopped and replaced": (stage) => replaceWorker(stage, "SIGTERM"),
  "worker killed and replaced": (stage) => replaceWorker(stage, "SIGKILL"),
  "worker frozen": async (stage) => {
    const worker = choose(stage, stage.fleet.all);
    worker.signal("SIGSTOP");
    // Sometimes past its session.
    await lasting(stage, 1_000, 12_000);
    worker.signal("SIGCONT");
  },
  "worker joins and leaves": async (stage) => {
    const worker = await stage.story.startWorker();
    await lasting(stage, 4_000, 10_000);
    await stage.story.endWorker(worker, "SIGTERM");
  },
  "end of a transaction delivered late": (stage) =>
    holdOne(stage, { apiKeys: [apiKeys.endTxn], action: "detach" }, "forward"),
  "request lost": (stage) => holdOne(stage, { apiKeys: [anyKey(stage)], action: "detach" }, "reset"),
  "request late": (stage) => holdOne(stage, { apiKeys: [anyKey(stage)], action: "stall" }, "forward"),
  "answer lost": (stage) => holdOne(stage, { apiKeys: [anyKey(stage)], action: "lose-answer" }, "forward"),
  "answer late": (stage) => holdOne(stage, { apiKeys: [anyKey(stage)], action: "stall-answer" }, "forward"),
};

export function choose<T>({ random }: Pick<Stage, "random">, options: readonly T[]): T {
  return options[Math.floor(random() * options.length)] as T;
}

function lasting({ random }: Stage, leastMs: number, mostMs: number): Promise<void> {
  return pause(leastMs + random() * (mostMs - leastMs));
}

function anyKey(stage: Stage): number {
  return choose(stage, Object.values(apiKeys));
}

async function interruptBroker(stage: Stage, how: "stop" | "kill9"): Promise<void> {
  const { cluster } = stage.story;
  const broker = choose(stage, brokerIds);
  await cluster[how](broker);
  await lasting(stage, 500, 8_000);
  await cluster.start(broker);
}

async function cut(stage: Stage, from: "cutFromWorkers" | "cutFromPeers", how: Cut): Promise<void> {
  await stage.story.cluster[from](choose(stage, brokerIds), how);
  await lasting(stage, 1_000, 12_000);
  await stage.story.cluster.heal();
}

async function replaceWorker(stage: Stage, signal: "SIGTERM" | "SIGKILL"): Promise<void> {
  const worker: WorkerProcess = choose(stage, stage.fleet.mortal);
  if (!worker.isAlive) return; // It failed a moment ago, and is being replaced.
  await stage.fleet.end(worker, signal);
  await lasting(stage, 0, 4_000);
  await stage.fleet.replace(worker);
}

/** Holds the next request of its kind, if one comes soon, for up to longer than a transaction may last. */
async function holdOne(
  stage: Stage,
  rule: Pick<HoldRule, "apiKeys" | "action">,
  release: "forward" | "reset",
): Promise<void> {
  const { cluster, group } = stage.story;
  const hold = await cluster.hold({ ...rule, transactionalId: group });
  await lasting(stage, 500, 1.3 * transactionTimeoutMs);
  await cluster.release(hold, release);
}
