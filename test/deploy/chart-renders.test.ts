// The chart under the real tools, for every set of test values: Helm's linter, the schemas of Kubernetes, KEDA and the
// Prometheus operator, and the chart's own unit tests.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { parse } from "yaml";
import { chartFolder, chartTools, runChartTool, template, titleOf, valueSets } from "../rig/chart.ts";
import { newestKubernetes } from "../rig/go-tools.ts";
import { kubernetesVersions, schemaLocations } from "../rig/kubernetes-schemas.ts";
import { projectRoot } from "../rig/project.ts";

const needsTools = await chartTools();

const scratch = mkdtempSync(join(tmpdir(), "forecastnet-chart-"));
after(() => rmSync(scratch, { recursive: true }));

describe("Helm's linter accepts", needsTools, () => {
  for (const values of valueSets) {
    test(titleOf(values), async () => {
      const { isOk, output } = await runChartTool("helm", ["lint", "--strict", chartFolder, "-f", values]);
      assert.ok(isOk, output);
    });
  }
});

describe("the objects of all values are valid", needsTools, () => {
  for (const version of kubernetesVersions) {
    test(`for Kubernetes ${version}`, async () => {
      const files = valueSets.map((values) => join(scratch, `${titleOf(values)}-${version}.yaml`));
      for (const [index, values] of valueSets.entries()) {
        const { stdout, isOk, output } = await template("-f", values, "--kube-version", version);
        assert.ok(isOk, output);
        writeFileSync(files[index] as string, stdout);
      }
      const { isOk, output } = await conform(files, version);
      assert.ok(isOk, output);
      assert.match(output, /Skipped: 0/);
    });
  }
});

describe("the chart", needsTools, () => {
  test("passes its own unit tests", async () => {
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

test("a misspelt field in a Deployment, a ScaledObject or a PodMonitor is found", needsTools, async () => {
  const options = ["--set", "podMonitor.enabled=true,trainer.enabled=true,trainer.autoscaling.kind=keda"];
  const { stdout } = await template(...options);
  const slips = {
    "replicas:": "replica:",
    "maxReplicaCount:": "maxReplicasCount:",
    "jobLabel:": "jobLable:",
  };
  let manifests = stdout;
  for (const [right, wrong] of Object.entries(slips)) {
    assert.ok(manifests.includes(right));
    manifests = manifests.replace(right, wrong);
  }
  const file = join(scratch, "slips.yaml");
  writeFileSync(file, manifests);
  const { isOk, output } = await conform([file], kubernetesVersions[1]);
  assert.ok(!isOk);
  for (const found of ["replica", "maxReplicasCount", "jobLable"]) {
    assert.match(output, new RegExp(`additional properties '${found}' not allowed`));
  }
});

/** One process for all files: it reads each schema only once. */
async function conform(files: readonly string[], version: string) {
  const locations = (await schemaLocations()).flatMap((location) => ["-schema-location", location]);
  const options = ["-strict", "-summary", "-kubernetes-version", version, ...locations];
  return runChartTool("kubeconform", [...options, ...files]);
}
