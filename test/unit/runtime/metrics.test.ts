import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { QualityCounts } from "../../../src/runtime/fleet-quality.ts";
import type { ServiceFacts } from "../../../src/runtime/metric-groups.ts";
import { metricTable, stages } from "../../../src/runtime/metric-table.ts";
import { createMetrics } from "../../../src/runtime/metrics.ts";

const engine = {
  name: "simd",
  device: "cpu",
  residentModels: 3,
  residentBytes: 4096,
  waitingForecasts: 8,
};
const facts: ServiceFacts = {
  state: "running",
  partitions: 2,
  series: 5,
  lag: 7,
  bufferedBatches: 1,
  models: 4,
  training: { inFlight: 1, waiting: 2, budgetSeconds: 60 },
  phases: { cold: 3, drifting: 1 },
  isReady: true,
  restoring: 1,
  waiting: 2,
  quality: [],
  engine,
};

async function linesOf(metrics: ReturnType<typeof createMetrics>, given: ServiceFacts): Promise<string[]> {
  return (await metrics.expose(given)).text.split("\n").filter((line) => line.startsWith("forecastnet_"));
}

test("every function of a metric group changes its metric", async () => {
  const metrics = createMetrics("1.2.3");
  metrics.source.batch(40);
  metrics.source.deadLetter("bad-time");
  metrics.window.observations("advanced", 39);
  metrics.window.skippedOrigins(3);
  metrics.window.resetSeries("interval");
  metrics.forecast.forecasts("cold", "persistence", 4);
  metrics.models.forecastBatch(30, 0.25);
  metrics.models.fallback("channels");
  metrics.models.refused("horizon", 6);
  metrics.live.scored(11);
  metrics.live.dropped(5);
  metrics.retrain.decided("promoted");
  metrics.retrain.evaluated(12, 2);
  metrics.retrain.trained("failed", 4);
  metrics.retrain.unreadable("unreadable");
  metrics.retrain.failed();
  metrics.sink.committed(0.02);
  metrics.sink.arrivalLatency(0.3);
  metrics.sink.eventLatency(7);
  metrics.transaction("aborted");
  for (const stage of [metrics.source, metrics.window, metrics.forecast, metrics.live, metrics.sink])
    stage.begin()();
  metrics.restored(6, 2);
  metrics.moved("starting", "joining");
  const lines = await linesOf(metrics, facts);
  const expected = [
    `forecastnet_build_info{version="1.2.3",node="${process.version}"} 1`,
    "forecastnet_batch_records_sum 40",
    'forecastnet_dead_letters_total{reason="bad-time"} 1',
    'forecastnet_observations_total{outcome="advanced"} 39',
    "forecastnet_skipped_origins_total 3",
    "forecastnet_scored_steps_total 11",
    "forecastnet_live_scores_dropped_total 5",
    'forecastnet_model_decisions_total{kind="promoted"} 1',
    "forecastnet_series_evaluated_total 12",
    "forecastnet_training_wishes_total 2",
    'forecastnet_trainings_total{outcome="failed"} 1',
    "forecastnet_training_duration_seconds_sum 4",
    'forecastnet_model_messages_refused_total{reason="unreadable"} 1',
    "forecastnet_retraining_failures_total 1",
    "forecastnet_trainings_in_flight 1",
    "forecastnet_trainings_waiting 2",
    'forecastnet_series_by_phase{phase="drifting"} 1',
    'forecastnet_series_resets_total{reason="interval"} 1',
    'forecastnet_forecasts_total{tier="cold",method="persistence"} 4',
    "forecastnet_commit_duration_seconds_sum 0.02",
    "forecastnet_arrival_to_commit_seconds_sum 0.3",
    "forecastnet_event_to_commit_seconds_sum 7",
    'forecastnet_transactions_total{outcome="committed"} 0',
    'forecastnet_transactions_total{outcome="aborted"} 1',
    ...stages.map((stage) => `forecastnet_stage_duration_seconds_count{stage="${stage}"} 1`),
    "forecastnet_ready 1",
    "forecastnet_partitions_restoring 1",
    "forecastnet_partitions_waiting 2",
    "forecastnet_restored_blocks_total 6",
    "forecastnet_restore_duration_seconds_sum 2",
    'forecastnet_state_changes_total{from="starting",to="joining"} 1',
    "forecastnet_partitions_owned 2",
    "forecastnet_series 5",
    "forecastnet_lag_records 7",
    "forecastnet_buffered_batches 1",
    "forecastnet_models 4",
    "forecastnet_engine_batch_forecasts_sum 30",
    "forecastnet_engine_batch_duration_seconds_sum 0.25",
    'forecastnet_model_fallbacks_total{reason="channels"} 1',
    'forecastnet_models_refused_total{reason="horizon"} 6',
    'forecastnet_engine_info{name="simd",device="cpu"} 1',
    "forecastnet_engine_resident_models 3",
    "forecastnet_engine_resident_bytes 4096",
    "forecastnet_engine_waiting_forecasts 8",
  ];
  assert.deepEqual(
    expected.filter((line) => !lines.includes(line)),
    [],
  );
});

test("the present state of the worker is 1 and the others are 0", async () => {
  const metrics = createMetrics("x");
  await metrics.expose({ ...facts, state: "joining" });
  const states = (await linesOf(metrics, facts)).filter((line) => line.includes("worker_state"));
  assert.deepEqual(
    states.filter((line) => line.endsWith(" 1")),
    ['forecastnet_worker_state{state="running"} 1'],
  );
  assert.ok(states.includes('forecastnet_worker_state{state="joining"} 0'));
});

test("two workers in one process count separately, and every metric has a help text", async () => {
  const [one, other] = [createMetrics("x"), createMetrics("x")];
  one.window.skippedOrigins(5);
  assert.ok((await linesOf(other, facts)).includes("forecastnet_skipped_origins_total 0"));
  const { text, contentType } = await one.expose(facts);
  assert.match(contentType, /^text\/plain/);
  const named = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name);
  const helped = [...text.matchAll(/^# HELP (\S+) \S/gm)].map(([, name]) => name);
  assert.deepEqual(named, helped);
});

test("a counter with known labels starts at 0, so that the first event is an increase", async () => {
  const lines = await linesOf(createMetrics("x"), facts);
  for (const reason of metricTable.deadLetters.labels.reason)
    assert.ok(lines.includes(`forecastnet_dead_letters_total{reason="${reason}"} 0`));
  assert.ok(lines.includes('forecastnet_model_decisions_total{kind="rolled-back"} 0'));
});

describe("the metrics of series", () => {
  /** A partition whose series have these MASEs, half of that as CRPS, and all the same coverage. */
  const partitionOf = (mases: readonly number[], isNamed?: (seriesId: string) => boolean): QualityCounts => {
    const counts = new QualityCounts([0.8], isNamed);
    for (const mase of mases) {
      counts.update({
        seriesId: `pump-${Math.round(1_000 * mase)}`,
        countedPlace: -1,
        writeQuality: (target) => {
          target.set([mase, mase / 2, 0.72]);
          return true;
        },
      });
    }
    return counts;
  };
  const mases = Array.from({ length: 1_200 }, (_, i) => i / 1_000);

  test("are histograms over the series of all partitions at the time of the scrape", async () => {
    const metrics = createMetrics("x");
    await metrics.expose({ ...facts, quality: [partitionOf(mases)] });
    const quality = [partitionOf(mases.slice(0, 300)), partitionOf([]), partitionOf(mases.slice(300, 700))];
    const lines = await linesOf(metrics, { ...facts, quality });
    const expected = [
      'forecastnet_series_mase_bucket{le="0.5"} 501',
      'forecastnet_series_mase_bucket{le="+Inf"} 700',
      "forecastnet_series_mase_sum 244.65",
      "forecastnet_series_mase_count 700",
      'forecastnet_series_scaled_crps_bucket{le="0.3"} 601',
      'forecastnet_series_coverage_bucket{le="0.7",stated="0.8"} 0',
      'forecastnet_series_coverage_bucket{le="0.75",stated="0.8"} 700',
      'forecastnet_series_coverage_count{stated="0.8"} 700',
    ];
    assert.deepEqual(
      expected.filter((line) => !lines.includes(line)),
      [],
    );
  });

  test("name only the worst series and at most a hundred configured ones", async () => {
    const metrics = createMetrics("x", { worstSeries: 2 });
    const isNamed = (seriesId: string) => seriesId === "pump-5" || seriesId.startsWith("pump-11");
    const quality = [partitionOf(mases.slice(0, 1_199), isNamed), partitionOf(mases.slice(1_199), isNamed)];
    const named = async (partitions: readonly QualityCounts[]) =>
      (await linesOf(metrics, { ...facts, quality: partitions })).filter((line) =>
        line.includes("series_id="),
      );
    assert.deepEqual(
      (await named(quality)).filter((line) => line.includes("worst")),
      [
        'forecastnet_worst_series_mase{series_id="pump-1199"} 1.199',
        'forecastnet_worst_series_mase{series_id="pump-1198"} 1.198',
      ],
    );
    assert.equal((await named(quality)).length, 2 + 100);
    assert.deepEqual(await named([]), []);
  });

  test("are absent while no series has enough scores", async () => {
    const lines = await linesOf(createMetrics("x"), { ...facts, quality: [partitionOf([])] });
    assert.deepEqual(
      lines.filter((line) => line.startsWith("forecastnet_series_mase")),
      [],
    );
  });

  test("are right in two concurrent scrapes", async () => {
    const metrics = createMetrics("x");
    const quality = [partitionOf(mases)];
    const both = await Promise.all([
      metrics.expose({ ...facts, quality }),
      metrics.expose({ ...facts, quality }),
    ]);
    for (const { text } of both) assert.match(text, /^forecastnet_series_mase_count 1200$/m);
  });
});
