// Runs the stories on three brokers again and again on one cluster, and prints what was counted.
//
//   npm run stories                          each once
//   npm run stories -- --repeat 10 killed    those whose file name contains "killed", ten times
//   npm run stories -- --scale 4             longer ones

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type Counts, countsVariable } from "./integrity/support/cluster-count.ts";
import { shareCluster } from "./rig/cluster-control.ts";
import { missingLibrdkafka } from "./rig/librdkafka.ts";
import { compiledTests, filesBelow } from "./rig/project.ts";
import { guardedFolder } from "./rig/service.ts";

const { values, positionals } = parseArgs({
  options: { repeat: { type: "string", default: "1" }, scale: { type: "string", default: "1" } },
  allowPositionals: true,
});

interface Run {
  readonly title: string;
  readonly counts: Counts | null;
  readonly hasFailed: boolean;
}

const files = filesBelow("test/integrity")
  .filter((path) => path.startsWith("test/integrity/cluster-") && path.endsWith(".test.ts"))
  .filter((path) => positionals.length === 0 || positionals.some((part) => path.includes(part)));
const missing = await missingLibrdkafka();
if (missing !== null) throw new Error(missing);
const countsFile = join(guardedFolder("stories"), "counts");
process.env[countsVariable] = countsFile;
process.env.STORY_SCALE = values.scale;
process.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ""} --enable-source-maps`;

const cluster = await shareCluster();
const runs: Run[] = [];
for (let repeat = 0; repeat < Number(values.repeat); repeat++) {
  for (const file of files) runs.push(...(await tell(file)));
}
await cluster.shutDown();
process.stdout.write(`\n${table(runs)}\n`);
process.exitCode = runs.some(({ hasFailed }) => hasFailed) ? 1 : 0;

/** The stories of one file, as their counts and their report tell. */
async function tell(file: string): Promise<Run[]> {
  rmSync(countsFile, { force: true });
  const compiled = join(compiledTests, file.replace(/^test\//, "").replace(/\.ts$/, ".js"));
  const startedMs = performance.now();
  const { code, report } = await runTest(compiled);
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(0);
  process.stdout.write(`${code === 0 ? "passed" : "FAILED"} after ${seconds} s: ${file}\n`);
  if (code !== 0) process.stdout.write(`${report}\n`);
  const counted = existsSync(countsFile) ? readFileSync(countsFile, "utf8").trim().split("\n") : [];
  const countsByTitle = new Map<string, Counts>();
  for (const line of counted) {
    const { title, ...counts } = JSON.parse(line) as Counts & { title: string };
    countsByTitle.set(title, counts);
  }
  return [...report.matchAll(/^(not ok|ok) \d+ - (.*)$/gm)].map(([, verdict, title]) => ({
    title: title as string,
    counts: countsByTitle.get(title as string) ?? null,
    hasFailed: verdict === "not ok",
  }));
}

/** Not synchronously: this process carries the cluster's proxies. */
async function runTest(compiled: string): Promise<{ readonly code: number; readonly report: string }> {
  const child = spawn(process.execPath, ["--test-reporter=tap", compiled], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let report = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      report += text;
    });
  }
  const [code] = await once(child, "close");
  return { code: code ?? 1, report };
}

function table(all: readonly Run[]): string {
  const rows = [...new Set(all.map(({ title }) => title))].map((title) => {
    const own = all.filter((run) => run.title === title);
    const sum = (of: (counts: Counts) => number) =>
      own.reduce((total, { counts }) => total + (counts === null ? 0 : of(counts)), 0);
    const passed = own.filter(({ hasFailed }) => !hasFailed).length;
    return [
      ...[title, `${passed} of ${own.length}`, sum(({ observations }) => observations)],
      ...[sum(({ owed }) => owed), sum(({ read }) => read), sum((counts) => counts.missing)],
      ...[sum(({ doubled }) => doubled), sum((counts) => counts.different + counts.unexpected)],
      sum(({ outOfOrder }) => outOfOrder),
    ];
  });
  const head = [
    ...["story", "runs passed", "observations", "forecasts owed", "read"],
    ...["missing", "doubled", "different", "out of order"],
  ];
  return [head, head.map((_, at) => (at < 1 ? "---" : "---:")), ...rows]
    .map((cells) => `| ${cells.join(" | ")} |`)
    .join("\n");
}
