// Generates docs/errors.md from the table of error codes. Pure.

import { errorTable } from "../src/runtime/errors.ts";

const introduction = `# Errors

<!-- Generated from src/runtime/errors.ts. Change that file and run \`npm run generate\`. -->

Every error of the worker has one of these codes in its log line (\`code\`). A retryable error is retried with growing
pauses and appears in \`/readyz\`. Any other error ends the worker with exit code 3, or 1 for the configuration.

| code | retryable | what to do |
| --- | --- | --- |
`;

export function generateErrorDocs(): Map<string, string> {
  const rows = Object.entries(errorTable).map(
    ([code, { retryable, remedy }]) => `| \`${code}\` | ${retryable ? "yes" : "no"} | ${remedy} |\n`,
  );
  return new Map([["docs/errors.md", introduction + rows.join("")]]);
}
