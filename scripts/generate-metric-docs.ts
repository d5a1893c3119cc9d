// docs/metrics.md from the table of metrics.

import { type MetricSpec, metricTable } from "../src/runtime/metric-table.ts";

export function generateMetricDocs(): Map<string, string> {
  const rows = Object.values(metricTable).map(rowOf);
  return new Map([["docs/metrics.md", `${head}${rows.join("\n")}\n`]]);
}

const head = `# Metrics

<!-- Generated from src/runtime/metric-table.ts. Change that file and run \`npm run generate\`. -->

What a worker or trainer exposes on \`/metrics\`, beside \`process_*\` and \`nodejs_*\` of its runtime. A label value that is
listed is there from the start, at 0. \`series_id\` is bounded by \`metrics.worstSeries\` and by 100; no other label grows with the
fleet. Which to look at first, and what to do then: [operations.md](operations.md#watching-it).

| metric | kind | labels | meaning |
| --- | --- | --- | --- |
`;

function rowOf({ kind, name, labels, help }: MetricSpec): string {
  const described = Object.entries(labels).map(([label, values]) =>
    values.length === 0 ? `\`${label}\`` : `\`${label}\`: ${values.join(", ")}`,
  );
  return `| \`forecastnet_${name}\` | ${kind} | ${described.join("; ")} | ${help} |`;
}
