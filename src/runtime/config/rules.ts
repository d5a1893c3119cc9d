// The rules between settings. Each rule names the setting to change first, then the others it depends on. A rule is not
// applied while one of its settings is invalid by itself.

import { passwordMechanisms } from "./login-schema.ts";
import type { GivenConfig, SeriesOverride } from "./schema.ts";
import { minimumHistory, resolveSettings } from "./series-rules.ts";

export interface BrokenRule {
  /** The settings involved; the first is the one to change. */
  readonly keys: readonly string[];
  /** The item of a list that the rule is about, described so that the reader finds it. */
  readonly within?: string;
  readonly given: unknown;
  readonly allowed: string;
}

export function findBrokenRules(config: GivenConfig): readonly BrokenRule[] {
  const { kafka, registry, output, topics } = config;
  const { ssl } = kafka;
  const usesRegistry = [output, ...topics.inputs].some(({ format }) => format === "confluent");
  const broken: BrokenRule[] = [];
  const demand = (holds: boolean, keys: readonly string[], given: unknown, allowed: string) => {
    if (!holds) broken.push({ keys, given, allowed });
  };

  demand(
    !usesRegistry || registry.url !== "",
    ["registry.url", "output.format", "topics.inputs"],
    registry.url,
    "the URL of the registry, because a topic has the format confluent",
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
    "set together with registry.username, or both empty",
  );
  demand(
    registry.caFile === "" || registry.url.startsWith("https:"),
    ["registry.caFile", "registry.url"],
    registry.caFile,
    "empty while registry.url is not https",
  );
  demandLogin(kafka, demand);
  for (const name of ["caFile", "certFile", "keyFile"] as const) {
    const keys = [`kafka.ssl.${name}`, "kafka.ssl.enabled"];
    demand(ssl.enabled || ssl[name] === "", keys, ssl[name], "empty while kafka.ssl.enabled is false");
  }
  demand(
    (ssl.certFile === "") === (ssl.keyFile === ""),
    ["kafka.ssl.keyFile", "kafka.ssl.certFile"],
    ssl.keyFile,
    "set together with kafka.ssl.certFile, or both empty",
  );
  demand(
    kafka.transactionTimeoutMs >= kafka.sessionTimeoutMs,
    ["kafka.transactionTimeoutMs", "kafka.sessionTimeoutMs"],
    kafka.transactionTimeoutMs,
    `at least kafka.sessionTimeoutMs (${kafka.sessionTimeoutMs}), so that the transaction of a live owner is not aborted`,
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
            allowed: `a topic other than that of ${earlier.key}${earlier.within}`,
          },
        ];
  });
}

const sizeNames = ["horizon", "season", "history", "gapMax", "min", "max"] as const;
const sizeKeys = sizeNames.map((name) => `series.${name}`);

/** Checks the defaults, then each override on top of them. */
function findUnfitSeries({ series }: GivenConfig): readonly BrokenRule[] {
  const { overrides, ...base } = series;
  const ofDefaults = findUnfit(base).map(({ name, ...rest }) => ({
    keys: [`series.${name}`, ...sizeKeys],
    ...rest,
  }));
  const ofOverrides = overrides.flatMap((override, index) =>
    // Problems of the defaults are reported once, above.
    (changesSize(override) ? findUnfit({ ...base, ...override }) : []).map(({ name, ...rest }) => ({
      keys: ["series.overrides", ...sizeKeys],
      within: `[${index}] (match "${override.match}").${name}`,
      ...rest,
    })),
  );
  return [...ofDefaults, ...ofOverrides];
}

function changesSize(override: SeriesOverride): boolean {
  return sizeNames.some((name) => Object.hasOwn(override, name));
}

function findUnfit(given: Omit<GivenConfig["series"], "overrides">) {
  const { horizon, season, history, gapMax } = resolveSettings(given);
  const least = minimumHistory(horizon, season);
  const unfit: { name: string; given: unknown; allowed: string }[] = [];
  if (history < least) {
    const meaning = given.history === 0 ? `; 0 means ${history}` : "";
    const why = `four horizons of ${horizon} and two seasons of ${season}`;
    unfit.push({ name: "history", given: given.history, allowed: `at least ${least} (${why})${meaning}` });
  }
  if (gapMax >= history) {
    unfit.push({ name: "gapMax", given: gapMax, allowed: `less than the stored history (${history})` });
  }
  const { min, max } = given;
  if (typeof min === "number" && typeof max === "number" && max < min) {
    unfit.push({ name: "max", given: max, allowed: `at least series.min (${min})` });
  }
  return unfit;
}

type Demand = (holds: boolean, keys: readonly string[], given: unknown, allowed: string) => void;

/** What the login mechanism needs, what it would ignore, and what needs encryption. */
function demandLogin({ sasl, ssl }: GivenConfig["kafka"], demand: Demand): void {
  const { mechanism, oauth } = sasl;
  const hasPassword = (passwordMechanisms as readonly string[]).includes(mechanism);
  const whileSo = `while kafka.sasl.mechanism is ${mechanism}`;
  for (const name of ["username", "passwordFile"] as const) {
    const need = `${hasPassword ? "not " : ""}empty ${whileSo}`;
    demand((sasl[name] !== "") === hasPassword, keysOf(name), sasl[name], need);
  }
  const isBearer = mechanism === "oauthbearer";
  for (const name of ["tokenFile", "tokenUrl", "extensions"] as const) {
    demand(isBearer || oauth[name].length === 0, keysOf(`oauth.${name}`), oauth[name], `empty ${whileSo}`);
  }
  if (isBearer) {
    demand(
      (oauth.tokenFile === "") !== (oauth.tokenUrl === ""),
      ["kafka.sasl.oauth.tokenUrl", "kafka.sasl.oauth.tokenFile", "kafka.sasl.mechanism"],
      oauth.tokenUrl,
      "either this key or kafka.sasl.oauth.tokenFile, but not both",
    );
  }
  const asksEndpoint = oauth.tokenUrl !== "";
  const whileAsking = `while kafka.sasl.oauth.tokenUrl is ${asksEndpoint ? "set" : "empty"}`;
  for (const name of ["clientId", "clientSecretFile"] as const) {
    const keys = [`kafka.sasl.oauth.${name}`, "kafka.sasl.oauth.tokenUrl"];
    demand(
      (oauth[name] !== "") === asksEndpoint,
      keys,
      oauth[name],
      `${asksEndpoint ? "not " : ""}empty ${whileAsking}`,
    );
  }
  for (const name of ["scope", "parameters", "caFile"] as const) {
    const keys = [`kafka.sasl.oauth.${name}`, "kafka.sasl.oauth.tokenUrl"];
    demand(asksEndpoint || oauth[name].length === 0, keys, oauth[name], `empty ${whileAsking}`);
  }
  demand(
    oauth.caFile === "" || !asksEndpoint || oauth.tokenUrl.startsWith("https:"),
    ["kafka.sasl.oauth.caFile", "kafka.sasl.oauth.tokenUrl"],
    oauth.caFile,
    "empty while kafka.sasl.oauth.tokenUrl is not https",
  );
  const isAws = mechanism === "aws-msk-iam";
  demand(isAws || sasl.aws.region === "", keysOf("aws.region"), sasl.aws.region, `empty ${whileSo}`);
  const encryption = ["kafka.ssl.enabled", "kafka.sasl.mechanism"];
  demand(
    !isAws || ssl.enabled,
    encryption,
    ssl.enabled,
    `true ${whileSo}, because MSK accepts it only over TLS`,
  );
}

function keysOf(name: string): readonly string[] {
  return [`kafka.sasl.${name}`, "kafka.sasl.mechanism"];
}
