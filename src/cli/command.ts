// What the commands share: where they write, what they may read, and how they end.

export interface CommandIo {
  out(line: string): void;
  err(line: string): void;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export const exitCodes = {
  ok: 0,
  /** The configuration is not valid. */
  invalid: 1,
  /** The command line was not understood. */
  usage: 2,
  /** The work failed; the message says why. */
  failed: 3,
} as const;

/**
 * Ends a command whose line came to words instead of options: the usage, when somebody asked for it, or what is wrong.
 * Returns the exit code.
 */
export function tellUsage(words: string, usage: string, io: CommandIo): number {
  if (words === usage) {
    io.out(usage);
    return exitCodes.ok;
  }
  io.err(`${words}\n\n${usage}`);
  return exitCodes.usage;
}
