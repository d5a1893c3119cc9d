// Which file of src/ may import which: the layers, the one door of each dependency, and no cycles. No rule has
// an exemption list; a file that breaks one moves, or the architecture changes here for all.

import { codeOf, importsOf, lineAt, type SourceFile } from "./imports.ts";

/** Each broken promise as file:line: what is wrong and what to do. */
export type Rule = (files: readonly SourceFile[]) => string[];

/** From the top down. Names on one line never import one another; `domain` imports nothing. */
const layers: readonly (readonly string[])[] = [
  ["cli"],
  ["backtest"],
  ["replay"],
  ["service"],
  ["pipeline"],
  ["lane"],
  ["isolate-failures", "lifecycle"],
  ["gate"],
  ["source", "window", "forecast", "score", "sink", "training"],
  ["engine", "log", "csv", "plots"],
  ["models"],
  ["runtime"],
  ["domain"],
];

const stages = ["source", "window", "forecast", "score", "sink"];
const besideThePath = ["lifecycle", "gate", "training"];

/** `src/window/grid.ts` and `src/window.ts` both belong to `window`. */
function partOf(path: string): string {
  return (path.split("/")[1] ?? "").replace(/\.ts$/, "");
}

function layerOf(part: string): number {
  return layers.findIndex((names) => names.includes(part));
}

export const importsPointDown: Rule = (files) =>
  files.flatMap((file) => {
    const part = partOf(file.path);
    if (layerOf(part) === -1) {
      return [
        `${file.path}:1: "${part}" is in no layer; move the file, or give it a place in the list of layers`,
      ];
    }
    return importsOf(file).flatMap(({ target, line }) => {
      if (target === null) return [];
      const where = `${file.path}:${line}:`;
      if (!target.startsWith("src/"))
        return [`${where} src/ imports ${target}, which is not part of the product`];
      const problem = directionProblem(part, partOf(target));
      return problem === null ? [] : [`${where} ${problem}`];
    });
  });

function directionProblem(from: string, to: string): string | null {
  if (from === to) return null;
  if (besideThePath.includes(from) && stages.includes(to)) {
    return `${from} imports the stage ${to}; what it needs of a stage is handed to it`;
  }
  if (layerOf(from) < layerOf(to)) return null;
  if (stages.includes(from) && stages.includes(to)) {
    return `stage ${from} imports stage ${to}; stages meet in the pipeline, through domain types`;
  }
  return `${from} imports ${to}, which is not below it; imports point down the list of layers`;
}

interface Door {
  /** The only files that may use it. */
  readonly home: RegExp;
  readonly homeName: string;
}

const packageDoors: Readonly<Record<string, Door>> = {
  kafkajs: { home: /^src\/log\//, homeName: "src/log/" },
  "@bokuweb/zstd-wasm": {
    home: /^src\/log\/kafka\/wire\/compression\.ts$/,
    homeName: "src/log/kafka/wire/compression.ts",
  },
  avsc: { home: /^src\/log\//, homeName: "src/log/" },
  "@tensorflow/tfjs": { home: /^src\/engine\/tensorflow\//, homeName: "src/engine/tensorflow/" },
  "@tensorflow/tfjs-node-gpu": { home: /^src\/engine\/tensorflow\//, homeName: "src/engine/tensorflow/" },
  "prom-client": { home: /^src\/runtime\/metrics\.ts$/, homeName: "src/runtime/metrics.ts" },
  "csv-parse": { home: /^src\/csv\/rows\.ts$/, homeName: "src/csv/rows.ts" },
  pino: { home: /^src\/runtime\/logging\.ts$/, homeName: "src/runtime/logging.ts" },
  convict: { home: /^src\/runtime\/config\b/, homeName: "src/runtime/config" },
  croner: { home: /^src\/runtime\/cron\.ts$/, homeName: "src/runtime/cron.ts" },
  yaml: { home: /^src\/runtime\/config\b/, homeName: "src/runtime/config" },
};

export const packagesHaveOneDoor: Rule = (files) =>
  files.flatMap((file) =>
    importsOf(file).flatMap(({ specifier, target, line }) => {
      if (target !== null || specifier.startsWith("node:")) return [];
      const name = specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
      const door = packageDoors[name];
      const where = `${file.path}:${line}:`;
      if (door === undefined)
        return [`${where} ${name} has no door yet; name the one place that may import it`];
      return door.home.test(file.path) ? [] : [`${where} ${name} is imported only in ${door.homeName}`];
    }),
  );

const globalDoors: readonly (Door & { readonly use: RegExp; readonly advice: string })[] = [
  {
    use: /\bprocess\s*\.\s*env\b/g,
    home: /^src\/runtime\/config\b/,
    homeName: "src/runtime/config",
    advice: "the environment is read only there; take the setting from the configuration",
  },
  {
    // `new Date(ms)` only converts and is free.
    use: /\bDate\s*\.\s*now\b|\bDate\s*\(\s*\)|\bnew\s+Date\b(?!\s*\()|\bperformance\s*\.|\bprocess\s*\.\s*(?:hrtime|uptime)\b|["']node:perf_hooks["']/g,
    home: /^src\/runtime\/clock\.ts$/,
    homeName: "src/runtime/clock.ts",
    advice: "the clock is read only there; take a Clock as a parameter",
  },
  {
    use: /\bprocess\s*\.\s*exit\b/g,
    home: /^src\/cli\//,
    homeName: "src/cli/",
    advice: "only a command ends the process; throw instead",
  },
  {
    use: /["'](?:node:)?process["']/g,
    home: /^$/,
    homeName: "no file",
    advice: "use the global process, so that these rules can see it",
  },
];

export const globalsHaveOneDoor: Rule = (files) =>
  files.flatMap((file) => {
    const code = codeOf(file.text);
    return globalDoors
      .filter((door) => !door.home.test(file.path))
      .flatMap(({ use, homeName, advice }) =>
        [...code.matchAll(use)].map(
          (match) =>
            `${file.path}:${lineAt(code, match.index)}: ${match[0]} belongs to ${homeName}: ${advice}`,
        ),
      );
  });

/** Type-only imports count too: a cycle of types is still two files that cannot be read one after the other. */
export const noCycles: Rule = (files) => {
  const importsByPath = new Map(files.map((file) => [file.path, importsOf(file)]));
  const finished = new Set<string>();
  const problems: string[] = [];
  const visit = (path: string, trail: readonly string[]): void => {
    for (const { target, line } of importsByPath.get(path) ?? []) {
      if (target === null) continue;
      const start = trail.indexOf(target);
      if (start >= 0) {
        const cycle = [...trail.slice(start), target].join(" → ");
        problems.push(`${path}:${line}: closes an import cycle: ${cycle}; move what they share below both`);
      } else if (!finished.has(target)) visit(target, [...trail, target]);
    }
    finished.add(path);
  };
  for (const { path } of files) if (!finished.has(path)) visit(path, [path]);
  return problems;
};
