// The recipe of the native part: pinned downloads, extracted files, and the command lines of the tools.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { demandDisk, missingTools, platformProblem } from "../../../../scripts/tensorflow/machine.ts";
import { parseOptions } from "../../../../scripts/tensorflow/options.ts";
import {
  cacheName,
  compileArgs,
  pipArgs,
  recipes,
  requirementOf,
  unpackProgram,
} from "../../../../scripts/tensorflow/recipe.ts";
import { missingLibraries } from "../../../../scripts/tensorflow/verify-native.ts";

test("every wheel is pinned to its own version and checksum", () => {
  const wheels = Object.values(recipes).flatMap((recipe) => recipe.wheels);
  for (const wheel of wheels) {
    assert.match(requirementOf(wheel), /^[a-z0-9-]+==\d+(\.\d+)+ --hash=sha256:[0-9a-f]{64}\n$/);
  }
  assert.equal(new Set(wheels.map(({ sha256 }) => sha256)).size, wheels.length);
  assert.ok(pipArgs("r.txt", "to", false).includes("--require-hashes"));
});

test("each variant and version has its own folder in the cache", () => {
  const names = [cacheName("cpu", "4.22.0"), cacheName("gpu", "4.22.0"), cacheName("cpu", "4.23.0")];
  assert.equal(new Set(names).size, 3);
  for (const name of names)
    assert.match(name, /^tensorflow\/[cg]pu-2\.15\.1-tfjs-4\.2[23]\.0-r\d+-linux-x64$/);
});

test("pip shows its progress only on a terminal", () => {
  assert.ok(pipArgs("r.txt", "to", false).includes("--quiet"));
  assert.ok(!pipArgs("r.txt", "to", true).includes("--quiet"));
});

test("the compiler gets the libraries after the sources, and a search path relative to the binding", () => {
  const args = compileArgs({
    packageFolder: "/package",
    nodeHeaders: "/node",
    tensorflowHeaders: "/tensorflow",
    libraries: "/libraries",
    quietFile: "/quiet.cc",
    output: "/out.node",
  });
  const lastSource = Math.max(...args.map((arg, index) => (arg.endsWith(".cc") ? index : -1)));
  const firstLibrary = args.findIndex((arg) => arg.startsWith("-l:"));
  assert.ok(lastSource > 0 && lastSource < firstLibrary);
  assert.ok(args.includes("-Wl,-rpath,$ORIGIN/../../deps/lib"));
});

const hasPython = !missingTools().some((problem) => problem.startsWith("python3 was not found"));

test("the needed libraries and headers of a wheel are extracted to their places", {
  skip: hasPython ? false : "needs python3",
}, () => {
  const folder = mkdtempSync(join(tmpdir(), "forecastnet-wheel-"));
  try {
    const wheel = join(folder, "some.whl");
    const names = [
      "tensorflow/libtensorflow_cc.so.2",
      "tensorflow/libtensorflow_framework.so.2",
      "tensorflow/python/_pywrap_tfe.so",
      "tensorflow/include/tensorflow/c/c_api.h",
      "tensorflow/include/tensorflow/core/platform/ctstring.h",
      "tensorflow/include/tsl/c/tsl_status.h",
      "tensorflow/include/Eigen/Core",
      "nvidia/cublas/lib/libcublas.so.12",
      "nvidia/cublas/include/cublas.h",
      "nvidia/__init__.py",
    ];
    const zip =
      "import sys, zipfile\nwith zipfile.ZipFile(sys.argv[1], 'w') as z:\n  for n in sys.argv[2:]: z.writestr(n, n)";
    execFileSync("python3", ["-c", zip, wheel, ...names]);
    execFileSync("python3", ["-c", unpackProgram, wheel, join(folder, "out")]);
    const found = readdirSync(join(folder, "out"), { recursive: true, encoding: "utf8" });
    assert.deepEqual(found.filter((name) => statSync(join(folder, "out", name)).isFile()).sort(), [
      "deps/lib/libtensorflow_cc.so.2",
      "deps/lib/libtensorflow_framework.so.2",
      "deps/nvidia/cublas/lib/libcublas.so.12",
      "include/tensorflow/c/c_api.h",
      "include/tensorflow/core/platform/ctstring.h",
      "include/tsl/c/tsl_status.h",
    ]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("an unsupported platform is named, with what runs there instead", () => {
  assert.equal(platformProblem({ os: "linux", arch: "x64", glibc: "2.36" }), null);
  assert.match(platformProblem({ os: "darwin", arch: "arm64", glibc: null }) ?? "", /darwin on arm64.*simd/);
  assert.match(platformProblem({ os: "linux", arch: "arm64", glibc: "2.36" }) ?? "", /linux on arm64/);
  assert.match(platformProblem({ os: "linux", arch: "x64", glibc: null }) ?? "", /GNU C library.*Debian/);
});

test("a disk without enough space is refused", () => {
  demandDisk(tmpdir(), 1);
  assert.throws(() => demandDisk(tmpdir(), 1e12), /MB free, but the setup needs 1000000000000.*--cache/);
});

test("the cache is in the user's cache folder unless --cache names another", () => {
  const env = { XDG_CACHE_HOME: "/somewhere" };
  assert.deepEqual(parseOptions(["gpu"], env), { variant: "gpu", cacheBase: "/somewhere/forecastnet" });
  assert.deepEqual(parseOptions(["cpu", "--cache", "/mine"], env), { variant: "cpu", cacheBase: "/mine" });
  assert.deepEqual(parseOptions(["--check"], env), { variant: null, cacheBase: "/somewhere/forecastnet" });
  assert.match(String(parseOptions(["cpu", "--check"], env)), /--check takes no variant/);
});

test("each library that ldd does not find is named once", () => {
  const output = [
    "/a/libcudnn.so.8:",
    "\tlibz.so.1 => not found",
    "\tlibc.so.6 => /lib/libc.so.6 (0x00007f)",
    "/a/libcusolver.so.11:",
    "\tlibz.so.1 => not found",
    "\tlibnvJitLink.so.12 => not found",
  ].join("\n");
  assert.deepEqual(missingLibraries(output), ["libnvJitLink.so.12", "libz.so.1"]);
  assert.deepEqual(missingLibraries("\tlibc.so.6 => /lib/libc.so.6 (0x00007f)\n"), []);
});
