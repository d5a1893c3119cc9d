// Where things are, seen from a compiled test file: the repository, and the folder of the compiled tests.

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The repository; compiled files lie three folders below it, as in dist/test/rig/. */
export const projectRoot = fileURLToPath(new URL("../../..", import.meta.url));

/** The compiled copy of `test/`. */
export const compiledTests = fileURLToPath(new URL("../", import.meta.url));

/** Every file below `folder` of the repository, as sorted paths from its root with forward slashes. */
export function filesBelow(folder: string): string[] {
  const entries = readdirSync(join(projectRoot, folder), { withFileTypes: true });
  const nested = entries.map((entry) => {
    const path = `${folder}/${entry.name}`;
    return entry.isDirectory() ? filesBelow(path) : [path];
  });
  return nested.flat().sort();
}
