// Generates the Grafana dashboards, and the copies of dashboards and Prometheus rules in the Helm chart: a chart can read
// only its own files. Writes nothing.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fleet } from "./dashboards/fleet.ts";
import { frame } from "./dashboards/frame.ts";
import { quality } from "./dashboards/quality.ts";
import { retraining } from "./dashboards/retraining.ts";
import { runtime } from "./dashboards/runtime.ts";

const dashboards = [fleet, quality, retraining, runtime];

export function generateObservability(root: string): Map<string, string> {
  const files = new Map<string, string>();
  for (const facts of dashboards) {
    const text = `${JSON.stringify(frame(facts), null, 2)}\n`;
    files.set(`deploy/grafana/${facts.name}.json`, text);
    files.set(`helm/forecastnet/files/dashboards/${facts.name}.json`, text);
  }
  const rules = readFileSync(join(root, "deploy/prometheus/rules.yaml"), "utf8");
  return files.set("helm/forecastnet/files/rules/forecastnet.yaml", rules);
}
