// Generates docs/metrics.md from the table of metrics. Pure.

import { type MetricSpec, metricTable } from "../src/runtime/metric-table.ts";

export function generateMetricDocs(): Map<string, string> {
  const rows = Object.values(metricTable).map(rowOf);
  return new Map([["docs/metrics.md", `${head}${rows.join("\n")}\n`]]);
}

const head = `# Metrics

<!-- Generated from src/runtime/metric-table.ts. Change that file and run \`npm run generate\`. -->

A worker or trainer exposes these metrics on \`/metrics\`, together with \`process_*\` and \`nodejs_*\`. A listed label value
exists from the start, at 0. The number of \`series_id\` values is bounded by \`metrics.worstSeries\` and by 100; no other
label grows with the fleet. [operations.md](operations.md#watching-it) explains which metrics to watch and what to do.

| metric | kind | labels | meaning |
| --- | --- | --- | --- |
`;

function rowOf({ kind, name, labels, help }: MetricSpec): string {
  const described = Object.entries(labels).map(([label, values]) =>
    values.length === 0 ? `\`${label}\`` : `\`${label}\`: ${values.join(", ")}`,
  );
  return `| \`forecastnet_${name}\` | ${kind} | ${described.join("; ")} | ${help} |`;
}
