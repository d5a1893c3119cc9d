// `npm run generate`: writes every generated file and prints those that changed.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { generatedFiles } from "./generated-files.ts";

// Compiled, this file is in dist/scripts/.
const root = fileURLToPath(new URL("../..", import.meta.url));
const files = generatedFiles(root);
const changed = [...files].filter(([path, content]) => {
  const file = join(root, path);
  if (existsSync(file) && readFileSync(file, "utf8") === content) return false;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  return true;
});
for (const [path] of changed) console.log(`wrote ${path}`);
console.log(`${files.size} generated files, ${changed.length} changed`);
