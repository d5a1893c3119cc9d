// `forecastnet series`: lists and shows the series of a fleet, and orders workers to forget some. Works on any log.

import { randomUUID } from "node:crypto";
import type { SeriesSettings } from "../../domain.ts";
import { systemClock } from "../../runtime/clock.ts";
import { integer, number, text } from "../../runtime/config/formats.ts";
import { seriesRules } from "../../runtime/config/series-rules.ts";
import { compileGlob } from "../../runtime/glob.ts";
import {
  type CommandIo,
  defineCommand,
  exitCodes,
  type LineOf,
  option,
  runCommand,
  toggle,
} from "../command.ts";
import { type FleetActions, type FleetDeps, onCluster, runOnFleet, UserError } from "../on-cluster.ts";
import { bearingOf, sendAndFollow, sendOrders } from "../orders.ts";
import {
  type Column,
  optionalNumber,
  optionalTime,
  printable,
  suggestion,
  tableLines,
} from "../terminal-text.ts";
import { readSeries, type SeriesEntry } from "./read-series.ts";

export const seriesCommand = defineCommand({
  name: "series",
  summary: `Lists the series of a fleet, as Kafka stores them, and sends orders to the workers that own them. In a PATTERN, *
stands for any characters and ? for one.`,
  actions: {
    list: { doc: "list the series by id", flags: ["match", "limit", "json"] },
    show: { doc: "show what is stored about one series", argument: "ID", flags: ["json"] },
    forget: {
      doc: "delete state, scores and model; if the series sends again, it starts as new",
      argument: "ID|PATTERN",
      flags: ["yes", "timeout", "no-wait"],
    },
  },
  flags: {
    match: option("only series whose id matches", "PATTERN", text("pattern", /^/)),
    limit: option("at most N rows", "N", integer(1, 10_000_000)),
    json: toggle("print JSON"),
    yes: toggle("confirm a pattern that matches several series"),
    timeout: option("wait up to S seconds until it is done", "S", number(0.001, 86_400), "60"),
    "no-wait": toggle("do not wait until it is done"),
  },
  takesConfig: true,
});

type SeriesLine = LineOf<typeof seriesCommand>;

/** Returns the exit code. */
export function runSeriesCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  return runCommand(seriesCommand, argv, io, (line) =>
    onCluster(line.configArgv, io, ({ config: { topics, series }, log, signal }) => {
      const settingsOf = seriesRules(series);
      return runSeries(line, { log, topics, settingsOf, io, clock: systemClock, signal });
    }),
  );
}

interface SeriesDeps extends FleetDeps {
  readonly settingsOf: (seriesId: string) => SeriesSettings;
}

const actions: FleetActions<SeriesLine, SeriesDeps> = { list, show, forget };

/** Returns the exit code. */
export function runSeries(line: SeriesLine, deps: SeriesDeps): Promise<number> {
  return runOnFleet(actions, line, deps);
}

const columns: readonly Column<SeriesEntry>[] = [
  { title: "SERIES", text: ({ seriesId }) => seriesId },
  { title: "PARTITION", text: ({ partition }) => String(partition), isNumber: true },
  { title: "LAST", text: ({ lastTimeMs }) => optionalTime(lastTimeMs) },
  { title: "POINTS", text: ({ points }) => String(points), isNumber: true },
  { title: "PHASE", text: phaseOf },
  { title: "TIER", text: ({ tier }) => tier },
];

async function list({ values }: SeriesLine, deps: SeriesDeps): Promise<number> {
  const { match, limit, json } = values;
  const { io } = deps;
  const pattern = match === null ? null : compileGlob(match);
  const isMatch = (seriesId: string) => pattern?.test(seriesId) ?? true;
  const { entries, total } = await readSeries(deps, isMatch, limit ?? Number.POSITIVE_INFINITY);
  if (json) io.out(JSON.stringify(entries.map(toJson), null, 2));
  else if (total === 0) io.out("no such series");
  else {
    for (const line of tableLines(columns, entries)) io.out(line);
    if (total > entries.length) io.out(`and ${total - entries.length} more`);
  }
  return exitCodes.ok;
}

async function show({ argument, values }: SeriesLine, deps: SeriesDeps): Promise<number> {
  const { io, settingsOf } = deps;
  const { entries } = await readSeries(deps, (id) => id === argument);
  if (entries.length === 0) throw await unknownSeries(argument, deps);
  if (values.json) io.out(JSON.stringify(entries.map(toJson), null, 2));
  else for (const entry of entries) for (const line of showLines(entry, settingsOf(argument))) io.out(line);
  return exitCodes.ok;
}

function showLines(entry: SeriesEntry, { forgetAfter }: SeriesSettings): readonly string[] {
  const { seriesId, partition, interval, channels, points, lastTimeMs, storedMs, tier, live, problem } =
    entry;
  const facts: (readonly [string, string])[] = [
    ["interval", interval ?? "not known yet"],
    ["season", seasonText(entry)],
    ["bounds", boundsText(entry)],
    ["channels", String(channels)],
    ["points", String(points)],
    ["last", optionalTime(lastTimeMs)],
    ["stored", optionalTime(storedMs === 0 ? null : storedMs)],
    ["phase", phaseOf(entry)],
    ["tier", tier],
    ["rolling MASE", optionalNumber(live?.scores?.mase ?? null)],
    ["forgotten after", forgetAfter === "never" ? "never" : `${forgetAfter} without observations`],
    ...(problem === null ? [] : [["cannot be read", problem] as const]),
  ];
  const lines = facts.map(([name, value]) => `  ${name.padEnd(16)}${value}`);
  return [`${seriesId}, partition ${partition}`, ...lines].map(printable);
}

function seasonText({ season, naiveSeason, seasons }: SeriesEntry): string {
  if (season === null) return "not known yet";
  const repeated = naiveSeason === season ? "" : `; seasonal-naive repeats ${naiveSeason}`;
  return `${season} steps${repeated}${seasons.length === 0 ? "" : ` (found: ${seasons.join(", ")})`}`;
}

function boundsText({ bounds }: SeriesEntry): string {
  const limits = [
    ...(bounds !== null && Number.isFinite(bounds.min) ? [`at least ${bounds.min}`] : []),
    ...(bounds !== null && Number.isFinite(bounds.max) ? [`at most ${bounds.max}`] : []),
  ];
  return limits.length === 0 ? "none" : limits.join(", ");
}

function toJson(entry: SeriesEntry) {
  const { lastTimeMs, storedMs, live, bounds, ...facts } = entry;
  const limit = (value: number | undefined) => (Number.isFinite(value) ? value : null);
  const time = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());
  return {
    ...facts,
    min: limit(bounds?.min),
    max: limit(bounds?.max),
    lastTime: time(lastTimeMs),
    storedAt: time(storedMs === 0 ? null : storedMs),
    phase: phaseOf(entry),
    scores: live?.scores ?? null,
  };
}

function phaseOf({ live, tier }: SeriesEntry): string {
  return live?.phase.toLowerCase() ?? (tier === "model" ? "champion" : "cold");
}

async function unknownSeries(seriesId: string, deps: SeriesDeps): Promise<UserError> {
  const { entries } = await readSeries(deps, () => true);
  const ids = new Set(entries.map((entry) => entry.seriesId));
  const hint = suggestion(seriesId, ids, "`forecastnet series list` shows all of them");
  return new UserError(`no series ${seriesId} is known: ${hint}`);
}

/** Ids named in the request for confirmation. */
const mostExamples = 5;

async function forget({ argument, values }: SeriesLine, deps: SeriesDeps): Promise<number> {
  const { io, clock } = deps;
  const entries = await seriesMeantBy(argument, deps);
  const ids = [...new Set(entries.map(({ seriesId }) => seriesId))];
  const what = ids.length === 1 ? ids[0] : `${ids.length} series`;
  if (ids.length > 1 && !values.yes) {
    const examples = ids.slice(0, mostExamples).join(", ");
    const more = ids.length > mostExamples ? ", …" : "";
    throw new UserError(`${argument} matches ${what} (${examples}${more}): add --yes to forget all of them`);
  }
  const wanted = { kind: "FORGET", record: null, skipsGate: false, askedAt: clock.nowMs() } as const;
  const orders = entries.map(({ seriesId, partition }) => ({
    partition,
    order: { ...wanted, id: randomUUID(), modelKey: seriesId },
  }));
  const wait = values["no-wait"] ? "" : `, waiting up to ${values.timeout} s`;
  io.out(printable(`asked to forget ${what}${wait}`));
  if (values["no-wait"]) {
    await sendOrders(orders, deps);
    return exitCodes.ok;
  }
  const done = await countForgotten(orders, 1_000 * values.timeout, deps);
  if (done === entries.length) {
    io.out(printable(`${what} forgotten`));
    return exitCodes.ok;
  }
  const advice =
    "the other orders stay until the workers that own the series have carried them out; are they running?";
  io.err(`${done} of ${entries.length} are forgotten: ${advice}`);
  return exitCodes.notDone;
}

/** Waits for one event per order: a series in two partitions is forgotten twice. */
async function countForgotten(
  orders: Parameters<typeof sendOrders>[0],
  timeoutMs: number,
  deps: SeriesDeps,
): Promise<number> {
  const awaited = new Map<string, number>();
  for (const { order } of orders) awaited.set(order.modelKey, (awaited.get(order.modelKey) ?? 0) + 1);
  let done = 0;
  for await (const event of sendAndFollow(orders, timeoutMs, deps)) {
    const left = awaited.get(event.modelKey) ?? 0;
    if (left === 0 || bearingOf(event, "FORGET", null) !== "done") continue;
    awaited.set(event.modelKey, left - 1);
    if (++done === orders.length) break;
  }
  return done;
}

/** The series with exactly that id, or else those that match it as a pattern. */
async function seriesMeantBy(subject: string, deps: SeriesDeps): Promise<readonly SeriesEntry[]> {
  const isPattern = /[*?]/.test(subject);
  const pattern = compileGlob(subject);
  const isMeant = (id: string) => id === subject || (isPattern && pattern.test(id));
  const { entries: found } = await readSeries(deps, isMeant);
  const named = found.filter(({ seriesId }) => seriesId === subject);
  if (named.length > 0) return named;
  if (found.length > 0) return found;
  if (isPattern) throw new UserError(`no series matches ${subject}`);
  throw await unknownSeries(subject, deps);
}
