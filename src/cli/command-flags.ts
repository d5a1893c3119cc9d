// The flags of a command that also takes those of the configuration: which are its own, and which go on.

import { type ParseArgsConfig, parseArgs } from "node:util";
import { settings } from "../runtime/config/settings.ts";

export type OwnFlags = NonNullable<ParseArgsConfig["options"]>;

/** What was given for each of a command's own flags. */
export type OwnValues<O extends OwnFlags> = Readonly<{
  [Name in keyof O]: O[Name]["type"] extends "boolean" ? boolean : string | undefined;
}>;

export interface CommandFlags<O extends OwnFlags> {
  readonly values: OwnValues<O>;
  readonly positionals: readonly string[];
  /** What is meant for the configuration. */
  readonly configArgv: readonly string[];
}

/** Throws, in words, when a flag is unknown or lacks its value. */
export function readFlags<const O extends OwnFlags>(argv: readonly string[], own: O): CommandFlags<O> {
  const configKeys = ["config", ...settings.keys()];
  const ofConfig = Object.fromEntries(configKeys.map((name) => [name, { type: "string" as const }]));
  const options: OwnFlags = { ...ofConfig, ...own };
  const { values, positionals } = parseArgs({ args: [...argv], options, allowPositionals: true });
  const configArgv = configKeys.flatMap((name) =>
    values[name] === undefined ? [] : [`--${name}=${values[name]}`],
  );
  return { values: values as OwnValues<O>, positionals, configArgv };
}

export function readWholeNumber(flag: string, text: string, most: number): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= 1 && value <= most) return value;
  throw new Error(`${flag} is "${text}"; give a whole number from 1 to ${most}`);
}

/** In milliseconds. */
export function readSeconds(flag: string, text: string): number {
  const value = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && value > 0 && value <= 86_400) return 1_000 * value;
  throw new Error(`${flag} is "${text}"; give seconds, above 0 and at most 86400`);
}
