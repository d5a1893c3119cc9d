// Files that the chart passes on unchanged: rules and dashboards, whose templates are for Prometheus and Grafana. Also the
// examples in the docs of the chart.

import assert from "node:assert/strict";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { parse, parseAllDocuments, stringify } from "yaml";
import { settings } from "../../src/runtime/config/settings.ts";
import { chartFolder, chartTools, runChartTool, template } from "../rig/chart.ts";
import type { KubernetesObject } from "../rig/kubernetes-object.ts";
import { projectRoot } from "../rig/project.ts";

const needsTools = await chartTools();
const scratch = mkdtempSync(join(tmpdir(), "forecastnet-chart-"));
after(() => rmSync(scratch, { recursive: true }));

const rules = {
  groups: [
    {
      name: "lag",
      interval: "30s",
      rules: [
        { record: "forecastnet:lag:max", expr: "max(forecastnet_lag_records) > 1000000" },
        {
          alert: "LagGrows",
          expr: "deriv(forecastnet_lag_records[10m]) > 0",
          for: "10m",
          annotations: { summary: "{{ $labels.pod }} lags by {{ $value | humanize }}" },
        },
        { alert: "Quiet", expr: "absent(forecastnet_build_info)" },
      ],
    },
  ],
};
const dashboard = {
  title: "Fleet",
  panels: [{ legendFormat: "{{pod}} {{ .Values }}", maxDataPoints: 12345678901 }],
};

/** The objects of one kind from a chart with these files. */
async function renderWithFiles(
  kind: string,
  ...options: readonly string[]
): Promise<readonly KubernetesObject[]> {
  const copy = mkdtempSync(join(scratch, "chart-"));
  cpSync(chartFolder, copy, { recursive: true });
  for (const [name, text] of [
    ["files/rules/lag.yaml", stringify(rules)],
    ["files/dashboards/fleet.json", JSON.stringify(dashboard, null, 2)],
  ] as const) {
    rmSync(join(copy, name, ".."), { recursive: true, force: true });
    mkdirSync(join(copy, name, ".."), { recursive: true });
    writeFileSync(join(copy, name), text);
  }
  const { isOk, stdout, output } = await runChartTool("helm", ["template", "plant", copy, ...options]);
  assert.ok(isOk, output);
  return parseAllDocuments(stdout)
    .map((document) => document.toJS() as KubernetesObject | null)
    .filter((object) => object !== null)
    .filter((object) => object.kind === kind);
}

describe("rules", needsTools, () => {
  const enabled = ["--set", "prometheusRule.enabled=true,prometheusRule.labels.release=prometheus"];

  test("reach Prometheus unchanged", async () => {
    const [rule, ...others] = await renderWithFiles("PrometheusRule", ...enabled);
    assert.deepEqual(others, []);
    assert.equal(rule?.metadata.name, "plant-forecastnet-lag");
    assert.equal(rule?.metadata.labels.release, "prometheus");
    assert.deepEqual(rule?.spec, rules);
  });

  test("can be left out by the name of an alert", async () => {
    const [rule] = await renderWithFiles(
      "PrometheusRule",
      ...enabled,
      "--set",
      "prometheusRule.disabled={LagGrows}",
    );
    const groups = rule?.spec?.groups as typeof rules.groups;
    assert.deepEqual(
      groups[0]?.rules.map(({ alert, record }) => alert ?? record),
      ["forecastnet:lag:max", "Quiet"],
    );
  });

  test("are left out by default", async () => {
    assert.deepEqual(await renderWithFiles("PrometheusRule"), []);
  });
});

test("dashboards reach Grafana unchanged", needsTools, async () => {
  const options = ["--set", "dashboards.enabled=true,dashboards.annotations.folder=fleet"];
  const maps = await renderWithFiles("ConfigMap", ...options);
  const found = maps.find(({ metadata }) => metadata.labels.grafana_dashboard === "1");
  assert.equal(found?.metadata.annotations?.folder, "fleet");
  assert.deepEqual(JSON.parse(found?.data?.["fleet.json"] ?? "null"), dashboard);
});

describe("the docs", needsTools, () => {
  const page = readFileSync(join(projectRoot, "docs/helm.md"), "utf8");
  const examples = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text = ""]) => text);

  for (const [index, example] of examples.entries()) {
    test(`show valid values: ${Object.keys(parse(example)).join(", ")} (${index + 1})`, async () => {
      const file = join(scratch, `example-${index}.yaml`);
      writeFileSync(file, example);
      const { isOk, output } = await template("-f", file);
      assert.ok(isOk, output);
    });
  }
});

test("the chart accepts every default of the product's configuration", needsTools, async () => {
  const config = {};
  for (const [key, { default: fallback }] of settings) setAt(config, key.split("."), fallback);
  const file = join(scratch, "defaults.yaml");
  writeFileSync(file, stringify({ config }));
  const { isOk, output } = await template("-f", file);
  assert.ok(isOk, output);
});

function setAt(
  tree: Record<string, unknown>,
  [name = "", ...below]: readonly string[],
  value: unknown,
): void {
  if (below.length === 0) tree[name] = value;
  else {
    tree[name] ??= {};
    setAt(tree[name] as Record<string, unknown>, below, value);
  }
}
