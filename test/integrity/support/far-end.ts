// The subscriber's side: everything committed to a topic, and how it compares with what was owed.

import assert from "node:assert/strict";
import { decodeForecast } from "../../../src/log/codec/forecast-codec.ts";
import type { Log, StoredRecord } from "../../../src/log/log.ts";
import type { Expectation } from "./expectation.ts";
import { until } from "./until.ts";

export interface Received extends StoredRecord {
  readonly partition: number;
}

let marks = 0;

/** All committed records of a topic. A tombstone sent to each partition marks its end; nobody else writes by then. */
export async function readAll(log: Log, topic: string): Promise<readonly Received[]> {
  const [facts] = await log.describeTopics([topic]);
  const partitions = Array.from({ length: facts?.partitions ?? 0 }, (_, partition) => partition);
  const mark = `end-mark-${process.pid}-${marks++}`;
  const received: Received[] = [];
  const open = new Set(partitions);
  await log.append(
    partitions.map((partition) => ({ topic, partition, key: Buffer.from(mark), value: null })),
  );
  const stop = new AbortController();
  const reading = (async () => {
    for await (const { partition, records } of log.follow(topic, "earliest", stop.signal)) {
      for (const record of records) {
        const key = record.key?.toString();
        if (key === mark) open.delete(partition);
        else if (key === undefined || !key.startsWith("end-mark-")) received.push({ ...record, partition });
      }
    }
  })();
  try {
    await Promise.race([reading, until(`the end of ${topic}`, () => open.size === 0)]);
  } finally {
    stop.abort();
    await reading;
  }
  return received;
}

/** Counts every forecast: each one owed is there once, to the byte, and those of a series in order of origin. */
export function assertForecasts(received: readonly Received[], { forecastById }: Expectation): void {
  const seen = new Set<string>();
  const lastOriginBySeries = new Map<string, number>();
  const faults = {
    missing: [] as string[],
    doubled: [] as string[],
    unexpected: [] as string[],
    different: [] as string[],
    outOfOrder: [] as string[],
  };
  for (const { value } of received) {
    assert.ok(value !== null, "a forecast has a value");
    const { id, seriesId, origin } = decodeForecast(value);
    const expected = forecastById.get(id);
    if (expected === undefined) faults.unexpected.push(id);
    else if (!expected.equals(value)) faults.different.push(id);
    if (seen.has(id)) faults.doubled.push(id);
    seen.add(id);
    const lastOrigin = lastOriginBySeries.get(seriesId);
    if (lastOrigin !== undefined && origin < lastOrigin) faults.outOfOrder.push(id);
    lastOriginBySeries.set(seriesId, origin);
  }
  for (const id of forecastById.keys()) if (!seen.has(id)) faults.missing.push(id);
  const summary = Object.entries(faults)
    .filter(([, ids]) => ids.length > 0)
    .map(([kind, ids]) => `${ids.length} ${kind} (${ids.slice(0, 5).join(", ")})`);
  assert.deepEqual(summary, [], `of ${forecastById.size} forecasts owed, ${received.length} were read`);
  assert.equal(received.length, forecastById.size);
}
