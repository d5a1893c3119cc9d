// Writes docs/configuration.md from the schema. No side effects: the caller compares or saves.
import { exitCodes } from "../src/cli/command.ts";
import { inputTopicDefaults, inputTopicDocs, inputTopicFormats } from "../src/runtime/config/schema.ts";
import { environmentName, settings } from "../src/runtime/config/settings.ts";

const introduction = `# Configuration

<!-- Generated from src/runtime/config/schema.ts. Change that file and run \`npm run generate\`. -->

The worker needs no configuration to run against a broker on this machine. Everything else is set by the keys below.

## Sources

A value is taken from the last of these that gives it:

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

In variables and flags a list is comma-separated; a list of objects is written as JSON or YAML:
\`--topics.inputs='[{topic: sensors, format: json}]'\`.

A key, variable or flag that does not exist is an error, as is a value that does not fit; all of them are reported
at once. Variables that Kubernetes adds for a service named \`forecastnet\` are ignored, except where one has the
name of a setting (a service \`forecastnet-worker\` makes \`FORECASTNET_WORKER_PORT\`): set
\`enableServiceLinks: false\` in the pod.

## Secrets

A key ending in \`File\` names a file. It is read at start and again for every new connection or request, and
trimmed; its contents are never printed or logged. There is no key for a secret itself.
`;

const overrides = `
### Overrides

\`series.overrides\` gives other settings to series whose id matches a pattern, in which \`*\` stands for any run of
characters and \`?\` for one. Every override that matches applies, in the order of the list, so a later one wins.
What an override does not mention keeps the value it had.

\`\`\`yaml
series:
  interval: PT5M
  overrides:
    - { match: "meter-*", interval: PT1H, season: 168 }
    - { match: "*-test", every: 12, gapPolicy: none } # meter-7-test gets both
\`\`\`

The worker refuses to start when \`history\` is less than four horizons or two seasons, or \`gapMax\` not less than
\`history\`, be it in the defaults or in one override on top of them. Where several overrides meet on one series and
do not go together, its history grows to what they need.
`;

const checking = `## Checking

\`\`\`sh
forecastnet config check --config forecastnet.yaml
forecastnet config print --config forecastnet.yaml
\`\`\`

\`check\` names every problem with its key, the value given, where it came from and what is allowed. \`print\` shows the
configuration in effect as YAML, with the source of each value.

| exit code | meaning |
| --- | --- |
| ${exitCodes.ok} | the configuration is valid |
| ${exitCodes.invalid} | it is not; the problems are on standard error |
| ${exitCodes.usage} | the command itself was misspelt |
`;

/** Path relative to the root of the project → content. */
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
    return `\nEach of \`topics.inputs\` has these fields:\n\n${inputTopicTable()}`;
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
