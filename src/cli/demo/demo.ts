// `forecastnet demo`: placeholder until the view lands.

import { type CommandIo, exitCodes } from "../command.ts";

export async function runDemoCommand(_argv: readonly string[], io: CommandIo): Promise<number> {
  io.err("not yet");
  return exitCodes.failed;
}
