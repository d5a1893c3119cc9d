// `npm run soak`: random faults against three brokers and three workers that train, for as long as asked. Every
// observation must be forecast exactly once. Prints what it came to; exits with 1 when a forecast is amiss.
//
//   npm run soak -- --minutes 60 --seed 1           prints a report
//   npm run soak -- --minutes 60 --seed 1 --write   puts it into docs/reliability.md as well

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { systemClock } from "../../src/runtime/clock.ts";
import { ClusterStory } from "../integrity/support/cluster-story.ts";
import type { LoadOptions } from "../integrity/support/independent-clients.ts";
import { seededRandom } from "../integrity/support/seeded-random.ts";
import { KafkaCluster } from "../rig/kafka-cluster.ts";
import { missingLibrdkafka } from "../rig/librdkafka.ts";
import { projectRoot } from "../rig/project.ts";
import { choose, clusterFaults, type Fault, type Stage, workerFaults } from "./faults.ts";
import { Fleet } from "./fleet.ts";
import { ForecastLedger } from "./forecast-ledger.ts";
import { isFaultless, type SoakResult, toReport } from "./report.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "10" },
    seed: { type: "string", default: "1" },
    rate: { type: "string", default: "300" },
    compression: { type: "string", default: "gzip" },
    write: { type: "boolean", default: false },
  },
});
const minutes = Number(values.minutes);
const seed = Number(values.seed);
const compression = values.compression as LoadOptions["compression"];
const standstillMs = 180_000;
const season = 6;

const missing = await missingLibrdkafka();
if (missing !== null) throw new Error(missing);
const ledger = new ForecastLedger();
const cluster = await KafkaCluster.startUp();
const story = await ClusterStory.open(cluster, {
  isSupervised: true,
  onDelivered: (forecast) => ledger.take(forecast),
  load: { perSecond: Number(values.rate), compression, seed, period: season, noise: 2 },
  config: {
    series: { interval: "PT1M", horizon: season, season, history: 240 },
    engine: { kind: "simd", threads: 1, paths: 32 },
    retrain: {
      ...{ where: "worker", schedule: "*/5 * * * * *", jitterMs: 1_000, perCycle: 2, inFlight: 2 },
      ...{ minHistory: 240, effort: "quick", members: 1, cooldownSteps: 300 },
    },
  },
});
const fleet = new Fleet(story);
const timesByFault = new Map<string, number>();
const longestMsByFault = new Map<string, number>();
let hasFailed = true;
try {
  await fleet.start(3);
  await story.startLoad();
  await story.untilRead(1_000);
  await causeTrouble({ story, fleet, random: seededRandom(seed) });
  await fleet.stopWatching();
  const result = await balance();
  const report = toReport(result);
  process.stdout.write(`\n${report}`);
  if (result.counts.examples.length > 0) process.stdout.write(`\n${result.counts.examples.join("\n")}\n`);
  if (values.write) writeFileSync(join(projectRoot, "docs", "reliability.md"), report);
  process.exitCode = isFaultless(result) ? 0 : 1;
  hasFailed = false;
} finally {
  await story.close(hasFailed);
  await cluster.shutDown();
}

async function causeTrouble(stage: Stage): Promise<void> {
  const endMs = performance.now() + minutes * 60_000;
  while (performance.now() < endMs) {
    const isOfCluster = stage.random() < 0.6;
    const kinds = Object.entries(isOfCluster ? clusterFaults : workerFaults);
    const [kind, fault] = choose(stage, kinds);
    const second = isOfCluster && stage.random() < 0.4 ? choose(stage, Object.entries(workerFaults)) : null;
    await Promise.all([cause(kind, fault, stage), second === null ? null : cause(...second, stage)]);
    await cluster.restore();
    const restoredMs = performance.now();
    await story.untilAllFlow(standstillMs);
    const tookMs = performance.now() - restoredMs;
    longestMsByFault.set(kind, Math.max(tookMs, longestMsByFault.get(kind) ?? 0));
  }
}

async function cause(kind: string, fault: Fault, stage: Stage): Promise<void> {
  const time = new Date(systemClock.nowMs()).toISOString().slice(11, 19);
  process.stderr.write(`${time} ${kind} (${story.read} forecasts read)\n`);
  timesByFault.set(kind, (timesByFault.get(kind) ?? 0) + 1);
  // A generator of its own: two faults at once must not take turns by chance.
  await fault({ ...stage, random: seededRandom(Math.floor(stage.random() * 2 ** 32)) });
}

async function balance(): Promise<SoakResult> {
  const counts = await ledger.balance(await story.settleAll(), story.config);
  const date = new Date(systemClock.nowMs()).toISOString().slice(0, 10);
  const { samples, failures } = fleet;
  return { minutes, seed, date, counts, timesByFault, longestMsByFault, samples, failures };
}
