// The command line of `forecastnet models`: its own flags beside those of the configuration.

import { type Phase, phases } from "../../retrain/life.ts";
import { type OwnFlags, type OwnValues, readFlags, readSeconds, readWholeNumber } from "../command-flags.ts";

export interface ListOptions {
  readonly action: "list";
  readonly phase: Phase | null;
  readonly limit: number;
  readonly isJson: boolean;
}

export interface ShowOptions {
  readonly action: "show";
  readonly modelKey: string;
  readonly isJson: boolean;
}

export interface ExportOptions {
  readonly action: "export";
  readonly modelKey: string;
  readonly file: string;
}

interface Waits {
  /** How long to wait for what comes of the order; null: not at all. */
  readonly timeoutMs: number | null;
}

export interface AskOptions extends Waits {
  readonly action: "retrain" | "rollback";
  readonly modelKey: string;
}

export interface ImportOptions extends Waits {
  readonly action: "import";
  readonly file: string;
  /** Null: the key that the file names. */
  readonly modelKey: string | null;
  readonly skipsGate: boolean;
}

export type ModelsOptions = ListOptions | ShowOptions | ExportOptions | AskOptions | ImportOptions;

export interface CommandLine {
  readonly options: ModelsOptions;
  /** What is meant for the configuration. */
  readonly configArgv: readonly string[];
}

export const modelsUsage = `usage: forecastnet models list | show KEY | retrain KEY | rollback KEY | export KEY --out FILE | import FILE

  The models of all series, read from Kafka, and orders to the workers that own them. A KEY is a series id,
  or cohort:NAME. The configuration is a worker's: --config FILE, --kafka.brokers=host:9092, and so on.

  list      all series and cohorts, worst rolling MASE first
    --phase P      only those that are ${phases.join(", ")}
    --limit N      the first N
    --json         for programs (show, too)
  show      all that is known of one, with its predecessor and what was decided about it
  retrain   train it now, whatever the schedule says; the gate decides as always
  rollback  let its predecessor serve again
  export    write its model to a file
    --out FILE
  import    let a model from such a file serve, if the gate finds it better
    --key KEY      for this series or cohort, instead of the one it was exported from
    --skip-gate    whatever the gate says

  retrain, rollback and import wait for what comes of it:
    --timeout S    for so many seconds (60)
    --no-wait      not at all`;

const own = {
  phase: { type: "string" },
  limit: { type: "string" },
  json: { type: "boolean", default: false },
  out: { type: "string" },
  key: { type: "string" },
  "skip-gate": { type: "boolean", default: false },
  timeout: { type: "string" },
  "no-wait": { type: "boolean", default: false },
  help: { type: "boolean", default: false },
} as const satisfies OwnFlags;

/** Which flags go with which action; one given elsewhere is a mistake worth telling. */
const flagsByAction: Readonly<Record<ModelsOptions["action"], readonly (keyof typeof own)[]>> = {
  list: ["phase", "limit", "json"],
  show: ["json"],
  export: ["out"],
  retrain: ["timeout", "no-wait"],
  rollback: ["timeout", "no-wait"],
  import: ["key", "skip-gate", "timeout", "no-wait"],
};

/** The options, or in words what is wrong with them; the usage itself when it was asked for. */
export function readCommandLine(argv: readonly string[]): CommandLine | string {
  try {
    const { values, positionals, configArgv } = readFlags(argv, own);
    if (values.help) return modelsUsage;
    return { options: readOptions(values, positionals), configArgv };
  } catch (error) {
    return (error as Error).message;
  }
}

function readOptions(
  values: OwnValues<typeof own>,
  [action, subject, ...more]: readonly string[],
): ModelsOptions {
  if (!isAction(action))
    throw new Error(action === undefined ? "say what to do" : `unknown action ${action}`);
  for (const name of Object.keys(own) as (keyof typeof own)[]) {
    const isGiven = values[name] !== undefined && values[name] !== false;
    if (isGiven && !flagsByAction[action].includes(name))
      throw new Error(`--${name} does not go with ${action}`);
  }
  const [stray] = action === "list" ? [subject] : more;
  if (stray !== undefined) throw new Error(`unexpected argument ${stray}`);
  if (action === "list") {
    return { action, phase: readPhase(values.phase), limit: readLimit(values.limit), isJson: values.json };
  }
  if (subject === undefined || subject === "") {
    throw new Error(`${action} needs ${action === "import" ? "a file" : "the key of a model"}`);
  }
  if (action === "show") return { action, modelKey: subject, isJson: values.json };
  if (action === "export") {
    if (!values.out) throw new Error("export needs --out FILE");
    return { action, modelKey: subject, file: values.out };
  }
  const timeoutMs = values["no-wait"] ? null : readSeconds("--timeout", values.timeout ?? "60");
  if (action !== "import") return { action, modelKey: subject, timeoutMs };
  const skipsGate = values["skip-gate"];
  return { action, file: subject, modelKey: values.key ?? null, skipsGate, timeoutMs };
}

function isAction(action: string | undefined): action is ModelsOptions["action"] {
  return action !== undefined && Object.hasOwn(flagsByAction, action);
}

function readPhase(text: string | undefined): Phase | null {
  if (text === undefined) return null;
  const phase = phases.find((name) => name === text);
  if (phase === undefined) throw new Error(`--phase is "${text}"; give one of ${phases.join(", ")}`);
  return phase;
}

function readLimit(text: string | undefined): number {
  return text === undefined ? Number.POSITIVE_INFINITY : readWholeNumber("--limit", text, 10_000_000);
}
