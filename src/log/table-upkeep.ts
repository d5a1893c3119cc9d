// How the broker cleans the compacted topics that a worker restores. A restore reads all that the cleaner has left: the
// newest value of each key, older ones up to a share of the whole, the active segment, which is never cleaned, and the markers
// of transactions. So these settings decide how much a restore reads beyond what the fleet needs.

import type { TopicFacts } from "./log.ts";

const MEBIBYTE = 1024 * 1024;
const MINUTE_MS = 60_000;

interface Upkeep {
  readonly setting: string;
  /** What our topics are created with. */
  readonly value: number;
  /** Above this, a restore may read several times what it needs. */
  readonly limit: number;
}

const upkeep: readonly Upkeep[] = [
  { setting: "segment.bytes", value: 16 * MEBIBYTE, limit: 64 * MEBIBYTE },
  { setting: "segment.ms", value: 5 * MINUTE_MS, limit: 60 * MINUTE_MS },
  // Each cleaning rewrites the partition. With 0.2, the cleaner writes five times what workers write.
  { setting: "min.cleanable.dirty.ratio", value: 0.2, limit: 0.5 },
  // Each commit leaves a marker for that long. Not shorter than a restore, which could otherwise miss a deletion.
  { setting: "delete.retention.ms", value: 60 * MINUTE_MS, limit: 6 * 60 * MINUTE_MS },
  { setting: "min.compaction.lag.ms", value: 0, limit: 60 * MINUTE_MS },
];

export const upkeepSettings: readonly string[] = upkeep.map(({ setting }) => setting);

/** `recordBytes`: the largest batch that the topic accepts. A broker refuses batches larger than a segment. */
export function tableUpkeep(recordBytes: number): Readonly<Record<string, string>> {
  const settings = Object.fromEntries(upkeep.map(({ setting, value }) => [setting, String(value)]));
  return { ...settings, "segment.bytes": String(Math.max(Number(settings["segment.bytes"]), recordBytes)) };
}

/** A warning if the topic is cleaned so late that restores grow with the traffic. */
export function upkeepWarningOf({ topic, settings, maxMessageBytes }: TopicFacts): string | null {
  const ours = tableUpkeep(maxMessageBytes);
  const late = upkeep.filter(({ setting, limit }) => {
    const least = setting === "segment.bytes" ? maxMessageBytes : 0;
    return Number(settings[setting] ?? 0) > Math.max(limit, least);
  });
  if (late.length === 0) return null;
  const found = late.map(({ setting }) => `${setting}=${settings[setting]}`).join(", ");
  const remedy = late.map(({ setting }) => `${setting}=${ours[setting]}`).join(",");
  return (
    `topic ${topic} has ${found}: outdated records stay long, and a restore reads them all: ` +
    `kafka-configs --alter --entity-type topics --entity-name ${topic} --add-config ${remedy}`
  );
}
