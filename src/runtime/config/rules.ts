// The rules that tie settings together. Each names the setting to change first, then the others it looks at;
// a rule is silent while one of them is wrong by itself.

import type { GivenConfig, SeriesOverride } from "./schema.ts";
import { minimumHistory, resolveSettings } from "./series-rules.ts";

export interface BrokenRule {
  /** The settings involved; the first is the one to change. */
  readonly keys: readonly string[];
  /** Narrows the key down to an item of a list, in words the reader can find it by. */
  readonly within?: string;
  readonly given: unknown;
  readonly allowed: string;
}

export function findBrokenRules(config: GivenConfig): readonly BrokenRule[] {
  const { kafka, registry, output, topics } = config;
  const { sasl, ssl } = kafka;
  const usesRegistry = [output, ...topics.inputs].some(({ format }) => format === "confluent");
  const broken: BrokenRule[] = [];
  const demand = (holds: boolean, keys: readonly string[], given: unknown, allowed: string) => {
    if (!holds) broken.push({ keys, given, allowed });
  };

  demand(
    !usesRegistry || registry.url !== "",
    ["registry.url", "output.format", "topics.inputs"],
    registry.url,
    "the registry's address, since a topic has the format confluent",
  );
  demand(
    registry.url !== "" || registry.username === "",
    ["registry.username", "registry.url"],
    registry.username,
    "empty while registry.url is empty",
  );
  demand(
    (registry.username === "") === (registry.passwordFile === ""),
    ["registry.passwordFile", "registry.username"],
    registry.passwordFile,
    "given together with registry.username, or neither",
  );
  const wantsLogin = sasl.mechanism !== "none";
  const loginNeed = `${wantsLogin ? "not " : ""}empty while kafka.sasl.mechanism is ${sasl.mechanism}`;
  for (const name of ["username", "passwordFile"] as const) {
    const keys = [`kafka.sasl.${name}`, "kafka.sasl.mechanism"];
    demand((sasl[name] !== "") === wantsLogin, keys, sasl[name], loginNeed);
  }
  for (const name of ["caFile", "certFile", "keyFile"] as const) {
    const keys = [`kafka.ssl.${name}`, "kafka.ssl.enabled"];
    demand(ssl.enabled || ssl[name] === "", keys, ssl[name], "empty while kafka.ssl.enabled is false");
  }
  demand(
    (ssl.certFile === "") === (ssl.keyFile === ""),
    ["kafka.ssl.keyFile", "kafka.ssl.certFile"],
    ssl.keyFile,
    "given together with kafka.ssl.certFile, or neither",
  );
  demand(
    kafka.transactionTimeoutMs >= kafka.sessionTimeoutMs,
    ["kafka.transactionTimeoutMs", "kafka.sessionTimeoutMs"],
    kafka.transactionTimeoutMs,
    `at least kafka.sessionTimeoutMs (${kafka.sessionTimeoutMs}), or a living owner's transaction is aborted`,
  );
  return [...broken, ...findSharedTopics(config), ...findUnfitSeries(config)];
}

function findSharedTopics({ topics }: GivenConfig): readonly BrokenRule[] {
  const uses = [
    ...topics.inputs.map(({ topic }, index) => ({ key: "topics.inputs", within: `[${index}].topic`, topic })),
    ...(["forecasts", "state", "models", "deadLetters", "events", "training", "attempts"] as const).map(
      (name) => ({
        key: `topics.${name}`,
        within: "",
        topic: topics[name],
      }),
    ),
  ];
  return uses.flatMap((use, index) => {
    const earlier = uses.slice(0, index).find(({ topic }) => topic === use.topic);
    return earlier === undefined
      ? []
      : [
          {
            keys: [use.key, earlier.key],
            within: use.within,
            given: use.topic,
            allowed: `a topic of its own, not that of ${earlier.key}${earlier.within}`,
          },
        ];
  });
}

/** Checks the defaults, then each override on top of them. */
function findUnfitSeries({ series }: GivenConfig): readonly BrokenRule[] {
  const { overrides, ...base } = series;
  const ofDefaults = findUnfit(base).map(({ name, ...rest }) => ({
    keys: [`series.${name}`, "series.horizon", "series.season", "series.history"],
    ...rest,
  }));
  const ofOverrides = overrides.flatMap((override, index) =>
    // What the defaults get wrong already is said once, above.
    (changesSize(override) ? findUnfit({ ...base, ...override }) : []).map(({ name, ...rest }) => ({
      keys: ["series.overrides", "series.horizon", "series.season", "series.history", "series.gapMax"],
      within: `[${index}] (match "${override.match}").${name}`,
      ...rest,
    })),
  );
  return [...ofDefaults, ...ofOverrides];
}

function changesSize(override: SeriesOverride): boolean {
  return ["horizon", "season", "history", "gapMax"].some((name) => Object.hasOwn(override, name));
}

function findUnfit(given: Omit<GivenConfig["series"], "overrides">) {
  const { horizon, season, history, gapMax } = resolveSettings(given);
  const least = minimumHistory(horizon, season);
  const unfit: { name: string; given: unknown; allowed: string }[] = [];
  if (history < least) {
    const meaning = given.history === 0 ? `; 0 stands for ${history}` : "";
    const why = `four horizons of ${horizon} and two seasons of ${season}`;
    unfit.push({ name: "history", given: given.history, allowed: `at least ${least} (${why})${meaning}` });
  }
  if (gapMax >= history) {
    unfit.push({ name: "gapMax", given: gapMax, allowed: `less than the history kept (${history})` });
  }
  return unfit;
}
