// `forecastnet version`: the version that package.json states.

import { readFileSync } from "node:fs";
import { type CommandIo, exitCodes } from "./command.ts";

export function printVersion(_: readonly string[], io: CommandIo): number {
  io.out(productVersion());
  return exitCodes.ok;
}

/** package.json is above both src/ and dist/src/. */
export function productVersion(): string {
  for (let folder = new URL(".", import.meta.url); ; folder = new URL("..", folder)) {
    const text = readPackage(new URL("package.json", folder));
    if (text !== null) return (JSON.parse(text) as { version: string }).version;
    if (folder.pathname === "/") throw new Error("package.json is missing from the installation");
  }
}

function readPackage(url: URL): string | null {
  try {
    return readFileSync(url, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}
