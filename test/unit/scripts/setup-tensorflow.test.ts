// The setup as a process on machines that lack something: fake python3 and g++ on its search path, no network, and its own
// cache. Checks messages, exit codes, and that no partial files remain.

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { platformProblem, thisPlatform } from "../../../scripts/tensorflow/machine.ts";

const script = fileURLToPath(new URL("../../../scripts/setup-tensorflow.js", import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), "forecastnet-setup-"));
after(() => rmSync(scratch, { recursive: true }));

interface Machine {
  /** Shell scripts by name; nothing else is on the search path. */
  readonly tools?: Readonly<Record<string, string>>;
}

interface Run {
  readonly child: ChildProcess;
  readonly cache: string;
  /** Resolves when standard error contains the text; never if the process ends before. */
  readonly said: (words: string) => Promise<void>;
  readonly ended: Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }>;
}

function start(argv: readonly string[], { tools = {} }: Machine = {}): Run {
  const root = mkdtempSync(join(scratch, "run-"));
  const bin = join(root, "bin");
  const cache = join(root, "cache");
  mkdirSync(bin);
  for (const [name, program] of Object.entries(tools)) {
    writeFileSync(join(bin, name), `#!/bin/sh\n${program}\n`, { mode: 0o755 });
  }
  const child = spawn(process.execPath, [script, ...argv, "--cache", cache], {
    env: { PATH: bin, ROOT: root },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    stderr += chunk;
  });
  const said = async (words: string): Promise<void> => {
    while (!stderr.includes(words)) await once(child.stderr, "data");
  };
  // "close" comes after the last holder of standard error is gone, the tools included.
  const ended = Promise.all([once(child, "close"), text(child.stdout)]).then(([[code], stdout]) => ({
    code: code as number | null,
    stdout,
    stderr,
  }));
  return { child, cache, said, ended };
}

function filesIn(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: "utf8" }) : [];
}

test("a wrong command line prints the usage and returns 2", async () => {
  for (const argv of [[], ["tpu"], ["cpu", "gpu"], ["cpu", "--chekc"]]) {
    const { code, stdout, stderr } = await start(argv).ended;
    assert.deepEqual([code, stdout], [2, ""], argv.join(" "));
    assert.match(stderr, /usage: npm run setup:tensorflow -- cpu\|gpu/);
  }
});

describe("the setup on a machine that lacks something", {
  skip: platformProblem(thisPlatform()) ?? false,
}, () => {
  const python = (download: string): string => `case "$3" in download) ${download};; esac`;

  test("names every missing tool at once, with what to install", async () => {
    const { cache, ended } = start(["cpu"]);
    const { code, stderr } = await ended;
    assert.equal(code, 1);
    assert.match(stderr, /python3 was not found.*apt-get install python3 python3-pip/);
    assert.match(stderr, /g\+\+ was not found.*apt-get install g\+\+/);
    assert.doesNotMatch(stderr, /\n\s+at /, "the message has no stack trace");
    assert.deepEqual(filesIn(cache), ["tensorflow"]);
  });

  test("distinguishes a python3 without pip from a missing python3", async () => {
    const noPip = `case "$*" in *pip*) exit 1;; esac`;
    const { stderr } = await start(["cpu"], { tools: { python3: noPip, "g++": "" } }).ended;
    assert.match(stderr, /python3 has no pip.*apt-get install python3-pip/);
    assert.doesNotMatch(stderr, /g\+\+/);
  });

  test("shows pip's message for a failed download, says what to check, and leaves no files", async () => {
    const tools = { python3: python("echo no route to index >&2; exit 1"), "g++": "" };
    const { cache, ended } = start(["cpu"], { tools });
    const { code, stderr } = await ended;
    assert.equal(code, 1);
    assert.match(stderr, /^no route to index$/m);
    assert.match(stderr, /could not download tensorflow-cpu 2\.15\.1.*Check the network/s);
    assert.deepEqual(filesIn(cache), ["tensorflow"]);
  });

  test("refuses a wheel without the library before compiling", async () => {
    const tools = {
      python3: python(`for last in "$@"; do :; done; : > "\${last%/*}/x.whl"`),
      "g++": `[ "$1" = --version ] || : > "$ROOT/compiled"`,
    };
    const { cache, ended } = start(["cpu"], { tools });
    const { code, stderr } = await ended;
    assert.equal(code, 1);
    assert.match(stderr, /no libtensorflow_cc\.so\.2/);
    assert.equal(existsSync(join(cache, "..", "compiled")), false);
    assert.deepEqual(filesIn(cache), ["tensorflow"]);
  });

  test("ends a running download when it is stopped, and leaves no files", {
    timeout: 60_000,
  }, async () => {
    const tools = { python3: python("echo downloading >&2; exec /bin/sleep 120"), "g++": "" };
    const { child, cache, said, ended } = start(["gpu"], { tools });
    await said("downloading");
    child.kill("SIGTERM");
    const { code, stderr } = await ended;
    assert.equal(code, 1);
    assert.match(stderr, /stopped by SIGTERM/);
    assert.deepEqual(filesIn(cache), ["tensorflow"]);
  });
});
