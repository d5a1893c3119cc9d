import assert from "node:assert/strict";
import { test } from "node:test";
import type { Batch, Forecast, Outgoing } from "../../../src/domain.ts";
import { encodeForecasts, type SinkParts, settleBatches } from "../../../src/sink/write-forecasts.ts";
import { untimed } from "../../rig/untimed.ts";

const letter: Outgoing = { topic: "dead", partition: 5, key: null, value: Buffer.from("?") };

/** A sink whose clock moves by 20 ms with each commit. */
function sinkOf(commit: (records: readonly Outgoing[]) => void) {
  let nowMs = 10_000;
  const timed: string[] = [];
  const parts: SinkParts = {
    topic: "forecasts",
    partitions: 4,
    encode: ({ raw }) => Buffer.from(raw.id),
    clock: { nowMs: () => nowMs },
    metrics: {
      ...untimed,
      committed: (seconds) => timed.push(`commit ${seconds}`),
      arrivalLatency: (seconds) => timed.push(`arrival ${seconds}`),
      eventLatency: (seconds) => timed.push(`event ${seconds}`),
    },
  };
  const batchOf = (
    ids: readonly string[],
    arrivedMs: number | null,
    eventMs: number | null,
  ): Batch<Forecast> => ({
    partition: 5,
    records: [letter],
    placements: [],
    arrivedMs,
    eventMs,
    isBehind: false,
    isFull: false,
    items: ids.map((id) => ({ raw: { id, window: { seriesId: `series of ${id}` } } }) as Forecast),
    settle: async (records) => {
      nowMs += 20;
      commit(records);
    },
  });
  const run = async (batches: readonly Batch<Forecast>[]) => {
    async function* encoded() {
      for (const batch of batches) {
        const collector = encodeForecasts(batch.partition, parts);
        for (const forecast of batch.items) collector.add(forecast);
        yield { ...batch, items: collector.end() };
      }
    }
    await settleBatches(encoded(), parts);
  };
  return { batchOf, run, timed };
}

test("a batch is settled once, with its records and its forecasts keyed by series, in the partition of its input", async () => {
  const commits: (readonly Outgoing[])[] = [];
  const { batchOf, run, timed } = sinkOf((records) => commits.push(records));
  await run([batchOf(["f1", "f2"], 9_500, 9_000), batchOf([], 10_100, null), batchOf([], null, null)]);
  const written = (id: string): Outgoing => ({
    topic: "forecasts",
    partition: 1,
    key: Buffer.from(`series of ${id}`),
    value: Buffer.from(id),
  });
  assert.deepEqual(commits, [[letter, written("f1"), written("f2")], [letter], [letter]]);
  assert.deepEqual(timed, [
    ...["commit 0.02", "arrival 0.52", "event 1.02"],
    // By the clock of another machine it arrived after it was settled: no negative latency. It held no observation.
    ...["commit 0.02", "arrival 0"],
    // It carried decisions only.
    "commit 0.02",
  ]);
});

test("a batch that cannot be settled ends the sink, and no batch after it is settled", async () => {
  const commits: number[] = [];
  const { batchOf, run, timed } = sinkOf((records) => {
    commits.push(records.length);
    if (commits.length === 2) throw new Error("fenced");
  });
  const failing = run([batchOf(["f1"], 0, 0), batchOf(["f2", "f3"], 0, 0), batchOf(["f4"], 0, 0)]);
  await assert.rejects(failing, /fenced/);
  assert.deepEqual(commits, [2, 3]);
  assert.equal(timed.length, 3);
});
