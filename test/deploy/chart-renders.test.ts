// The chart under the real tools: Helm's linter, the schemas of Kubernetes, KEDA and the Prometheus operator, and the
// chart's own suites, for every set of values that is kept beside it.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, test } from "node:test";
import { parse } from "yaml";
import { chartFolder, chartTools, runChartTool, template, valueSets } from "../rig/chart.ts";
import { newestKubernetes } from "../rig/go-tools.ts";
import { kubernetesVersions, schemaLocations } from "../rig/kubernetes-schemas.ts";
import { projectRoot } from "../rig/project.ts";

const needsTools = await chartTools();

for (const values of valueSets) {
  describe(basename(values, "-values.yaml"), needsTools, () => {
    test("passes the linter", async () => {
      const { isOk, output } = await runChartTool("helm", ["lint", "--strict", chartFolder, "-f", values]);
      assert.ok(isOk, output);
    });

    for (const version of kubernetesVersions) {
      test(`is accepted by Kubernetes ${version}`, async () => {
        const { stdout, isOk, output } = await template("-f", values, "--kube-version", version);
        assert.ok(isOk, output);
        const report = await conform(stdout, version);
        assert.ok(report.isOk, report.output);
      });
    }
  });
}

describe("the chart", needsTools, () => {
  test("passes its own suites", async () => {
    const { isOk, output } = await runChartTool("helm-unittest", ["--strict", chartFolder]);
    assert.ok(isOk, output);
    assert.match(output, /Tests:\s+\d{2,} passed/);
  });

  test("has the version of the product", () => {
    const { version } = JSON.parse(readFileSync(join(projectRoot, "package.json"), "utf8"));
    const chart = parse(readFileSync(join(chartFolder, "Chart.yaml"), "utf8"));
    assert.equal(chart.appVersion, version);
    assert.equal(chart.kubeVersion, `>=${kubernetesVersions[0]}-0`);
    assert.equal(`${newestKubernetes}.0`, kubernetesVersions[1]);
  });

  test("refuses a Kubernetes that is too old", async () => {
    const { isOk, output } = await template("--kube-version", "1.24.0");
    assert.ok(!isOk);
    assert.match(output, /requires kubeVersion: >=1\.25/);
  });
});

describe("the check itself", needsTools, () => {
  const misspelt = [
    ["a Deployment", "replicas: 2", "replica: 2", /replica/],
    ["a ScaledObject", "maxReplicaCount:", "maxReplicasCount:", /maxReplicasCount/],
    ["a PodMonitor", "podMetricsEndpoints:", "podMetricEndpoints:", /podMetricEndpoints/],
  ] as const;
  for (const [what, right, wrong, message] of misspelt) {
    test(`finds a slip in ${what}`, async () => {
      const options = ["--set", "podMonitor.enabled=true,trainer.enabled=true,trainer.autoscaling.kind=keda"];
      const { stdout } = await template(...options);
      assert.ok(stdout.includes(right));
      const report = await conform(stdout.replace(right, wrong), kubernetesVersions[1]);
      assert.ok(!report.isOk);
      assert.match(report.output, message);
    });
  }
});

async function conform(manifests: string, version: string) {
  const locations = (await schemaLocations()).flatMap((location) => ["-schema-location", location]);
  const options = ["-strict", "-summary", "-kubernetes-version", version, ...locations];
  return runChartTool("kubeconform", options, manifests);
}
