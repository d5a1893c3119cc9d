// Sends observations of a series nobody has seen and waits for its forecast: formats, topics, a worker and its commits
// have to work for it to come. What was set aside instead is told with the reason.

import { randomInt } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { fromDeadLetterHeaders } from "../../log/codec/dead-letter.ts";
import type { Log, StoredRecord } from "../../log/log.ts";
import { parseInterval } from "../../models/interval.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { AppConfig } from "../../runtime/config/schema.ts";
import { seriesRules } from "../../runtime/config/series-rules.ts";
import { type CommandIo, exitCodes } from "../command.ts";
import { openInputWriter } from "../input-writer.ts";
import { notDone } from "../on-cluster.ts";

export interface ProbeParts {
  readonly config: AppConfig;
  readonly log: Log;
  readonly io: Pick<CommandIo, "out" | "err">;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

/** Enough to find an interval by. */
const firstPoints = 12;
/** A follower may find its place only after the first forecast was written: another point brings another one. */
const againMs = 2_000;
/** Of a series that finds its interval by itself. */
const usualInterval = "PT1M";

type Answer =
  | { readonly kind: "forecast" }
  | { readonly kind: "refused"; readonly reason: string }
  | { readonly kind: "silence" };

/** Returns the exit code. */
export async function runProbe(parts: ProbeParts): Promise<number> {
  const { config, io, clock, timeoutMs } = parts;
  const startedMs = clock.nowMs();
  const seriesId = `probe-${startedMs.toString(36)}-${randomInt(36 ** 4).toString(36)}`;
  const answer = await ask(seriesId, parts);
  switch (answer.kind) {
    case "forecast":
      io.out(`${seriesId} was forecast after ${((clock.nowMs() - startedMs) / 1_000).toFixed(1)} s`);
      return exitCodes.ok;
    case "refused":
      io.err(`the observations of ${seriesId} were set aside: ${answer.reason}`);
      return notDone;
    case "silence":
      io.err(
        `no forecast of ${seriesId} came within ${timeoutMs / 1_000} s: is a worker of group ${config.group} running, and what does its /readyz say?`,
      );
      return notDone;
  }
}

async function ask(seriesId: string, parts: ProbeParts): Promise<Answer> {
  const { config, log, timeoutMs } = parts;
  const over = new AbortController();
  const signal = AbortSignal.any([parts.signal, over.signal, AbortSignal.timeout(timeoutMs)]);
  const { forecasts, deadLetters } = config.topics;
  const send = await createSender(seriesId, parts);
  try {
    return await Promise.race([
      firstOf(log, forecasts, seriesId, signal).then((found) => (found === null ? silence : forecast)),
      firstOf(log, deadLetters, seriesId, signal).then((found) =>
        found === null ? silence : refusal(found),
      ),
      keepSending(send, signal),
    ]);
  } finally {
    over.abort();
  }
}

const silence: Answer = { kind: "silence" };
const forecast: Answer = { kind: "forecast" };

function refusal({ headers }: StoredRecord): Answer {
  return { kind: "refused", reason: fromDeadLetterHeaders(headers)?.detail ?? "nobody says why" };
}

/** Sends so many further points. */
type Send = (points: number) => Promise<void>;

async function createSender(seriesId: string, { config, log, clock, timeoutMs }: ProbeParts): Promise<Send> {
  const { topic, partitions, encode } = await openInputWriter(config.topics.inputs[0], config, log);
  const partition = randomInt(partitions);
  const { interval: configured, offsetMs, every } = seriesRules(config.series)(seriesId);
  const interval = parseInterval(configured === "auto" ? usualInterval : configured);
  // So far back that no point lies ahead of the clock, however often another one is sent.
  const most = every * (firstPoints + Math.ceil(timeoutMs / againMs));
  let slot = interval.indexOf(clock.nowMs(), offsetMs) - most;
  return async (points) => {
    const records = Array.from({ length: every * points }, () => {
      const timeMs = interval.timeOf(slot++, offsetMs);
      const value = encode({ seriesId, timeMs, value: slot % 10 });
      return { topic, partition, key: Buffer.from(seriesId), value };
    });
    await log.append(records);
  };
}

/** Until the signal fires. */
async function keepSending(send: Send, signal: AbortSignal): Promise<Answer> {
  for (let points = firstPoints; !signal.aborted; points = 1) {
    await send(points);
    await delay(againMs, undefined, { signal }).catch(() => undefined); // Cut short: nobody waits any longer.
  }
  return silence;
}

/** The first record of the series; null when the signal fires before it comes. */
async function firstOf(
  log: Log,
  topic: string,
  seriesId: string,
  signal: AbortSignal,
): Promise<StoredRecord | null> {
  for await (const { records } of log.follow(topic, "latest", signal)) {
    const found = records.find(({ key }) => key?.toString() === seriesId);
    if (found !== undefined) return found;
  }
  return null;
}
