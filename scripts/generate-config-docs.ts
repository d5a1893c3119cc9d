// Generates docs/configuration.md from the schema. Pure: the caller compares or writes.

import { exitCodes } from "../src/cli/command.ts";
import { inputTopicDefaults, inputTopicDocs, inputTopicFormats } from "../src/runtime/config/schema.ts";
import { environmentName, settings } from "../src/runtime/config/settings.ts";

const introduction = `# Configuration

<!-- Generated from src/runtime/config/schema.ts. Change that file and run \`npm run generate\`. -->

A worker needs no configuration for a broker on the same machine. The keys below change everything else.

## Sources

A later source overrides an earlier one:

1. the default
2. a file, YAML or JSON by its extension: \`--config PATH\`, or \`FORECASTNET_CONFIG\`
3. the environment variable of the key
4. a flag: \`--<key>=<value>\` or \`--<key> <value>\`

\`\`\`yaml
# forecastnet.yaml
kafka:
  brokers: [kafka-1:9092, kafka-2:9092]
series:
  horizon: 48
\`\`\`

\`\`\`sh
FORECASTNET_SERIES_SEASON=24 forecastnet config print --config forecastnet.yaml --worker.port=8080
\`\`\`

In variables and flags, a list is comma-separated, and a list of objects is JSON or YAML:
\`--topics.inputs='[{topic: sensors, format: json}]'\`.

An unknown key, variable or flag is an error, as is an invalid value. All errors are reported at once. Variables that
Kubernetes adds for a service named \`forecastnet\` are ignored, unless one has the name of a setting: a service
\`forecastnet-worker\` creates \`FORECASTNET_WORKER_PORT\`. Set \`enableServiceLinks: false\` in the pod to avoid that.

## Secrets

A key that ends in \`File\` names a file. The worker reads the file at the start and again for every new connection or
request, and trims its contents. It never prints or logs them. No key holds a secret itself.
`;

const overrides = `
### Overrides

\`series.overrides\` changes the settings of series whose id matches a pattern, in which \`*\` stands for any characters
and \`?\` for one. Every matching override applies, in the order of the list, so a later one wins. Settings that an
override does not mention keep their values.

\`\`\`yaml
series:
  interval: PT5M
  overrides:
    - { match: "meter-*", interval: PT1H, season: 168 }
    - { match: "*-test", every: 12, gapPolicy: none } # meter-7-test gets both
\`\`\`

The worker does not start if \`history\` is less than four horizons or two seasons, if \`gapMax\` is not less than
\`history\`, or if \`max\` is less than \`min\`, in the defaults or in any override on top of them. If several overrides of one
series contradict each other, its history grows as needed, and bounds between which nothing lies are ignored.
`;

const checking = `## Checking

\`\`\`sh
forecastnet config check --config forecastnet.yaml
forecastnet config print --config forecastnet.yaml
\`\`\`

\`check\` reports every problem with its key, the given value, its source and what is allowed. \`print\` prints the
effective configuration as YAML, with the source of each value. Secrets appear as the paths of their files.

| exit code | meaning |
| --- | --- |
| ${exitCodes.ok} | the configuration is valid |
| ${exitCodes.invalid} | the configuration is not valid; the problems are on standard error |
| ${exitCodes.usage} | the command line is wrong |
`;

/** Contents by path from the repository's root. */
export function generateConfigDocs(): Map<string, string> {
  const groups = new Set([...settings.keys()].map(groupOf));
  const sections = [...groups].map((group) => `## ${group}\n\n${settingsTable(group)}${detailsOf(group)}`);
  return new Map([["docs/configuration.md", [introduction, ...sections, checking].join("\n")]]);
}

function groupOf(key: string): string {
  return key.includes(".") ? key.slice(0, key.indexOf(".")) : "general";
}

function detailsOf(group: string): string {
  if (group === "topics") {
    return `\nEach item of \`topics.inputs\` has these fields:\n\n${inputTopicTable()}`;
  }
  return group === "series" ? overrides : "";
}

function settingsTable(group: string): string {
  const rows = [...settings]
    .filter(([key]) => groupOf(key) === group)
    .map(([key, { doc, format, default: fallback }]) => [
      code(key),
      format.allowed,
      code(JSON.stringify(fallback)),
      code(environmentName(key)),
      doc,
    ]);
  return table(["key", "allowed", "default", "variable", "meaning"], rows);
}

function inputTopicTable(): string {
  const defaults: Readonly<Record<string, string>> = inputTopicDefaults;
  const rows = Object.entries(inputTopicFormats).map(([name, { allowed }]) => [
    code(name),
    allowed,
    name in defaults ? code(defaults[name]) : "",
    inputTopicDocs[name as keyof typeof inputTopicDocs],
  ]);
  return table(["field", "allowed", "default", "meaning"], rows);
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |\n`);
  return lines.join("");
}

function code(text: string): string {
  return `\`${text}\``;
}
