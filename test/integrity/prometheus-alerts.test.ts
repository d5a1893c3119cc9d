// A real Prometheus scrapes a working worker with our rules, thirty times as fast as configured. In a healthy fleet no
// alert fires, not even at the start. Unreadable records and a lost broker each fire their own alert and no other.

import assert from "node:assert/strict";
import { after, before } from "node:test";
import { type Broker, startBroker } from "../rig/kafka-broker.ts";
import { needsPrometheus, type Prometheus, promtool, startPrometheus } from "../rig/prometheus.ts";
import { quickened, readRules } from "../rig/rule-file.ts";
import type { WorkerProcess } from "../rig/worker-process.ts";
import { partitions } from "./support/load.ts";
import { type Story, tellStory } from "./support/story.ts";
import { until } from "./support/until.ts";

const pace = 30;
const job = "worker";
/** A quarter of an hour at the pace of the rules. */
const calmEvaluations = 30;

const { skip } = needsPrometheus();
let broker: Broker;
before(async () => {
  if (skip === false) broker = await startBroker();
});
after(() => broker?.stop());

tellStory(
  "each fault fires its own alert, and a healthy fleet fires none",
  async (story) => {
    const worker = await story.startWorker();
    const prometheus = await watch(story, worker);
    story.startLoad({ series: 8, pauseMs: 100 });
    await until("a quarter of an hour of input", async () => {
      const [seen] = await prometheus.query("count_over_time(job:forecastnet_input_records:rate5m[5m])");
      return (seen?.value ?? 0) >= calmEvaluations;
    });
    assert.deepEqual(await everFired(prometheus), [], "no alert fires in a healthy fleet");

    const page = await worker.page("/metrics");
    const { code, output } = await promtool(["check", "metrics"], `${page?.body}\n`);
    assert.deepEqual({ code, output }, { code: 0, output: "" });

    await sendGarbage(story, 200);
    await untilFired(prometheus, ["ForecastnetDeadLetters"]);

    await broker.kill9();
    await untilFired(prometheus, ["ForecastnetDeadLetters", "ForecastnetFleetDown"]);
    assert.ok(worker.isAlive);

    await broker.restart();
    await until("all alerts to be over", async () => {
      const known = await prometheus.query("job:forecastnet_workers_serving:count == 1");
      return known.length > 0 && (await prometheus.query("ALERTS")).length === 0;
    });
    assert.deepEqual(await everFired(prometheus), ["ForecastnetDeadLetters", "ForecastnetFleetDown"]);
  },
  () => ({ bootstrap: broker.bootstrap }),
  { skip },
);

async function watch(story: Story, worker: WorkerProcess): Promise<Prometheus> {
  await until("the worker to listen", async () => (await worker.page("/healthz")) !== null);
  const prometheus = await startPrometheus({
    rules: JSON.stringify(quickened(readRules(), pace)),
    job,
    targets: [`127.0.0.1:${worker.linesOf("http listening")[0]?.port}`],
    everyMs: 30_000 / pace,
    lookbackMs: 300_000 / pace,
  });
  story.atEnd(() => prometheus.stop());
  return prometheus;
}

/** The names of all alerts that have fired since Prometheus was started. */
async function everFired(prometheus: Prometheus): Promise<string[]> {
  const fired = await prometheus.query(
    'group by (alertname) (present_over_time(ALERTS{alertstate="firing"}[1h]))',
  );
  return fired.map(({ labels }) => labels.alertname as string).sort();
}

async function untilFired(prometheus: Prometheus, expected: readonly string[]): Promise<void> {
  await until(`${expected.at(-1)} to fire`, async () =>
    (await everFired(prometheus)).includes(expected.at(-1) as string),
  );
  assert.deepEqual(await everFired(prometheus), expected, "only the expected alerts fire");
}

async function sendGarbage({ log, input }: Story, count: number): Promise<void> {
  await log.append(
    Array.from({ length: count }, (_, n) => ({
      ...{ topic: input, partition: n % partitions, key: null },
      value: Buffer.from(`no observation ${n}`),
    })),
  );
}
