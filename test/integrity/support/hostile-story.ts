// Every hostile record, each followed by a good one, and what must become of them.

import assert from "node:assert/strict";
import type { Observation, Outgoing } from "../../../src/domain.ts";
import { avroCodec, singleObjectHeaderBytes } from "../../../src/log/codec/avro.ts";
import { fromDeadLetterHeaders } from "../../../src/log/dead-letter.ts";
import type { StoredRecord } from "../../../src/log/log.ts";
import { notFound, type RegistryStub } from "../../unit/log/codec/registry-stub.ts";
import {
  type Format,
  type HostileRecord,
  hostileRecords,
  knownSeries,
  registeredSchemas,
} from "./hostile-records.ts";

const codec = avroCodec("Observation");
const formats: readonly Format[] = ["avro", "json", "confluent"];
export const stepMs = 60_000;
const firstTimeMs = Date.UTC(2024, 0, 1);
/** The table comes so often, in the same partition: what was sent once and refused must not matter. */
const repeats = 2;

/** What the configuration must say for the table to be true, beside the formats of the topics. */
export const hostileLimits = { series: formats.length };
/** The dead-letter topic of the table takes as much as a broker's default allows. */
export const deadLetterBytes = 1_048_588;

export interface HostileStory {
  /** Good ones, to be settled first: then all series are known. */
  readonly first: readonly Outgoing[];
  readonly rest: readonly Outgoing[];
  /** By the topic and offset of the hostile record. */
  readonly hostileByPlace: ReadonlyMap<string, HostileRecord & { readonly sent: Outgoing }>;
  readonly good: readonly Observation[];
}

/** All in partition 0 of topics that are empty. */
export function hostileStory(topicOf: Readonly<Record<Format, string>>): HostileStory {
  const records: Outgoing[] = [];
  const good: Observation[] = [];
  const hostileByPlace = new Map<string, HostileRecord & { readonly sent: Outgoing }>();
  const endByTopic = new Map<string, number>();
  const send = (record: Outgoing): string => {
    const offset = endByTopic.get(record.topic) ?? 0;
    endByTopic.set(record.topic, offset + 1);
    records.push(record);
    return `${record.topic}/${offset}`;
  };
  const sendGood = (format: Format) => {
    const seriesId = knownSeries[format];
    const step = good.filter((observation) => observation.seriesId === seriesId).length;
    const observation = { seriesId, timeMs: firstTimeMs + step * stepMs, values: [Math.sin(step)] };
    good.push(observation);
    send({
      topic: topicOf[format],
      partition: 0,
      key: Buffer.from(seriesId),
      value: encode(format, observation),
    });
  };
  for (const format of formats) sendGood(format);
  for (let round = 0; round < repeats; round++) {
    for (const hostile of hostileRecords) {
      const { format, key = Buffer.from("k"), headers = () => [] } = hostile;
      const value = hostile.value();
      const bytes = typeof value === "string" ? Buffer.from(value) : value;
      const sent = { topic: topicOf[format], partition: 0, key, value: bytes, headers: headers() };
      hostileByPlace.set(send(sent), { ...hostile, sent });
      sendGood(format);
    }
  }
  return {
    first: records.slice(0, formats.length),
    rest: records.slice(formats.length),
    hostileByPlace,
    good,
  };
}

function encode(format: Format, { seriesId, timeMs, values: [value] }: Observation): Buffer {
  if (format === "json") return Buffer.from(JSON.stringify({ seriesId, time: timeMs, value }));
  const bytes = codec.encode({ seriesId, time: timeMs, value, tags: {} });
  return format === "avro"
    ? bytes
    : Buffer.concat([Buffer.from([0, 0, 0, 0, 1]), bytes.subarray(singleObjectHeaderBytes)]);
}

/** Lets the registry know the schemas of the table and no others. */
export function teach(registry: RegistryStub): void {
  registry.answerWith((line) => {
    const schema = registeredSchemas.get(Number(/^GET \/schemas\/ids\/(\d+)/.exec(line)?.[1]));
    return schema === undefined ? notFound : { status: 200, body: { schema: JSON.stringify(schema) } };
  });
}

/** Each hostile record has one dead letter with its reason, as it came or marked as cut; and there are no others. */
export function assertDeadLetters(letters: readonly StoredRecord[], { hostileByPlace }: HostileStory): void {
  const unanswered = new Map(hostileByPlace);
  for (const letter of letters) {
    const facts = fromDeadLetterHeaders(letter.headers);
    assert.ok(facts !== undefined, "a dead letter states where its record comes from");
    const place = `${facts.topic}/${facts.offset}`;
    const hostile = unanswered.get(place);
    assert.ok(
      hostile !== undefined,
      `the dead letter of ${place} is expected, and appears for the first time: ${facts.detail}`,
    );
    unanswered.delete(place);
    const about = `${hostile.format}: ${hostile.what}: ${facts.detail}`;
    assert.equal(facts.reason, hostile.reason, about);
    assertContents(letter, hostile, facts.truncated, about);
  }
  assert.deepEqual(
    [...unanswered.values()].map(({ what }) => what),
    [],
    "every hostile record has its dead letter",
  );
}

function assertContents(
  letter: StoredRecord,
  hostile: HostileRecord & { readonly sent: Outgoing },
  truncated: string,
  about: string,
): void {
  const { key, value, headers = [] } = hostile.sent;
  if (hostile.truncated === undefined) {
    assert.equal(truncated, "", about);
    assert.ok(
      isEqual(letter.key, key) && isEqual(letter.value, value),
      `${about}: key and value are unchanged`,
    );
    assert.deepEqual(letter.headers.slice(0, headers.length), headers, about);
    return;
  }
  assert.match(truncated, hostile.truncated, about);
  assert.ok(
    isEqual(letter.value, value?.subarray(0, letter.value?.length ?? 0) ?? null),
    `${about}: its beginning`,
  );
}

function isEqual(a: Buffer | null, b: Buffer | null): boolean {
  return a === null || b === null ? a === b : a.equals(b);
}
