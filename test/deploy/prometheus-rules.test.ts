// The rules are valid, tests show each alert firing and staying quiet, and each has a section in the runbook.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, test } from "node:test";
import { parse } from "yaml";
import { filesBelow, projectRoot } from "../rig/project.ts";
import { needsPrometheus, promtool } from "../rig/prometheus.ts";
import { quickened, readRules } from "../rig/rule-file.ts";

interface TestFile {
  readonly group_eval_order: readonly string[];
  readonly tests: readonly {
    readonly name: string;
    readonly alert_rule_test?: readonly { readonly alertname: string; readonly exp_alerts?: unknown[] }[];
    readonly promql_expr_test?: readonly { readonly expr: string; readonly exp_samples?: unknown[] }[];
  }[];
}

const folder = "deploy/prometheus";
const inFolder = (path: string) => join(projectRoot, folder, path);
const testPaths = filesBelow(`${folder}/tests`);
const testFiles = testPaths.map((path): TestFile => parse(readFileSync(join(projectRoot, path), "utf8")));
const { groups } = readRules();
const alerts = groups.flatMap(({ rules }) => rules).filter(({ alert }) => alert !== undefined);
const alertNames = alerts.map(({ alert }) => alert as string);

async function assertSound(...args: readonly string[]): Promise<void> {
  const { code, output } = await promtool(args);
  assert.equal(code, 0, output);
}

describe("promtool", needsPrometheus(), () => {
  test("accepts the rules", () => assertSound("check", "rules", inFolder("rules.yaml")));
  test("accepts the configuration for compose", () =>
    assertSound("check", "config", inFolder("prometheus.yaml")));
  for (const path of testPaths) {
    test(`passes ${basename(path)}`, () => assertSound("test", "rules", join(projectRoot, path)));
  }
});

describe("the tests of the rules", () => {
  const cases = testFiles.flatMap(({ tests }) => tests);

  test("show every alert firing with its annotations", () => {
    const firing = cases
      .flatMap(({ alert_rule_test = [] }) => alert_rule_test)
      .filter(({ exp_alerts = [] }) => exp_alerts.length > 0)
      .map(({ alertname }) => alertname);
    assert.deepEqual(new Set(firing), new Set(alertNames));
  });

  test("have a case without any alert in each file", () => {
    for (const [index, { tests }] of testFiles.entries()) {
      const quiet = tests
        .filter(({ name }) => name.startsWith("quiet"))
        .flatMap(({ promql_expr_test = [] }) => promql_expr_test)
        .filter(
          ({ expr, exp_samples }) => /^count_over_time\(ALERTS/.test(expr) && exp_samples === undefined,
        );
      assert.ok(quiet.length > 0, `${testPaths[index]} shows nothing that keeps quiet`);
    }
  });

  test("set the order of the groups, which promtool would shuffle", () => {
    const order = groups.map(({ name }) => name);
    for (const file of testFiles) assert.deepEqual(file.group_eval_order, order);
  });
});

describe("every alert", () => {
  const page = readFileSync(join(projectRoot, "docs/operations.md"), "utf8");

  test("has a severity, annotations and a link to its section", () => {
    for (const { alert = "", labels, annotations } of alerts) {
      assert.match(labels?.severity ?? "", /^(critical|warning|info)$/, alert);
      assert.ok((annotations?.summary ?? "").endsWith("."), alert);
      assert.ok((annotations?.description ?? "").endsWith("."), alert);
      assert.equal(annotations?.runbook_url, `docs/operations.md#${alert.toLowerCase()}`);
    }
  });

  test("has a section in the runbook, and every section has an alert", () => {
    const sections = [...page.matchAll(/^### (Forecastnet\w+)$/gm)].map(([, name]) => name);
    assert.deepEqual(sections, alertNames, "in the order of the rules");
  });

  test("has the same severity and waiting time in the runbook", () => {
    for (const { alert = "", labels, for: patience } of alerts) {
      const [, section = ""] = new RegExp(`^### ${alert}\n\n(.*?)\n\n`, "ms").exec(page) ?? [];
      const after = patience === undefined ? "at once" : `after ${patience}`;
      assert.ok(section.startsWith(`*${labels?.severity}, ${after}.*`), `${alert}: ${section}`);
    }
  });
});

describe("rules at a faster pace", () => {
  test("differ only in windows, offsets and waiting times", () => {
    const rule = {
      alert: "A",
      expr: "avg_over_time(x[10m] offset 1h) > 60 * x",
      for: "5m",
      labels: { a: "5m" },
    };
    const [group] = quickened({ groups: [{ name: "g", rules: [rule] }] }, 60).groups;
    assert.deepEqual(group?.rules, [
      { ...rule, expr: "avg_over_time(x[10000ms] offset 60000ms) > 60 * x", for: "5000ms" },
    ]);
  });

  test("refuse a duration in an unknown format", () => {
    const rule = { record: "r", expr: "rate(x[1h30m])" };
    assert.throws(() => quickened({ groups: [{ name: "g", rules: [rule] }] }, 60), /1h30m/);
  });
});
