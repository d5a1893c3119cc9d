// `forecastnet probe`: sends observations of a new series and waits for its forecast. A forecast comes only if formats,
// topics, a worker and its commits all work. Workers recognise the series by its prefix and forget it soon.

import { randomInt } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { fromDeadLetterHeaders } from "../log/dead-letter.ts";
import type { Log, StoredRecord } from "../log/log.ts";
import { parseInterval } from "../models/interval.ts";
import { type Clock, systemClock } from "../runtime/clock.ts";
import { number } from "../runtime/config/formats.ts";
import { probePrefix, seriesRules } from "../runtime/config/series-rules.ts";
import { type CommandIo, defineCommand, exitCodes, option, runCommand } from "./command.ts";
import { openInputWriter } from "./input-writer.ts";
import { type Cluster, onCluster } from "./on-cluster.ts";

const probeCommand = defineCommand({
  name: "probe",
  summary: `Sends observations of a new series to the first input topic and waits for a forecast of it. Workers forget the
series ten minutes after its last observation.`,
  actions: {},
  flags: { timeout: option("wait up to S seconds", "S", number(0.001, 86_400), "60") },
  takesConfig: true,
});

/** Returns the exit code. */
export function runProbeCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  return runCommand(probeCommand, argv, io, ({ values, configArgv }) => {
    const timeoutMs = 1_000 * values.timeout;
    return onCluster(configArgv, io, (cluster) =>
      runProbe({ ...cluster, io, clock: systemClock, timeoutMs }),
    );
  });
}

interface ProbeParts extends Cluster {
  readonly io: Pick<CommandIo, "out" | "err">;
  readonly clock: Clock;
  readonly timeoutMs: number;
}

/** Enough points to detect an automatic interval. */
const firstPoints = 12;
/** A follower may find its position only after the first forecast was written, so more points are sent. */
const resendMs = 2_000;
/** Interval of the probe's points where series.interval is auto. */
const autoInterval = "PT1M";

type ProbeResult =
  | { readonly kind: "forecast" }
  | { readonly kind: "dead-letter"; readonly reason: string }
  | { readonly kind: "silence" };

/** Returns the exit code. */
export async function runProbe(parts: ProbeParts): Promise<number> {
  const { config, io, clock, timeoutMs } = parts;
  const startedMs = clock.nowMs();
  const seriesId = `${probePrefix}${startedMs.toString(36)}-${randomInt(36 ** 4).toString(36)}`;
  const result = await probe(seriesId, parts);
  switch (result.kind) {
    case "forecast":
      io.out(`${seriesId} was forecast after ${((clock.nowMs() - startedMs) / 1_000).toFixed(1)} s`);
      return exitCodes.ok;
    case "dead-letter":
      io.err(`the observations of ${seriesId} became dead letters: ${result.reason}`);
      return exitCodes.notDone;
    case "silence":
      io.err(
        `no forecast of ${seriesId} within ${timeoutMs / 1_000} s: is a worker of group ${config.group} running, and what does its /readyz answer?`,
      );
      return exitCodes.notDone;
  }
}

async function probe(seriesId: string, parts: ProbeParts): Promise<ProbeResult> {
  const { config, log, timeoutMs } = parts;
  const over = new AbortController();
  const signal = AbortSignal.any([parts.signal, over.signal, AbortSignal.timeout(timeoutMs)]);
  const { forecasts, deadLetters } = config.topics;
  const send = await createSender(seriesId, parts);
  try {
    return await Promise.race([
      firstOf(log, forecasts, seriesId, signal).then((found) => (found === null ? silence : forecast)),
      firstOf(log, deadLetters, seriesId, signal).then((found) =>
        found === null ? silence : deadLetter(found),
      ),
      keepSending(send, signal),
    ]);
  } finally {
    over.abort();
  }
}

const silence: ProbeResult = { kind: "silence" };
const forecast: ProbeResult = { kind: "forecast" };

function deadLetter({ headers }: StoredRecord): ProbeResult {
  return { kind: "dead-letter", reason: fromDeadLetterHeaders(headers)?.detail ?? "no reason given" };
}

/** Sends the next points of the series. */
type Send = (points: number) => Promise<void>;

async function createSender(seriesId: string, { config, log, clock, timeoutMs }: ProbeParts): Promise<Send> {
  const { topic, partitions, encode } = await openInputWriter(config.topics.inputs[0], config, log);
  const partition = randomInt(partitions);
  const { interval: configured, offsetMs, every } = seriesRules(config.series)(seriesId);
  const interval = parseInterval(configured === "auto" ? autoInterval : configured);
  // Starts far enough back that no point is ahead of the clock, however many are sent.
  const most = every * (firstPoints + Math.ceil(timeoutMs / resendMs));
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

/** Resolves when the signal fires. */
async function keepSending(send: Send, signal: AbortSignal): Promise<ProbeResult> {
  for (let points = firstPoints; !signal.aborted; points = 1) {
    await send(points);
    await delay(resendMs, undefined, { signal }).catch(() => undefined); // Aborted: the probe is over.
  }
  return silence;
}

/** The first record of the series; null if the signal fires first. */
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
