// What a worker with a small fleet takes of the machine's memory while it catches up, trains and serves, and where it lies.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { projectRoot } from "../test/rig/project.ts";
import type { Cluster } from "./rig/cluster.ts";
import { Fleet } from "./rig/fleet.ts";
import { type MemoryMap, memoryMapOf } from "./rig/memory-map.ts";
import { type Section, whole } from "./rig/report.ts";
import { namesOf, WorkerProcess } from "./rig/worker-process.ts";

const series = 400;
const partitions = 8;
/** Enough for a first model of every series. */
const pastSteps = 250;
const barMb = 300;
const sampleSeconds = 5;
/** Defaults, but for a schedule that trains within minutes. */
const flags = ["--retrain.schedule=* * * * *", "--retrain.jitterMs=1000"];

interface Sample extends MemoryMap {
  readonly second: number;
  readonly heap: number;
  readonly external: number;
  readonly models: number;
}

/** Two workers beside each other: one with the environment of the image, one with that of this process. */
export async function measureRss(cluster: Cluster, seconds: number): Promise<Section> {
  const [image, bare] = await Promise.all([
    sampleWorker(cluster, "rss-image", seconds, imageEnvironment()),
    sampleWorker(cluster, "rss-bare", seconds, {}),
  ]);
  const [rssMb, imageMb] = [bare, image].map((samples) => samples[samples.length - 1].rss / 1e6);
  return {
    title: "Resident memory of a small worker",
    method:
      `A worker as the command line starts it, ${series} series on ${partitions} partitions. It first catches up with ${pastSteps} steps of every series, then ` +
      `takes ${series} observations per second for ${seconds} s; models are evaluated every minute. Once with the environment of the image and once without. ` +
      "MB of resident memory by mapping: program files, the allocator's (buffers in use, and freed ones that it has not given back), and the rest (V8's heaps of " +
      "all threads, large buffers, WebAssembly, stacks). Then what Node reports for its main thread: heap in use and memory outside it.",
    columns: ["", "RSS", "files", "allocator", "rest", "heap in use", "external", "models"],
    rows: [...rowsOf("image", image), ...rowsOf("without", bare)],
    outcome:
      `After ${seconds} s: **${whole(rssMb)} MB** (bar: ${barMb} MB${rssMb > barMb ? "; MISSED" : ""}), ` +
      `${whole(imageMb)} MB with the image's environment.`,
  };
}

/** The settings of the allocator in the image. */
function imageEnvironment(): Readonly<Record<string, string>> {
  const dockerfile = readFileSync(join(projectRoot, "deploy", "docker", "Dockerfile"), "utf8");
  const settings = [...dockerfile.matchAll(/(MALLOC_\w+)=(\d+)/g)].map(([, name, value]) => [name, value]);
  if (settings.length === 0) throw new Error("the image does not set the allocator");
  return Object.fromEntries(settings);
}

async function sampleWorker(
  cluster: Cluster,
  name: string,
  seconds: number,
  env: Readonly<Record<string, string>>,
): Promise<readonly Sample[]> {
  const names = namesOf(name);
  const fleet = new Fleet(series, partitions);
  await cluster.createTopic(names.input, partitions);
  const worker = new WorkerProcess(cluster.bootstrap, names, flags, env);
  const [{ port }] = await worker.logged("http listening");
  await worker.logged("partition restored", partitions);
  const samples: Sample[] = [];
  const startMs = performance.now();
  const sample = async () => {
    const second = Math.round((performance.now() - startMs) / 1000);
    samples.push({ second, ...memoryMapOf(worker.pid), ...(await scrape(Number(port))) });
  };
  await sample();
  await cluster.load(names.input, fleet.take(pastSteps * series, names.input));
  for (let second = 0; second < seconds; second++) {
    const nextMs = performance.now() + 1000;
    await cluster.send(names.input, fleet.take(series, names.input));
    if (second % sampleSeconds === 0) await sample();
    await wait(Math.max(0, nextMs - performance.now()));
  }
  await sample();
  await worker.stop();
  return samples;
}

function rowsOf(name: string, samples: readonly Sample[]): readonly (readonly string[])[] {
  const last = samples[samples.length - 1];
  if (last.models === 0) throw new Error("no series has a model: nothing was trained");
  const peak = samples.reduce((one, other) => (other.rss > one.rss ? other : one));
  const rowOf = (when: string, { rss, files, malloc, other, heap, external, models }: Sample) => [
    `${name}, ${when}`,
    ...[rss, files, malloc, other, heap, external].map((bytes) => whole(bytes / 1e6)),
    whole(models),
  ];
  return [
    rowOf("started", samples[0]),
    rowOf(`peak, ${peak.second} s`, peak),
    rowOf(`end, ${last.second} s`, last),
  ];
}

async function scrape(port: number): Promise<Pick<Sample, "heap" | "external" | "models">> {
  const lines = (await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()).split("\n");
  const numberOf = (metric: string) =>
    Number(lines.find((line) => line.startsWith(`${metric} `))?.split(" ")[1] ?? 0);
  return {
    heap: numberOf("nodejs_heap_size_used_bytes"),
    external: numberOf("nodejs_external_memory_bytes"),
    models: numberOf("forecastnet_models"),
  };
}
