// Records that are no observations, of every kind there is a reason for, and bytes that are nothing at all.

import type { DeadLetterReason, Outgoing } from "../../../src/domain.ts";
import { avroCodec } from "../../../src/log/codec/avro.ts";
import { partitionOf, partitions } from "./load.ts";
import { seededRandom } from "./seeded-random.ts";

export interface Poison extends Outgoing {
  readonly headers: { readonly poison: string; readonly note: Buffer };
  /** Null where the bytes are fuzz and any reason will do. */
  readonly reason: DeadLetterReason | null;
}

export interface PoisonTopics {
  readonly avro: string;
  readonly json: string;
  /** A series of one channel that has been seen in each topic. */
  readonly knownSeries: { readonly avro: string; readonly json: string };
  /** What the configuration allows. */
  readonly maxRecordBytes: number;
}

type Value = Buffer | string | null;
type Recipe = readonly [DeadLetterReason | null, (n: number) => Value];

const codec = avroCodec("Observation");
const goodTime = Date.UTC(2024, 0, 1);
const farFuture = Date.UTC(2999, 0, 1);

/** `count` of them, in an order and of contents that depend on nothing but the arguments. */
export function makePoison(count: number, topics: PoisonTopics): Poison[] {
  const random = seededRandom(11);
  const recipes = [
    ...avroRecipes(topics, random).map((recipe) => ({ topic: topics.avro, recipe })),
    ...jsonRecipes(topics, random).map((recipe) => ({ topic: topics.json, recipe })),
  ];
  return Array.from({ length: count }, (_, n) => {
    const { topic, recipe } = recipes[n % recipes.length] as (typeof recipes)[number];
    const [reason, make] = recipe;
    const value = make(n);
    const known = topic === topics.avro ? topics.knownSeries.avro : topics.knownSeries.json;
    return {
      topic,
      reason,
      partition: reason === "wrong-channels" ? partitionOf(known) : n % partitions,
      key: n % 5 === 0 ? null : Buffer.from([n & 0xff, 0xff, 0xfe]),
      value: typeof value === "string" ? Buffer.from(value) : value,
      headers: { poison: String(n), note: Buffer.from([0, n & 0xff, 0xff]) },
    };
  });
}

function avroRecipes({ knownSeries, maxRecordBytes }: PoisonTopics, random: () => number): Recipe[] {
  const encode = (seriesId: string, time: number, value: number | readonly number[]) =>
    codec.encode({ seriesId, time, value, tags: { site: "north" } });
  const good = encode("poison-0", goodTime, 1);
  const noise = (bytes: number) =>
    Buffer.from(Array.from({ length: bytes }, () => Math.floor(256 * random())));
  return [
    ["undecodable", () => null],
    ["undecodable", () => Buffer.alloc(0)],
    ["undecodable", (n) => good.subarray(0, 10 + (n % (good.length - 10)))],
    ["undecodable", () => Buffer.concat([good, Buffer.from([1])])],
    ["undecodable", () => replaced(good, "poison", Buffer.from([0x70, 0xff, 0xc0, 0x69, 0x6f, 0x6e]))],
    ["unknown-schema", () => Buffer.concat([good.subarray(0, 2), noise(8), good.subarray(10)])],
    ["missing-series", () => encode("", goodTime, 1)],
    ["series-id-too-long", (n) => encode("x".repeat(257 + n), goodTime, 1)],
    ["bad-time", () => encode("poison-0", -9e13, 1)],
    ["bad-time", () => encode("poison-0", 9e15, 1)],
    ["future-time", (n) => encode("poison-0", farFuture + n, 1)],
    ["bad-value", () => encode("poison-0", goodTime, Number.NaN)],
    ["bad-value", () => encode("poison-0", goodTime, Number.NEGATIVE_INFINITY)],
    ["bad-value", () => encode("poison-0", goodTime, [1, Number.NaN])],
    ["bad-value", () => encode("poison-0", goodTime, [])],
    ["bad-value", () => encode("poison-0", goodTime, 1e101)],
    ["wrong-channels", () => encode(knownSeries.avro, goodTime, [1, 2])],
    ["oversized", (n) => noise(maxRecordBytes + 1 + n)],
    [null, (n) => noise(1 + (n % 90))],
    [null, (n) => flipped(good, 10 + (n % 4))],
  ];
}

function jsonRecipes({ knownSeries, maxRecordBytes }: PoisonTopics, random: () => number): Recipe[] {
  const body = (changes: object) =>
    JSON.stringify({ seriesId: "poison-0", time: goodTime, value: 1, ...changes });
  return [
    ["undecodable", () => null],
    ["undecodable", () => ""],
    ["undecodable", (n) => body({}).slice(0, 1 + (n % 40))],
    ["undecodable", () => '{"seriesId":"poison-0","time":1,"value":NaN}'],
    [
      "undecodable",
      () => Buffer.concat([Buffer.from('{"seriesId":"'), Buffer.from([0xc3, 0x28, 0x22, 0x7d])]),
    ],
    ["undecodable", () => "[".repeat(20_000)],
    ["missing-series", () => "null"],
    ["missing-series", () => "[]"],
    ["missing-series", () => body({ seriesId: 7 })],
    ["missing-series", () => '{"__proto__":{"seriesId":"poison-0"},"time":1,"value":1}'],
    ["series-id-too-long", () => body({ seriesId: "é".repeat(300) })],
    ["bad-time", () => body({ time: "yesterday" })],
    ["bad-time", () => body({ time: 1.5 })],
    ["bad-time", () => body({ time: null })],
    ["future-time", () => body({ time: "2999-01-01T00:00:00Z" })],
    ["bad-value", () => body({ value: "21.5" })],
    ["bad-value", () => body({ value: [[1]] })],
    ["bad-value", () => '{"seriesId":"poison-0","time":1704067200000,"value":1e999}'],
    ["wrong-channels", () => body({ seriesId: knownSeries.json, value: [1, 2, 3] })],
    ["oversized", () => body({ padding: "x".repeat(maxRecordBytes) })],
    [null, (n) => flipped(Buffer.from(body({})), n % 11)],
    [null, () => `{"${String.fromCharCode(0x20 + Math.floor(90 * random()))}`],
  ];
}

function replaced(bytes: Buffer, text: string, by: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  by.copy(copy, copy.indexOf(text));
  return copy;
}

function flipped(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[at] = (copy[at] ?? 0) ^ 0x80;
  return copy;
}
