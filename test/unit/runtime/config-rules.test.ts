import assert from "node:assert/strict";
import { test } from "node:test";
import { loadConfig } from "../../../src/runtime/config/load.ts";

interface RuleCase {
  readonly title: string;
  readonly breaks: readonly string[];
  /** What is added to satisfy the rule. */
  readonly mends: readonly string[];
  readonly says: RegExp;
}

const cases: readonly RuleCase[] = [
  {
    title: "an input in confluent format needs a registry",
    breaks: ["--topics.inputs=[{topic: a, format: confluent}]"],
    mends: ["--registry.url=http://r:8081"],
    says: /^registry\.url: "" given \(default\), allowed: the registry's address/m,
  },
  {
    title: "output in confluent format needs a registry",
    breaks: ["--output.format=confluent"],
    mends: ["--registry.url=http://r:8081/apis/ccompat/v7"],
    says: /^registry\.url: "" given/m,
  },
  {
    title: "a registry user needs a registry and a password",
    breaks: ["--registry.username=u"],
    mends: ["--registry.url=http://r", "--registry.passwordFile=/s"],
    says: /^registry\.username: "u" given .*\n\s*registry\.passwordFile: "" given/m,
  },
  {
    title: "a login needs a user and a password",
    breaks: ["--kafka.sasl.mechanism=scram-sha-256"],
    mends: ["--kafka.sasl.username=u", "--kafka.sasl.passwordFile=/s"],
    says: /^kafka\.sasl\.username: "" given .*\n\s*kafka\.sasl\.passwordFile: "" given/m,
  },
  {
    title: "a user without a login mechanism would be ignored, so it is refused",
    breaks: ["--kafka.sasl.username=u"],
    mends: ["--kafka.sasl.mechanism=plain", "--kafka.sasl.passwordFile=/s"],
    says: /^kafka\.sasl\.username: "u" given .* allowed: empty while kafka\.sasl\.mechanism is none/m,
  },
  {
    title: "a certificate authority without encryption is refused",
    breaks: ["--kafka.ssl.caFile=/s"],
    mends: ["--kafka.ssl.enabled=true"],
    says: /^kafka\.ssl\.caFile: "\/s" given .* empty while kafka\.ssl\.enabled is false/m,
  },
  {
    title: "a client certificate needs its key",
    breaks: ["--kafka.ssl.enabled=true", "--kafka.ssl.certFile=/s"],
    mends: ["--kafka.ssl.keyFile=/s"],
    says: /^kafka\.ssl\.keyFile: "" given .* together with kafka\.ssl\.certFile/m,
  },
  {
    title: "a transaction may not time out before the session",
    breaks: ["--kafka.sessionTimeoutMs=90000"],
    mends: ["--kafka.transactionTimeoutMs=90000"],
    says: /^kafka\.transactionTimeoutMs: 60000 given \(default\), allowed: at least kafka\.sessionTimeoutMs/m,
  },
  {
    title: "an input topic may be named once only",
    breaks: ["--topics.inputs=[{topic: a}, {topic: b}, {topic: a}]"],
    mends: ["--topics.inputs=[{topic: a}, {topic: b}]"],
    says: /^topics\.inputs\[2\]\.topic: "a" given .* not that of topics\.inputs\[0\]\.topic/m,
  },
  {
    title: "our own topics differ from the inputs",
    breaks: ["--topics.state=sensors"],
    mends: ["--topics.inputs=[{topic: a}]"],
    says: /^topics\.state: "sensors" given .* not that of topics\.inputs\[0\]\.topic/m,
  },
  {
    title: "our own topics differ from each other",
    breaks: ["--topics.deadLetters=forecasts"],
    mends: ["--topics.forecasts=f"],
    says: /^topics\.deadLetters: "forecasts" given .* not that of topics\.forecasts/m,
  },
  {
    title: "the history holds four horizons",
    breaks: ["--series.history=95"],
    mends: ["--series.horizon=23"],
    says: /^series\.history: 95 given .* allowed: at least 96 /m,
  },
  {
    title: "the history holds two seasons, and the message says what 0 stands for",
    breaks: ["--series.season=721"],
    mends: ["--series.history=1442"],
    says: /^series\.history: 0 given \(default\), allowed: at least 1442 .*; 0 stands for 1440/m,
  },
  {
    title: "the longest gap filled is shorter than the history",
    breaks: ["--series.gapMax=1440"],
    mends: ["--series.history=1441"],
    says: /^series\.gapMax: 1440 given .* less than the history kept \(1440\)/m,
  },
  {
    title: "an override is checked on top of the defaults and named by its place and pattern",
    breaks: ["--series.history=96", "--series.overrides=[{match: a, every: 2}, {match: 'b-*', horizon: 48}]"],
    mends: ["--series.history=192"],
    says: /^series\.overrides\[1\] \(match "b-\*"\)\.history: 96 given .* allowed: at least 192/m,
  },
];

function load(argv: readonly string[]) {
  return loadConfig({ argv, env: {}, readFile: () => "secret" });
}

function problemsOf(argv: readonly string[]): string {
  try {
    load(argv);
  } catch (error) {
    return String((error as Error).message).replaceAll("\n  ", "\n");
  }
  return "";
}

for (const { title, breaks, mends, says } of cases) {
  test(title, () => {
    assert.match(problemsOf(breaks), says);
    assert.equal(problemsOf([...breaks, ...mends]), "");
  });
}

test("a rule is silent about a setting that is wrong by itself", () => {
  const message = problemsOf(["--kafka.sessionTimeoutMs=90000", "--kafka.transactionTimeoutMs=soon"]);
  assert.match(message, /\(1 problem\)\nkafka\.transactionTimeoutMs: "soon" given/);
});

test("rules and single values are reported together", () => {
  const message = problemsOf(["--output.format=confluent", "--worker.port=x"]);
  assert.match(message, /^worker\.port/m);
  assert.match(message, /^registry\.url/m);
});

test("an override that leaves the sizes alone does not repeat what the defaults get wrong", () => {
  const message = problemsOf(["--series.history=10", "--series.overrides=[{match: a, every: 2}]"]);
  assert.match(message, /\(1 problem\)\nseries\.history: 10 given/);
});
