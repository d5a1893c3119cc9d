// What every command shares: where it writes, its exit codes, and how its command line is read. A command declares its
// actions and flags as data; parsing, checks and the help text all follow from that declaration.

import { parseArgs } from "node:util";
import type { Format } from "../runtime/config/formats.ts";
import { settings } from "../runtime/config/settings.ts";

export interface CommandIo {
  out(line: string): void;
  err(line: string): void;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export const exitCodes = {
  ok: 0,
  /** The configuration is not valid. */
  invalid: 1,
  /** The request was refused, failed, or got no answer in time. */
  notDone: 1,
  /** The command line is wrong. */
  usage: 2,
  /** The process failed; the message says why. */
  failed: 3,
} as const;

/** One flag: its meaning, the name of its value in the help (null for a switch) and the format of that value. */
interface Flag<T> {
  readonly doc: string;
  readonly valueName: string | null;
  readonly format: Format<unknown> | null;
  /** As text, as the help shows it; undefined when the flag has no default. */
  readonly fallback: string | undefined;
  /** Never set: it carries T to the compiler. */
  readonly type?: T;
}

/** A flag that takes no value. */
export function toggle(doc: string): Flag<boolean> {
  return { doc, valueName: null, format: null, fallback: undefined };
}

/** A flag with a value; null when the flag is absent and has no default. */
export function option<T>(doc: string, valueName: string, format: Format<T>): Flag<T | null>;
export function option<T>(doc: string, valueName: string, format: Format<T>, fallback: string): Flag<T>;
export function option<T>(doc: string, valueName: string, format: Format<T>, fallback?: string): Flag<T> {
  return { doc, valueName, format, fallback };
}

type Flags = Readonly<Record<string, Flag<unknown>>>;

interface Action<F extends Flags> {
  readonly doc: string;
  /** Name of the one argument that the action needs, such as KEY; absent when it takes none. */
  readonly argument?: string;
  /** The flags that go with the action. */
  readonly flags: readonly (keyof F & string)[];
  /** The flag that must be given. */
  readonly required?: keyof F & string;
}

interface Command<F extends Flags, A extends string> {
  readonly name: string;
  readonly summary: string;
  readonly flags: F;
  /** Empty for a command that does one thing. */
  readonly actions: Readonly<Record<A, Action<F>>>;
  /** What stands after a command that does one thing; absent when nothing may. */
  readonly operands?: { readonly name: string; readonly doc: string };
  /** Command lines with what each does. */
  readonly examples?: readonly (readonly [line: string, doc: string])[];
  /** Whether the command also takes the flags of the configuration. */
  readonly takesConfig: boolean;
}

interface CommandLine<F extends Flags, A extends string> {
  readonly action: A;
  /** The action's argument; empty when it takes none. */
  readonly argument: string;
  /** Empty for a command with actions. */
  readonly operands: readonly string[];
  readonly values: { readonly [N in keyof F]: F[N] extends Flag<infer T> ? T : never };
  /** The flags of the configuration, to be passed to the loader. */
  readonly configArgv: readonly string[];
}

/** The command line of a command. */
export type LineOf<C> = C extends Command<infer F, infer A> ? CommandLine<F, A> : never;

/** A mistake on the command line. */
export class UsageError extends Error {}

/** Lets the compiler infer flags and actions. */
export function defineCommand<F extends Flags, A extends string = never>(
  command: Command<F, A>,
): Command<F, A> {
  return command;
}

/** Reads the command line and runs `act` on it. Prints the help if asked for, or what is wrong. Returns the exit code. */
export async function runCommand<F extends Flags, A extends string>(
  command: Command<F, A>,
  argv: readonly string[],
  io: CommandIo,
  act: (line: CommandLine<F, A>) => Promise<number>,
): Promise<number> {
  if (asksForHelp(argv)) {
    io.out(helpText(command));
    return exitCodes.ok;
  }
  let line: CommandLine<F, A>;
  try {
    line = readCommandLine(command, argv);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    io.err(`${error.message}\n\n${helpText(command)}`);
    return exitCodes.usage;
  }
  return act(line);
}

/** After `--` everything is an argument. */
export function asksForHelp(argv: readonly string[]): boolean {
  const end = argv.indexOf("--");
  return (end < 0 ? argv : argv.slice(0, end)).includes("--help");
}

/** Throws a UsageError. */
export function readCommandLine<F extends Flags, A extends string>(
  command: Command<F, A>,
  argv: readonly string[],
): CommandLine<F, A> {
  const configKeys = command.takesConfig ? ["config", ...settings.keys()] : [];
  const { given, positionals } = parse(command.flags, configKeys, argv);
  const { action, argument, operands } = readAction(command, given, positionals);
  const values = Object.entries(command.flags).map(([name, flag]) => [name, readValue(name, flag, given)]);
  const configArgv = configKeys.filter((name) => name in given).map((name) => `--${name}=${given[name]}`);
  return { action, argument, operands, values: Object.fromEntries(values), configArgv };
}

type GivenFlags = Readonly<Record<string, unknown>>;

function parse(flags: Flags, configKeys: readonly string[], argv: readonly string[]) {
  const options = Object.fromEntries([
    ...configKeys.map((name) => [name, { type: "string" as const }]),
    ...Object.entries(flags).map(([name, { valueName }]) => [
      name,
      { type: valueName === null ? ("boolean" as const) : ("string" as const) },
    ]),
  ]);
  try {
    const { values, positionals } = parseArgs({ args: [...argv], options, allowPositionals: true });
    return { given: values as GivenFlags, positionals };
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function readAction<F extends Flags, A extends string>(
  { name, actions, operands }: Command<F, A>,
  given: GivenFlags,
  positionals: readonly string[],
): Pick<CommandLine<F, A>, "action" | "argument" | "operands"> {
  const names = Object.keys(actions) as A[];
  if (operands !== undefined) {
    if (positionals.length === 0) throw new UsageError(`${name} needs ${operands.name}`);
    return { action: "" as A, argument: "", operands: positionals };
  }
  const [action, argument = "", ...more] = names.length === 0 ? ["" as A, "", ...positionals] : positionals;
  const spec = names.includes(action as A) ? actions[action as A] : undefined;
  if (spec === undefined && names.length > 0) {
    const problem = action === undefined ? `${name} needs an action` : `unknown action ${action}`;
    throw new UsageError(`${problem}; the actions are ${names.join(", ")}`);
  }
  const [stray] = spec?.argument === undefined ? [argument, ...more].filter((word) => word !== "") : more;
  if (stray !== undefined) throw new UsageError(`unexpected argument ${stray}`);
  if (spec !== undefined) checkFlags(action as A, spec, argument, given);
  return { action: action as A, argument, operands: [] };
}

function checkFlags<F extends Flags>(
  action: string,
  spec: Action<F>,
  argument: string,
  given: GivenFlags,
): void {
  if (spec.argument !== undefined && argument === "")
    throw new UsageError(`${action} needs ${spec.argument}`);
  const allowed: readonly string[] = spec.flags;
  const stray = Object.keys(given).find(
    (name) => name !== "config" && !settings.has(name) && !allowed.includes(name),
  );
  if (stray !== undefined) throw new UsageError(`--${stray} cannot be used with ${action}`);
  if (spec.required !== undefined && !given[spec.required])
    throw new UsageError(`${action} needs --${spec.required}`);
}

function readValue(name: string, { format, fallback }: Flag<unknown>, given: GivenFlags): unknown {
  if (format === null) return given[name] === true;
  const text = given[name] ?? fallback;
  if (text === undefined) return null;
  const value = format.read(text);
  const [flaw] = format.flaws(value);
  if (flaw !== undefined) throw new UsageError(`--${name}: ${flaw.what}, ${flaw.advice}`);
  return value;
}

/** The help text of a command, from its declaration. */
export function helpText<F extends Flags, A extends string>(command: Command<F, A>): string {
  const { name, summary, flags, takesConfig, operands, examples = [] } = command;
  const actions = Object.entries<Action<F>>(command.actions);
  const operandRows = operands === undefined ? [] : [[operands.name, operands.doc] as const];
  const actionRows = actions.map(([action, { argument, doc }]) => [join(action, argument), doc] as const);
  const flagRows = Object.entries(flags).map(([flag, { valueName, doc, fallback }]) => {
    const users = actions.filter(([, spec]) => spec.flags.includes(flag)).map(([action]) => action);
    const prefix = users.length === 0 ? "" : `${users.join(", ")}: `;
    const suffix = fallback === undefined ? "" : ` (default ${fallback})`;
    return [join(`--${flag}`, valueName), `${prefix}${doc}${suffix}`] as const;
  });
  const width = Math.max(...[...operandRows, ...actionRows, ...flagRows].map(([sign]) => sign.length));
  const lines = (rows: readonly (readonly [string, string])[]) =>
    rows.map(([sign, doc]) => `  ${sign.padEnd(width)}  ${doc}`);
  return [
    `usage: forecastnet ${name}${actions.length > 0 ? " ACTION" : ""}${operands === undefined ? "" : ` ${operands.name}`} [options]`,
    `\n${summary}`,
    ...(examples.length > 0 ? ["\nexamples:", ...examples.flatMap(exampleLines)] : []),
    ...(operandRows.length > 0 ? ["", ...lines(operandRows)] : []),
    ...(actions.length > 0 ? ["\nactions:", ...lines(actionRows)] : []),
    ...(flagRows.length > 0 ? ["\noptions:", ...lines(flagRows)] : []),
    ...(takesConfig ? [`\n${configHelp}`] : []),
  ].join("\n");
}

export const configHelp = `Every key of the configuration is also a flag, such as --kafka.brokers=host:9092; --config FILE names a file
with such keys. See docs/configuration.md.`;

function exampleLines([line, doc]: readonly [string, string]): readonly string[] {
  return [`  # ${doc}`, `  ${line}`];
}

function join(sign: string, value: string | null | undefined): string {
  return value == null ? sign : `${sign} ${value}`;
}
