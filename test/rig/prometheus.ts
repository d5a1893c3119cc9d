// A real Prometheus for tests, and promtool, which comes with it: found on the PATH, installed in CI and for root, and
// otherwise the reason for a loud skip.

import { execFile, spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { installPackages } from "./apt-packages.ts";
import { isCi } from "./ci.ts";
import { freePorts, guardedFolder, startService } from "./service.ts";

const programs = ["prometheus", "promtool"];
const checkMs = 4 * 60_000;

/** Options of a test that needs Prometheus: `test("…", needsPrometheus(), () => …)`. */
export interface NeedsPrometheus {
  readonly skip: string | false;
}

/** Skips where Prometheus is not to be had; in CI, where no test may be skipped, it throws instead. */
export function needsPrometheus(): NeedsPrometheus {
  const missing = findMissing();
  if (missing !== null && isCi) throw new Error(missing);
  return { skip: missing ?? false };
}

/** Null when both programs are there, after installing them where that may be done; otherwise what to install. */
export async function missingPrometheus(): Promise<string | null> {
  if (findMissing() !== null) installPackages(["prometheus"]);
  return findMissing();
}

function findMissing(): string | null {
  const missing = programs.filter((program) => spawnSync(program, ["--version"]).status !== 0);
  if (missing.length === 0) return null;
  return `${missing.join(" and ")} not found: for example apt-get install prometheus`;
}

export interface ToolEnd {
  readonly code: number;
  readonly output: string;
}

/** Runs promtool to its end, with `input` on its standard input. */
export function promtool(args: readonly string[], input = ""): Promise<ToolEnd> {
  return new Promise((resolve, reject) => {
    const child = execFile("promtool", args, { timeout: checkMs }, (error, out, err) => {
      const code = error === null ? 0 : error.code;
      if (typeof code === "number") resolve({ code, output: `${out}${err}` });
      else reject(error); // It could not be run, or had to be ended.
    });
    child.stdin?.end(input);
  });
}

/** `promtool check rules` on a text. */
export async function checkRules(text: string): Promise<ToolEnd> {
  const folder = await mkdtemp(join(tmpdir(), "forecastnet-rules-"));
  try {
    const path = join(folder, "rules.yaml");
    await writeFile(path, text);
    return await promtool(["check", "rules", path]);
  } finally {
    await rm(folder, { recursive: true });
  }
}

export interface PrometheusOptions {
  /** Text of a rule file. */
  readonly rules: string;
  readonly job: string;
  /** host:port of each. */
  readonly targets: readonly string[];
  /** Between two scrapes, and between two evaluations. */
  readonly everyMs: number;
  /** How long a sample counts as the present value. */
  readonly lookbackMs: number;
}

export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Prometheus {
  /** What the expression gives now. */
  query(expr: string): Promise<Sample[]>;
  stop(): Promise<void>;
}

export async function startPrometheus(options: PrometheusOptions): Promise<Prometheus> {
  const [port] = await freePorts(1);
  const folder = guardedFolder("prometheus");
  await writeFile(join(folder, "rules.json"), options.rules);
  await writeFile(join(folder, "prometheus.json"), JSON.stringify(configOf(options)));
  const service = await startService({
    ...{ name: "prometheus", folder, command: "prometheus" },
    args: [
      "--config.file=prometheus.json",
      "--storage.tsdb.path=data",
      `--web.listen-address=127.0.0.1:${port}`,
      `--query.lookback-delta=${options.lookbackMs}ms`,
    ],
    readyText: "Server is ready to receive web requests",
  });
  return {
    query: (expr) => query(`http://127.0.0.1:${port}/api/v1/query`, expr),
    async stop() {
      await service.end("SIGTERM");
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** JSON is YAML, too. */
function configOf({ job, targets, everyMs }: PrometheusOptions): object {
  const every = `${everyMs}ms`;
  return {
    global: { scrape_interval: every, scrape_timeout: every, evaluation_interval: every },
    rule_files: ["rules.json"],
    scrape_configs: [{ job_name: job, static_configs: [{ targets }] }],
  };
}

async function query(address: string, expr: string): Promise<Sample[]> {
  const answer = await fetch(address, { method: "POST", body: new URLSearchParams({ query: expr }) });
  const { status, data, error } = (await answer.json()) as QueryAnswer;
  if (status !== "success") throw new Error(`${expr}: ${error}`);
  return data.result.map(({ metric, value }) => ({ labels: metric, value: Number(value[1]) }));
}

interface QueryAnswer {
  readonly status: string;
  readonly error?: string;
  readonly data: {
    readonly result: readonly {
      readonly metric: Readonly<Record<string, string>>;
      readonly value: readonly [number, string];
    }[];
  };
}
