// What the models commands do, on any log. One clear line for whatever goes wrong.

import { randomUUID } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import type { ModelEventRecord, OrderKindSymbol } from "../../log/codec/schemas.generated.ts";
import type { Log } from "../../log/log.ts";
import { type BroughtModel, bringModel } from "../../retrain/brought-model.ts";
import type { Clock } from "../../runtime/clock.ts";
import { ForecastnetError } from "../../runtime/errors.ts";
import { type CommandIo, exitCodes } from "../command.ts";
import { notDone } from "../on-cluster.ts";
import { readEvents } from "./events.ts";
import { type Entry, type Inventory, readInventory } from "./inventory.ts";
import { listLines } from "./list.ts";
import { nearNames } from "./near-names.ts";
import type { AskOptions, ExportOptions, ImportOptions, ModelsOptions, ShowOptions } from "./options.ts";
import { appendOrder, type Outcome, placeOrder } from "./place-order.ts";
import { showJson, showLines } from "./show.ts";
import { eventLines, printable, timeText } from "./wording.ts";

export interface ModelsDeps {
  readonly log: Log;
  readonly topics: { readonly models: string; readonly state: string; readonly events: string };
  readonly io: Pick<CommandIo, "out" | "err">;
  readonly clock: Clock;
  /** Fires when nobody wants to wait any longer. */
  readonly signal: AbortSignal;
}

/** Returns the exit code. */
export async function runModels(options: ModelsOptions, deps: ModelsDeps): Promise<number> {
  try {
    await checkTopics(deps);
    return await act(options, deps);
  } catch (error) {
    if (error instanceof Complaint || error instanceof ForecastnetError) {
      deps.io.err(printable(error.message));
      return notDone;
    }
    if (!deps.signal.aborted) throw error;
    deps.io.err("stopped before it was done");
    return notDone;
  }
}

/** What the person at the keyboard can mend. */
class Complaint extends Error {}

async function checkTopics({ log, topics }: ModelsDeps): Promise<void> {
  const wanted = [topics.models, topics.state, topics.events];
  const found = new Set((await log.describeTopics(wanted)).map(({ topic }) => topic));
  const missing = wanted.filter((topic) => !found.has(topic));
  if (missing.length === 0) return;
  const advice = "no worker has run with this configuration yet, or its topics have other names";
  throw new Complaint(`topic ${missing.join(", ")} does not exist: ${advice}`);
}

async function act(options: ModelsOptions, deps: ModelsDeps): Promise<number> {
  const { log, topics, io, signal } = deps;
  switch (options.action) {
    case "list": {
      const { entryByKey } = await readInventory(log, topics, null, signal);
      for (const line of listLines(entryByKey.values(), options)) io.out(line);
      return exitCodes.ok;
    }
    case "show":
      return show(options, deps);
    case "export":
      return exportModel(options, deps);
    case "import":
      return importModel(options, deps);
    default:
      return ask(options, deps);
  }
}

async function show(
  { modelKey, isJson }: ShowOptions,
  { log, topics, io, signal }: ModelsDeps,
): Promise<number> {
  const inventory = await readInventory(log, topics, modelKey, signal);
  const entry = find(inventory, modelKey);
  const events = await readEvents(log, topics.events, modelKey, signal);
  const shown = { entry, stored: inventory.stored, events };
  for (const line of isJson ? [showJson(shown)] : showLines(shown)) io.out(line);
  return exitCodes.ok;
}

function find({ entryByKey }: Inventory, modelKey: string): Entry {
  const entry = entryByKey.get(modelKey);
  if (entry !== undefined) return entry;
  const near = nearNames(modelKey, entryByKey.keys());
  const hint =
    near.length > 0 ? `did you mean ${near.join(" or ")}?` : "`forecastnet models list` shows them all";
  throw new Complaint(`no series or cohort ${modelKey} is known: ${hint}`);
}

async function exportModel({ modelKey, file }: ExportOptions, deps: ModelsDeps): Promise<number> {
  const { log, topics, io, signal } = deps;
  const inventory = await readInventory(log, topics, modelKey, signal);
  const { model, problem } = find(inventory, modelKey);
  if (model === null || inventory.stored === null) {
    throw new Complaint(`${modelKey} has no model to export${problem === null ? "" : `: ${problem}`}`);
  }
  const bytes = inventory.stored;
  bringModel(bytes, null, `the model of ${modelKey}`); // A damaged one is worth nothing in a file either.
  onFile(file, "written", () => writeFileSync(file, bytes));
  io.out(printable(`${file}: ${modelKey}@${model.version}, ${bytes.length.toLocaleString("en-US")} bytes`));
  return exitCodes.ok;
}

function onFile<T>(file: string, what: string, use: () => T): T {
  try {
    return use();
  } catch (error) {
    throw new Complaint(`${file} cannot be ${what}: ${(error as Error).message}`);
  }
}

async function importModel(options: ImportOptions, deps: ModelsDeps): Promise<number> {
  const { file, modelKey, skipsGate, timeoutMs } = options;
  const bytes = onFile(file, "read", () => readFileSync(file));
  const brought = bringModel(bytes, modelKey, file);
  return order({ kind: "IMPORT", modelKey: brought.modelKey, brought, skipsGate, timeoutMs }, deps);
}

function ask({ action, modelKey, timeoutMs }: AskOptions, deps: ModelsDeps): Promise<number> {
  const kind = action === "retrain" ? "RETRAIN" : "ROLL_BACK";
  return order({ kind, modelKey, brought: null, skipsGate: false, timeoutMs }, deps);
}

interface Wanted {
  readonly kind: OrderKindSymbol;
  readonly modelKey: string;
  readonly brought: BroughtModel | null;
  readonly skipsGate: boolean;
  readonly timeoutMs: number | null;
}

async function order(wanted: Wanted, deps: ModelsDeps): Promise<number> {
  const { kind, modelKey, brought, skipsGate, timeoutMs } = wanted;
  const { log, topics, io, clock, signal } = deps;
  const { partition, order: earlier } = find(await readInventory(log, topics, null, signal), modelKey);
  if (earlier !== null) {
    io.out(`an order of ${timeText(earlier.askedAt)} was still waiting; this one takes its place`);
  }
  const id = randomUUID();
  const record = brought?.bytes ?? null;
  const placed = { id, modelKey, kind, record, skipsGate, askedAt: clock.nowMs() };
  const place = { log, topics, partition, signal };
  const what = `${verbs[kind]} ${modelKey}${brought === null ? "" : `@${brought.version}`}`;
  if (timeoutMs === null) {
    await appendOrder(placed, place);
    io.out(printable(`asked to ${what}: order ${id} in partition ${partition}`));
    return exitCodes.ok;
  }
  let isUnderWay = false;
  const onEvent = (event: ModelEventRecord) => {
    isUnderWay = event.kind === "REQUESTED";
    for (const line of eventLines(event)) io.out(line);
  };
  io.out(
    printable(`asked to ${what}: order ${id} in partition ${partition}, waiting up to ${timeoutMs / 1000} s`),
  );
  const outcome = await placeOrder(placed, place, { version: brought?.version ?? null, timeoutMs, onEvent });
  return conclude(outcome, isUnderWay, deps);
}

const verbs: Readonly<Record<OrderKindSymbol, string>> = {
  ...{ RETRAIN: "retrain", ROLL_BACK: "roll back", IMPORT: "import", OTHER: "do something with" },
};

function conclude(outcome: Outcome, isUnderWay: boolean, { io, signal }: ModelsDeps): number {
  if (outcome === "done") return exitCodes.ok;
  if (outcome === "silent") {
    const why = signal.aborted ? "stopped waiting" : "no answer in time";
    io.err(
      isUnderWay
        ? `${why}: the training goes on; \`forecastnet models show\` tells what comes of it`
        : `${why}: the order stays until the worker that owns the series has carried it out; is one running, with data coming in?`,
    );
  }
  return notDone;
}
