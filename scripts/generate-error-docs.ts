// Writes docs/errors.md from the table of error codes. No side effects.

import { errorTable } from "../src/runtime/errors.ts";

const introduction = `# Errors

<!-- Generated from src/runtime/errors.ts. Change that file and run \`npm run generate\`. -->

Every error of the worker carries one of these codes in its log line (\`code\`). An error that passes is retried with
growing pauses and shows in \`/readyz\`; any other ends the worker, with exit code 3 (1 for the configuration).

| code | passes by itself | what to do |
| --- | --- | --- |
`;

export function generateErrorDocs(): Map<string, string> {
  const rows = Object.entries(errorTable).map(
    ([code, { retryable, remedy }]) => `| \`${code}\` | ${retryable ? "yes" : "no"} | ${remedy} |\n`,
  );
  return new Map([["docs/errors.md", introduction + rows.join("")]]);
}
