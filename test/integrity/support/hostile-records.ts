// The table of hostile records: what an input topic may hold that is no observation, and the reason that its dead
// letter states. docs/hostile-records.md shows the same table, and a test compares the two.

import type { DeadLetterReason, Header } from "../../../src/domain.ts";
import { avroCodec, singleObjectHeaderBytes } from "../../../src/log/codec/avro.ts";
import type { AvroSchema } from "../../../src/log/codec/avro-schema.ts";
import { schemaVersions } from "../../../src/log/codec/schemas.generated.ts";

export type Format = "avro" | "json" | "confluent";

export interface HostileRecord {
  readonly what: string;
  readonly format: Format;
  readonly reason: DeadLetterReason;
  readonly value: () => Buffer | string | null;
  readonly key?: Buffer | null;
  readonly headers?: () => readonly Header[];
  /** What its dead letter says was cut off; nothing when it is missing. */
  readonly truncated?: RegExp;
}

/** A series of one channel in each format, known before the first hostile record comes. */
export const knownSeries: Readonly<Record<Format, string>> = {
  avro: "avro-0",
  json: "json-🚀-0",
  confluent: "confluent-0",
};

/** What the registry of the tests holds, by id. */
export const registeredSchemas: ReadonlyMap<number, AvroSchema> = new Map<number, AvroSchema>([
  [1, schemaVersions.Observation.at(-1) as AvroSchema],
  [2, "string"],
  [
    3,
    {
      ...{ type: "record", name: "Node" },
      fields: [
        { name: "next", type: ["null", "Node"] },
        { name: "seriesId", type: "string" },
      ],
    },
  ],
]);

const codec = avroCodec("Observation");
const goodTime = Date.UTC(2024, 0, 1);
const farFuture = Date.UTC(2999, 0, 1);

const avroOf = (seriesId: string, time: number, value: number | readonly number[]) =>
  codec.encode({ seriesId, time, value, tags: { site: "north" } });
/** An Avro body by hand: a series id of one letter, then these bytes. */
const bareAvro = (...rest: readonly number[]) => Buffer.from([2, 0x61, ...rest]);
const goodAvro = avroOf(knownSeries.avro, goodTime, 1);
const jsonOf = (changes: object) =>
  JSON.stringify({ seriesId: knownSeries.json, time: goodTime, value: 1, ...changes });
const goodJson = jsonOf({});
/** As a length or a count: 2^62 - 1. */
const huge = [0xfe, ...new Array<number>(7).fill(0xff), 0x7f];
/** A long of ten bytes that never ends within them. */
const endless = new Array<number>(10).fill(0xff);
const zeroTime = 0;
const branchOfArray = 2;
const framed = (schemaId: number, body: Buffer, magic = 0) => {
  const header = Buffer.alloc(5, magic);
  header.writeInt32BE(schemaId, 1);
  return Buffer.concat([header, body]);
};
const unreadable = () => "{";
const header = (key: string, value: string | null): Header => ({
  key,
  value: value === null ? null : Buffer.from(value),
});

const noise = Buffer.from(Array.from({ length: 64 }, (_, n) => (n * 167 + 89) % 256));
const channels = new Array<number>(500_000).fill(1);

// biome-ignore format: a table, one record a line
const inAvro: readonly Omit<HostileRecord, "format">[] = [
  { what: "no value (a tombstone)", reason: "undecodable", value: () => null },
  { what: "an empty value", reason: "undecodable", value: () => Buffer.alloc(0) },
  { what: "random bytes", reason: "undecodable", value: () => noise },
  { what: "a truncated value", reason: "undecodable", value: () => goodAvro.subarray(0, goodAvro.length - 3) },
  { what: "bytes after the end of the value", reason: "undecodable", value: () => Buffer.concat([goodAvro, noise]) },
  { what: "text that is not UTF-8", reason: "undecodable", value: () => Buffer.from([4, 0xc3, 0x28, 0, 0, 0]) },
  { what: "a fingerprint that no version of the schema has", reason: "unknown-schema", value: () => Buffer.from(goodAvro).fill(0xab, 2, 10) },
  { what: "a branch of a union that does not exist", reason: "undecodable", value: () => bareAvro(zeroTime, 14) },
  { what: "a string with a claimed length of 2^62 bytes", reason: "undecodable", value: () => Buffer.from([...huge]) },
  { what: "a string of negative length", reason: "undecodable", value: () => Buffer.from([0x03, 0x61, 0x62]) },
  { what: "an array with a claimed length of 2^62 items", reason: "undecodable", value: () => bareAvro(zeroTime, branchOfArray, ...huge) },
  { what: "an array block with a negative count and a forged size", reason: "undecodable", value: () => bareAvro(zeroTime, branchOfArray, 1, 0x7e, ...new Array(8).fill(0), 0, 0) },
  { what: "an integer of more than 64 bits", reason: "undecodable", value: () => bareAvro(...endless, 0x01) },
  { what: "the earliest 64-bit time", reason: "bad-time", value: () => bareAvro(...endless.slice(0, 9), 0x01, 0, ...new Array(8).fill(0), 0) },
  { what: "the latest 64-bit time", reason: "bad-time", value: () => bareAvro(0xfe, ...endless.slice(0, 8), 0x01, 0, ...new Array(8).fill(0), 0) },
  { what: "a time before the year 1900", reason: "bad-time", value: () => avroOf(knownSeries.avro, Date.UTC(1899, 11, 31), 1) },
  { what: "a time far in the future", reason: "future-time", value: () => avroOf(knownSeries.avro, farFuture, 1) },
  { what: "an empty series id", reason: "missing-series", value: () => avroOf("", goodTime, 1) },
  { what: "a series id longer than `limits.seriesIdLength`", reason: "series-id-too-long", value: () => avroOf("x".repeat(257), goodTime, 1) },
  { what: "a series id with a NUL", reason: "bad-series-id", value: () => avroOf("a\u0000b", goodTime, 1) },
  { what: "NaN", reason: "bad-value", value: () => avroOf(knownSeries.avro, goodTime, Number.NaN) },
  { what: "an infinite value in one channel", reason: "bad-value", value: () => avroOf(knownSeries.avro, goodTime, [1, Number.NEGATIVE_INFINITY]) },
  { what: "a value beyond 1e100", reason: "bad-value", value: () => avroOf(knownSeries.avro, goodTime, 1e101) },
  { what: "no channels", reason: "bad-value", value: () => avroOf(knownSeries.avro, goodTime, []) },
  { what: "a different number of channels than its series has", reason: "wrong-channels", value: () => avroOf(knownSeries.avro, goodTime, [1, 2]) },
  { what: "more channels than `limits.channels`", reason: "too-many-channels", value: () => avroOf("wide-0", goodTime, channels.slice(0, 10_000)) },
  { what: "one series more than `limits.series`", reason: "too-many-series", value: () => avroOf("one-more-0", goodTime, 1) },
];

// biome-ignore format: a table, one record a line
const inJson: readonly Omit<HostileRecord, "format">[] = [
  { what: "text that is not JSON", reason: "undecodable", value: () => "21.5 °C" },
  { what: "bytes that are not UTF-8", reason: "undecodable", value: () => Buffer.from([0x22, 0xc3, 0x28, 0x22]) },
  { what: "NaN, which JSON does not have", reason: "undecodable", value: () => goodJson.replace('"value":1', '"value":NaN') },
  { what: "brackets that never close, 100,000 deep", reason: "undecodable", value: () => "[".repeat(100_000) },
  { what: "a value nested 100,000 deep", reason: "bad-value", value: () => goodJson.replace('"value":1', `"value":${"[".repeat(100_000)}${"]".repeat(100_000)}`) },
  { what: "null instead of an object", reason: "missing-series", value: () => "null" },
  { what: "a list instead of an object", reason: "missing-series", value: () => "[1,2,3]" },
  { what: "no series id", reason: "missing-series", value: () => jsonOf({ seriesId: undefined }) },
  { what: "a number as series id", reason: "missing-series", value: () => jsonOf({ seriesId: 7 }) },
  { what: "fields in `__proto__` only", reason: "missing-series", value: () => `{"__proto__":${goodJson}}` },
  { what: "a series id with a line break", reason: "bad-series-id", value: () => jsonOf({ seriesId: "a\nb" }) },
  { what: "a series id with half of a surrogate pair", reason: "bad-series-id", value: () => jsonOf({ seriesId: "a" }).replace('"a"', '"a\\ud83d"') },
  { what: "no time", reason: "bad-time", value: () => jsonOf({ time: undefined }) },
  { what: "a time that is not a date", reason: "bad-time", value: () => jsonOf({ time: "yesterday" }) },
  { what: "a day that does not exist", reason: "bad-time", value: () => jsonOf({ time: "2024-02-30T00:00:00Z" }) },
  { what: "a time with a fraction of a millisecond", reason: "bad-time", value: () => jsonOf({ time: goodTime + 0.5 }) },
  { what: "a number in quotes", reason: "bad-value", value: () => jsonOf({ value: "21.5" }) },
  { what: "a number of 100,000 digits", reason: "bad-value", value: () => goodJson.replace('"value":1', `"value":${"9".repeat(100_000)}`) },
  { what: "an object as value", reason: "bad-value", value: () => jsonOf({ value: { celsius: 21.5 } }) },
  { what: "500,000 channels", reason: "too-many-channels", value: () => jsonOf({ value: channels }) },
  { what: "10 MB", reason: "oversized", value: () => Buffer.alloc(10 * 1024 * 1024, "x"), truncated: /^value cut from 10485760 to 104\d{4} bytes$/ },
  { what: "a key of 1 MB with a value of 900 kB", reason: "undecodable", key: Buffer.alloc(1_000_000, "k"), value: () => Buffer.alloc(900_000, "x"), truncated: /^value cut from 900000 to \d{4,5} bytes$/ },
  { what: "100,000 headers, unreadable", reason: "undecodable", value: unreadable, headers: () => Array.from({ length: 100_000 }, (_, n) => header(`h${n}`, "x")), truncated: /^99000 headers dropped$/ },
  { what: "the same header twice, unreadable", reason: "undecodable", value: unreadable, headers: () => [header("trace", "1"), header("other", "2"), header("trace", "3")] },
  { what: "a header without a value, unreadable", reason: "undecodable", value: unreadable, headers: () => [header("trace", null)] },
  { what: "a header with an empty name, unreadable", reason: "undecodable", value: unreadable, headers: () => [header("", "x")] },
  { what: "headers named like inherited object properties, unreadable", reason: "undecodable", value: unreadable, headers: () => [header("__proto__", "x"), header("constructor", "y"), header("10", "z")] },
  { what: "headers that imitate those of a dead letter, unreadable", reason: "undecodable", value: unreadable, headers: () => [ header("forecastnet.dead-letter.reason", "forged"), header("forecastnet.dead-letter.truncated", "all of it") ] },
  { what: "no key, unreadable", reason: "undecodable", key: null, value: unreadable },
];

const confluentBody = goodAvro.subarray(singleObjectHeaderBytes);
// biome-ignore format: a table, one record a line
const inConfluent: readonly Omit<HostileRecord, "format">[] = [
  { what: "a first byte other than 0", reason: "undecodable", value: () => framed(1, confluentBody, 9) },
  { what: "fewer bytes than a schema id has", reason: "undecodable", value: () => Buffer.from([0, 0, 0]) },
  { what: "a negative schema id", reason: "undecodable", value: () => framed(-1, confluentBody) },
  { what: "a schema id that the registry does not know", reason: "unknown-schema", value: () => framed(404, confluentBody) },
  { what: "a schema that is not a record", reason: "missing-series", value: () => framed(2, Buffer.from([2, 0x61])) },
  { what: "a body that does not match its schema", reason: "undecodable", value: () => framed(1, noise) },
  { what: "records nested in one another, 500,000 deep", reason: "undecodable", value: () => framed(3, Buffer.alloc(500_000, 2)) },
];

export const hostileRecords: readonly HostileRecord[] = [
  ...inAvro.map((record): HostileRecord => ({ ...record, format: "avro" })),
  ...inJson.map((record): HostileRecord => ({ ...record, format: "json" })),
  ...inConfluent.map((record): HostileRecord => ({ ...record, format: "confluent" })),
];

/** As a table in Markdown. */
export function hostileTable(): string {
  const rows = hostileRecords.map(({ format, what, reason, truncated }) => {
    return `| ${format} | ${what} | \`${reason}\` | ${truncated === undefined ? "" : "yes"} |`;
  });
  return ["| format | record | reason | truncated |", "| --- | --- | --- | --- |", ...rows].join("\n");
}
