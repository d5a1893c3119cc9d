// Every query of a dashboard or a rule is valid PromQL and uses only metrics, labels and values that a real worker
// exposes.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Dashboard, Panel } from "@grafana/grafana-foundation-sdk/dashboard";
import { metricTable } from "../../src/runtime/metric-table.ts";
import { createMetrics } from "../../src/runtime/metrics.ts";
import { Fleet } from "../pipeline/support/fleet.ts";
import { hourly } from "../pipeline/support/readings.ts";
import { turns } from "../pipeline/support/turns.ts";
import { readExposition, type ValuesByLabel } from "../rig/exposition.ts";
import { filesBelow, projectRoot } from "../rig/project.ts";
import { checkRules, needsPrometheus, promtool } from "../rig/prometheus.ts";
import { askedBy } from "../rig/promql.ts";
import { readRules } from "../rig/rule-file.ts";

interface Query {
  readonly where: string;
  readonly expr: string;
}

/** Labels that Prometheus and its operator add. */
const targetLabels = ["job", "instance", "namespace", "pod"];
const rules = readRules().groups.flatMap(({ rules }) => rules);
const recorded = new Set(rules.flatMap(({ record }) => record ?? []));
const dashboards = filesBelow("deploy/grafana")
  .filter((path) => path.endsWith(".json"))
  .map((path) => ({
    path,
    dashboard: JSON.parse(readFileSync(join(projectRoot, path), "utf8")) as Dashboard,
  }));

function panelsOf({ panels = [] }: Dashboard): Panel[] {
  return panels.filter((panel): panel is Panel => panel.type !== "row");
}

/** Replaces each variable by a value, as Grafana does. */
function dashboardQueries(): Query[] {
  const asSent = (expr: string) =>
    expr.replaceAll("$__rate_interval", "1m").replaceAll("$job", ".*").replaceAll("$instance", ".*");
  return dashboards.flatMap(({ path, dashboard }) => [
    ...panelsOf(dashboard).flatMap(({ title = "", targets = [] }) =>
      (targets as { expr?: string }[]).map(({ expr = "" }) => ({
        where: `${basename(path)}, ${title}`,
        expr: asSent(expr),
      })),
    ),
    ...(dashboard.annotations?.list ?? []).map(({ name, expr = "" }) => ({
      where: `${basename(path)}, mark ${name}`,
      expr: asSent(expr),
    })),
    ...(dashboard.templating?.list ?? [])
      .map(({ name, query }) => ({ name, asked: /^label_values\((.*), \w+\)$/.exec(String(query))?.[1] }))
      .filter(({ asked }) => asked !== undefined)
      .map(({ name, asked = "" }) => ({ where: `${basename(path)}, variable ${name}`, expr: asSent(asked) })),
  ]);
}

const ruleQueries = rules.map(({ alert, record, expr }): Query => ({ where: alert ?? record ?? "", expr }));

/** The metrics of a real worker in this process that has forecast, scored, refused and collected garbage. */
async function scrapedWorker(t: TestContext): Promise<string> {
  const metrics = createMetrics("test", { worstSeries: 3 });
  const fleet = Fleet.openFor(t, { metrics, settings: { "metrics.series": "a" } });
  const values = Array.from({ length: 60 }, (_, hour) => 10 + (hour % 4) + Math.sin(hour));
  await fleet.play(...hourly("a", 0, values), "settle");
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
  await turns(20);
  return (await fleet.page("/metrics")).body;
}

describe("the dashboards", () => {
  test("are four, each with a stable uid", () => {
    const uids = dashboards.map(({ dashboard }) => dashboard.uid);
    assert.deepEqual(
      uids,
      ["fleet", "quality", "retraining", "runtime"].map((name) => `forecastnet-${name}`),
    );
  });

  test("have panels with unique ids, each with a title, a unit and a description", () => {
    for (const { path, dashboard } of dashboards) {
      const panels = panelsOf(dashboard);
      assert.equal(new Set(dashboard.panels?.map(({ id }) => id)).size, dashboard.panels?.length, path);
      for (const { title, description = "", fieldConfig, targets = [] } of panels) {
        assert.match(description, /^[A-Z0-9].*\.$/, `${path}, ${title}`);
        assert.ok(fieldConfig?.defaults?.unit, `${path}, ${title}`);
        assert.ok(targets.length > 0, `${path}, ${title}`);
      }
    }
  });

  test("have no overlapping panel and none beyond the edge", () => {
    for (const { path, dashboard } of dashboards) {
      const taken = new Set<string>();
      for (const { gridPos, title } of dashboard.panels ?? []) {
        const { x = 0, y = 0, w = 0, h = 0 } = gridPos ?? {};
        assert.ok(x + w <= 24, `${path}, ${title}`);
        for (let cell = 0; cell < w * h; cell++) {
          const place = `${x + (cell % w)}:${y + Math.floor(cell / w)}`;
          assert.ok(!taken.has(place), `${path}, ${title} lies over another at ${place}`);
          taken.add(place);
        }
      }
    }
  });
});

test("every query of the dashboards is valid", needsPrometheus(), async () => {
  const queries = dashboardQueries();
  assert.ok(queries.length > 80, `${queries.length} queries`);
  const asRules = queries.map(({ where, expr }, index) => ({ record: `q${index}`, expr, labels: { where } }));
  const { code, output } = await checkRules(JSON.stringify({ groups: [{ name: "g", rules: asRules }] }));
  assert.equal(code, 0, output);
});

test("the metrics of a worker pass promtool", needsPrometheus(), async (t) => {
  const { code, output } = await promtool(["check", "metrics"], await scrapedWorker(t));
  assert.deepEqual({ code, output }, { code: 0, output: "" });
});

test("every query uses metrics, labels and values that a worker exposes", async (t) => {
  const exposed = readExposition(await scrapedWorker(t));
  const problems = [...dashboardQueries(), ...ruleQueries].flatMap(({ where, expr }) =>
    problemsIn(expr, exposed).map((problem) => `${where}: ${problem}`),
  );
  assert.deepEqual(problems, []);
});

test("the check itself finds an unknown metric, label and value", () => {
  const exposed = readExposition(
    'up_total{outcome="good"} 1\nforecastnet_transactions_total{outcome="aborted"} 0\n',
  );
  const found = (expr: string) => problemsIn(expr, exposed);
  assert.deepEqual(found("sum by (outcome) (rate(up_total[5m] offset 1h)) > 0.5e3"), []);
  assert.deepEqual(found("rate(down_total[5m])"), ["no down_total"]);
  assert.deepEqual(found('up_total{result="good"}'), ["up_total has no label result"]);
  assert.deepEqual(found("sum by (reason) (up_total)"), ["nothing in it has a label reason"]);
  assert.deepEqual(found('forecastnet_transactions_total{outcome=~"aborted|lost"}'), [
    'forecastnet_transactions_total never has outcome="lost"',
  ]);
});

function problemsIn(expr: string, exposed: ReadonlyMap<string, ValuesByLabel>): string[] {
  const { selectors, groupedBy } = askedBy(expr);
  const labelsInReach = new Set(targetLabels);
  const problems: string[] = [];
  for (const { metric, matchers } of selectors) {
    if (metric === "up") continue; // made by Prometheus
    const labels = recorded.has(metric) ? recordedLabels : exposed.get(metric);
    if (labels === undefined) problems.push(`no ${metric}`);
    for (const label of labels?.keys() ?? []) labelsInReach.add(label);
    for (const { label, value } of matchers) {
      if (labels === undefined || targetLabels.includes(label)) continue;
      const known = labels.get(label);
      if (known === undefined) problems.push(`${metric} has no label ${label}`);
      else if (!isOpen(metric, label))
        problems.push(
          ...value
            .split("|")
            .filter((each) => !known.has(each))
            .map((each) => `${metric} never has ${label}="${each}"`),
        );
    }
  }
  const astray = groupedBy.filter((label) => !labelsInReach.has(label));
  return [...problems, ...astray.map((label) => `nothing in it has a label ${label}`)];
}

const recordedLabels: ValuesByLabel = new Map([["stated", new Set(["0.8", "0.95"])]]);

/** True for labels whose values one worker cannot all expose: engines, devices, versions. */
function isOpen(metric: string, label: string): boolean {
  const spec = Object.values(metricTable).find(({ name }) => `forecastnet_${name}` === metric);
  const listed = spec?.labels as Readonly<Record<string, readonly string[]>> | undefined;
  return listed?.[label]?.length === 0;
}
