// Builds the WebAssembly kernel of the simd engine; the last part of `npm run build`. Compiled, this file is in
// OUT/scripts/ and writes the kernel to OUT/src/engine/simd/kernel.wasm, next to the code that loads it. A kernel built
// from the same sources is taken from the cache.

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const outDir = fileURLToPath(new URL("../", import.meta.url));
const root = join(outDir, "..");
const simd = join(root, "src/engine/simd");
const compiler = join(root, "node_modules/assemblyscript");
const options = ["--enable", "simd", "--runtime", "stub", "--noAssert", "-O3", "--disableWarning", "112"];

const sources = [
  join(simd, "op-codes.ts"),
  ...readdirSync(join(simd, "kernel"))
    .filter((name) => name.endsWith(".ts"))
    .sort()
    .map((name) => join(simd, "kernel", name)),
];
const hash = createHash("sha256").update(JSON.stringify(options));
for (const file of [join(compiler, "package.json"), ...sources]) hash.update(readFileSync(file));
const cached = join(root, ".cache/kernel", `${hash.digest("hex").slice(0, 16)}.wasm`);

if (!existsSync(cached)) {
  mkdirSync(dirname(cached), { recursive: true });
  // Builds may run concurrently: each writes its own file and renames it.
  const fresh = `${cached}.${process.pid}`;
  const args = [join(compiler, "bin/asc.js"), "src/engine/simd/kernel/main.ts", ...options, "-o", fresh];
  const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: "inherit" });
  if (status === 0) renameSync(fresh, cached);
  else process.exitCode = 1;
}
if (existsSync(cached)) {
  const target = join(outDir, "src/engine/simd/kernel.wasm");
  mkdirSync(dirname(target), { recursive: true });
  copyFileSync(cached, target);
}
