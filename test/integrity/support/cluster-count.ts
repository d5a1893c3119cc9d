// What a load on a cluster owes and what its independent subscriber read, compared: as sets, to the byte, and in order.

import assert from "node:assert/strict";
import { appendFileSync } from "node:fs";
import type { Observation } from "../../../src/domain.ts";
import { decodeForecast } from "../../../src/log/codec/forecast-codec.ts";

/** As the producer tells it. */
export interface Acknowledged {
  readonly partition: number;
  /** Null when the broker had stored the record at an earlier try and could not say where. */
  readonly offset: number | null;
  readonly observation: { readonly seriesId: string; readonly time: number; readonly value: number };
}

/** As the subscriber tells it. */
export interface Delivered {
  readonly partition: number;
  readonly offset: number;
  readonly key: string | null;
  /** Base64. */
  readonly value: string | null;
}

export interface Counts {
  readonly observations: number;
  readonly owed: number;
  readonly read: number;
  readonly missing: number;
  readonly doubled: number;
  readonly unexpected: number;
  readonly different: number;
  readonly outOfOrder: number;
}

export interface Comparison {
  readonly counts: Counts;
  /** The first few forecasts of each fault, for the reader of a failure. */
  readonly examples: readonly string[];
}

/**
 * The input as the topic holds it, partition by partition. Proves on the way that it holds every record once: the
 * topic has one producer and no transactions, so its offsets are whole numbers without a gap.
 */
export function inputInOrder(
  acknowledged: readonly Acknowledged[],
  ends: ReadonlyMap<number, number>,
): Observation[] {
  const input: Observation[] = [];
  for (const [partition, end] of ends) {
    const records = acknowledged.filter((record) => record.partition === partition);
    assert.equal(
      records.length,
      end,
      `partition ${partition} of the input holds each acknowledged record once`,
    );
    // Acknowledgements come in the order of the offsets: an idempotent producer keeps it.
    for (const [index, { offset, observation }] of records.entries()) {
      assert.ok(offset === null || offset === index, `offset ${index} of partition ${partition}`);
      const { seriesId, time: timeMs, value } = observation;
      input.push({ seriesId, timeMs, values: [value] });
    }
  }
  return input;
}

/** `forecastById` holds the bytes that are owed, or null for a forecast whose content is not known in advance. */
export function compareForecasts(
  delivered: readonly Delivered[],
  forecastById: ReadonlyMap<string, Buffer | null>,
  observations: number,
): Comparison {
  const faults = {
    missing: [] as string[],
    doubled: [] as string[],
    unexpected: [] as string[],
    different: [] as string[],
    outOfOrder: [] as string[],
  };
  const placeById = new Map<string, string>();
  const lastBySeries = new Map<string, { readonly origin: number; readonly partition: number }>();
  for (const { partition, offset, value } of delivered) {
    const bytes = Buffer.from(value ?? "", "base64");
    const { id, seriesId, origin } = decodeForecast(bytes);
    const place = `${id} at ${partition}/${offset}`;
    const expected = forecastById.get(id);
    const earlier = placeById.get(id);
    if (earlier !== undefined) faults.doubled.push(`${earlier} and ${partition}/${offset}`);
    else if (expected === undefined) faults.unexpected.push(place);
    else if (expected !== null && !expected.equals(bytes)) faults.different.push(place);
    placeById.set(id, place);
    const last = lastBySeries.get(seriesId);
    if (last !== undefined && (last.origin > origin || last.partition !== partition))
      faults.outOfOrder.push(place);
    lastBySeries.set(seriesId, { origin, partition });
  }
  for (const id of forecastById.keys()) if (!placeById.has(id)) faults.missing.push(id);
  const numbers = Object.fromEntries(Object.entries(faults).map(([kind, found]) => [kind, found.length]));
  return {
    counts: {
      ...{ observations, owed: forecastById.size, read: delivered.length },
      ...(numbers as Record<keyof typeof faults, number>),
    },
    examples: Object.entries(faults).flatMap(([kind, found]) =>
      found.slice(0, 5).map((example) => `${kind}: ${example}`),
    ),
  };
}

/** Names the file to which every story of a run adds its counts, one JSON object a line. */
export const countsVariable = "STORY_COUNTS_FILE";

export function noteCounts(title: string, counts: Counts): void {
  const file = process.env[countsVariable];
  if (file !== undefined) appendFileSync(file, `${JSON.stringify({ title, ...counts })}\n`);
}

export function assertNoDifference({ counts, examples }: Comparison): void {
  const { missing, doubled, unexpected, different, outOfOrder, owed, read } = counts;
  assert.deepEqual(
    { missing, doubled, unexpected, different, outOfOrder },
    { missing: 0, doubled: 0, unexpected: 0, different: 0, outOfOrder: 0 },
    `of ${owed} forecasts owed, ${read} were read:\n${examples.join("\n")}`,
  );
  assert.equal(read, owed);
}
