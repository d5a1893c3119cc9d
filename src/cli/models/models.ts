// `forecastnet models`: lists and shows the models of a fleet, and orders changes to them. Works on any log.

import { randomUUID } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { type ImportableModel, readExportedModel } from "../../log/codec/model-record.ts";
import type { OrderKindSymbol } from "../../log/codec/schemas.generated.ts";
import { storedFamilies } from "../../models/families.ts";
import { phases } from "../../models/life.ts";
import { systemClock } from "../../runtime/clock.ts";
import { integer, number, oneOf, text } from "../../runtime/config/formats.ts";
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
import { bearingOf, readEvents, sendAndFollow, sendOrders } from "../orders.ts";
import { printable, suggestion, timeText } from "../terminal-text.ts";
import { eventLines, listLines, showJson, showLines } from "./model-text.ts";
import { type FleetModels, type ModelEntry, readModels } from "./read-models.ts";

const waiting = ["timeout", "no-wait"] as const;

export const modelsCommand = defineCommand({
  name: "models",
  summary: `Lists the models of a fleet, as Kafka stores them, and sends orders to the workers that own them. A KEY is a
series id or cohort:NAME.`,
  actions: {
    list: {
      doc: "list all series and cohorts, worst rolling MASE first",
      flags: ["phase", "limit", "json"],
    },
    show: {
      doc: "show one series or cohort: scores, model, predecessor and decisions",
      argument: "KEY",
      flags: ["json"],
    },
    retrain: {
      doc: "train a model now, outside the schedule; the gate decides as usual",
      argument: "KEY",
      flags: waiting,
    },
    rollback: { doc: "serve the predecessor again", argument: "KEY", flags: waiting },
    export: { doc: "write the model to a file", argument: "KEY", flags: ["out"], required: "out" },
    import: {
      doc: "serve a model from an exported file, if the gate finds it better",
      argument: "FILE",
      flags: ["key", "skip-gate", ...waiting],
    },
  },
  flags: {
    phase: option(`only those in this phase: ${phases.join(", ")}`, "PHASE", oneOf(...phases)),
    limit: option("at most N rows", "N", integer(1, 10_000_000)),
    json: toggle("print JSON"),
    out: option("file to write", "FILE", text("path of a file", /./)),
    key: option(
      "serve it for this series or cohort, not the exported one",
      "KEY",
      text("key of a model", /./),
    ),
    "skip-gate": toggle("serve the model whatever the gate finds"),
    timeout: option("wait up to S seconds for the result", "S", number(0.001, 86_400), "60"),
    "no-wait": toggle("do not wait for the result"),
  },
  takesConfig: true,
});

type ModelsLine = LineOf<typeof modelsCommand>;

/** Returns the exit code. */
export function runModelsCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  return runCommand(modelsCommand, argv, io, (line) =>
    onCluster(line.configArgv, io, ({ config: { topics }, log, signal }) =>
      runModels(line, { log, topics, io, clock: systemClock, signal }),
    ),
  );
}

const actions: FleetActions<ModelsLine, FleetDeps> = {
  list,
  show,
  export: exportModel,
  import: importModel,
  retrain: (line, deps) => order({ ...noImport, kind: "RETRAIN", modelKey: line.argument }, line, deps),
  rollback: (line, deps) => order({ ...noImport, kind: "ROLL_BACK", modelKey: line.argument }, line, deps),
};

/** Returns the exit code. */
export function runModels(line: ModelsLine, deps: FleetDeps): Promise<number> {
  return runOnFleet(actions, line, deps);
}

async function list({ values }: ModelsLine, { log, topics, io, signal }: FleetDeps): Promise<number> {
  const { entryByKey } = await readModels(log, topics, null, signal);
  const { phase, limit, json } = values;
  for (const line of listLines(entryByKey.values(), phase, limit ?? Number.POSITIVE_INFINITY, json))
    io.out(line);
  return exitCodes.ok;
}

async function show({ argument, values }: ModelsLine, deps: FleetDeps): Promise<number> {
  const { log, topics, io, signal } = deps;
  const models = await readModels(log, topics, argument, signal);
  const entry = find(models, argument);
  const events = await readEvents(log, topics.events, argument, signal);
  const shown = { entry, stored: models.stored, events };
  for (const line of values.json ? [showJson(shown)] : showLines(shown)) io.out(line);
  return exitCodes.ok;
}

function find({ entryByKey }: FleetModels, modelKey: string): ModelEntry {
  const entry = entryByKey.get(modelKey);
  if (entry !== undefined) return entry;
  const hint = suggestion(modelKey, entryByKey.keys(), "`forecastnet models list` shows all of them");
  throw new UserError(`no series or cohort ${modelKey} is known: ${hint}`);
}

async function exportModel({ argument, values }: ModelsLine, deps: FleetDeps): Promise<number> {
  const { log, topics, io, signal } = deps;
  const file = values.out ?? "";
  const models = await readModels(log, topics, argument, signal);
  const { model, problem } = find(models, argument);
  if (model === null || models.stored === null) {
    throw new UserError(`${argument} has no model to export${problem === null ? "" : `: ${problem}`}`);
  }
  const bytes = models.stored;
  // Refuses a damaged one.
  readExportedModel(bytes, { modelKey: null, where: `the model of ${argument}` }, storedFamilies);
  onFile(file, "written", () => writeFileSync(file, bytes));
  io.out(printable(`${file}: ${argument}@${model.version}, ${bytes.length.toLocaleString("en-US")} bytes`));
  return exitCodes.ok;
}

function onFile<T>(file: string, what: string, use: () => T): T {
  try {
    return use();
  } catch (error) {
    throw new UserError(`${file} cannot be ${what}: ${(error as Error).message}`);
  }
}

async function importModel(line: ModelsLine, deps: FleetDeps): Promise<number> {
  const { argument: file, values } = line;
  const bytes = onFile(file, "read", () => readFileSync(file));
  const imported = readExportedModel(bytes, { modelKey: values.key, where: file }, storedFamilies);
  const { modelKey } = imported;
  return order({ kind: "IMPORT", modelKey, imported, skipsGate: values["skip-gate"] }, line, deps);
}

interface WantedOrder {
  readonly kind: OrderKindSymbol;
  readonly modelKey: string;
  readonly imported: ImportableModel | null;
  readonly skipsGate: boolean;
}

const noImport = { imported: null, skipsGate: false } as const;

async function order(wanted: WantedOrder, { values }: ModelsLine, deps: FleetDeps): Promise<number> {
  const { kind, modelKey, imported, skipsGate } = wanted;
  const { log, topics, io, clock, signal } = deps;
  const { partition, order: earlier } = find(await readModels(log, topics, null, signal), modelKey);
  if (earlier !== null) {
    io.out(`an order of ${timeText(earlier.askedAt)} was still pending; this one replaces it`);
  }
  const id = randomUUID();
  const record = imported?.bytes ?? null;
  const orders = [{ partition, order: { id, modelKey, kind, record, skipsGate, askedAt: clock.nowMs() } }];
  const what = `${verbs[kind]} ${modelKey}${imported === null ? "" : `@${imported.version}`}`;
  const wait = values["no-wait"] ? "" : `, waiting up to ${values.timeout} s`;
  const asked = printable(`asked to ${what}: order ${id} in partition ${partition}${wait}`);
  if (values["no-wait"]) {
    await sendOrders(orders, deps);
    io.out(asked);
    return exitCodes.ok;
  }
  io.out(asked);
  let isTraining = false;
  for await (const event of sendAndFollow(orders, 1_000 * values.timeout, deps)) {
    const bearing = bearingOf(event, kind, imported?.version ?? null);
    if (bearing === null) continue;
    for (const line of eventLines(event)) io.out(line);
    if (bearing !== "progress") return bearing === "done" ? exitCodes.ok : exitCodes.notDone;
    isTraining = true;
  }
  const why = signal.aborted ? "stopped waiting" : "no answer in time";
  io.err(`${why}: ${isTraining ? stillTraining : stillPending}`);
  return exitCodes.notDone;
}

const stillTraining = "the training continues; `forecastnet models show` shows its result";
const stillPending =
  "the order stays until the worker that owns the series has carried it out; is one running, and does it receive data?";

const verbs: Readonly<Record<OrderKindSymbol, string>> = {
  RETRAIN: "retrain",
  ROLL_BACK: "roll back",
  IMPORT: "import",
  FORGET: "forget",
  OTHER: "change",
};
