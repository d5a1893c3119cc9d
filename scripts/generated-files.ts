// Every generated file of the repository with its contents. `generate.ts` writes the files, a test compares them.

import { generateAclDocs } from "./acls/generate-acl-docs.ts";
import { generateStrimzi } from "./acls/generate-strimzi.ts";
import { generateChartDocs } from "./chart/generate-chart-docs.ts";
import { generateChartSchema } from "./chart/generate-chart-schema.ts";
import { generateConfigDocs } from "./generate-config-docs.ts";
import { generateErrorDocs } from "./generate-error-docs.ts";
import { generateMessageDocs } from "./generate-message-docs.ts";
import { generateMetricDocs } from "./generate-metric-docs.ts";
import { generateObservability } from "./generate-observability.ts";
import { generateSchemas } from "./generate-schemas.ts";

/** Contents by path from the repository's root. */
export function generatedFiles(root: string): Map<string, string> {
  return new Map([
    ...generateSchemas(root),
    ...generateConfigDocs(),
    ...generateMessageDocs(root),
    ...generateErrorDocs(),
    ...generateMetricDocs(),
    ...generateChartSchema(root),
    ...generateChartDocs(root),
    ...generateAclDocs(root),
    ...generateStrimzi(root),
    ...generateObservability(root),
  ]);
}
