// Every generated file of the repository and what it should contain. Pure: `generate.ts` writes them, a test
// compares them.

import { generateConfigDocs } from "./generate-config-docs.ts";
import { generateSchemas } from "./generate-schemas.ts";

/** Contents by path from the repository's root. */
export function generatedFiles(root: string): Map<string, string> {
  return new Map([...generateSchemas(root), ...generateConfigDocs()]);
}
