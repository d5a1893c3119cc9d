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
