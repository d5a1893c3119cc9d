import assert from "node:assert/strict";
import { test } from "node:test";
import { loadConfig } from "../../../../src/runtime/config/load.ts";

interface RuleCase {
  readonly title: string;
  readonly breaks: readonly string[];
  /** Added to satisfy the rule. */
  readonly fixes: readonly string[];
  readonly message: RegExp;
}

const cases: readonly RuleCase[] = [
  {
    title: "an input in confluent format needs a registry",
    breaks: ["--topics.inputs=[{topic: a, format: confluent}]"],
    fixes: ["--registry.url=http://r:8081"],
    message: /^registry\.url: "" given \(default\), allowed: the URL of the registry/m,
  },
  {
    title: "output in confluent format needs a registry",
    breaks: ["--output.format=confluent"],
    fixes: ["--registry.url=http://r:8081/apis/ccompat/v7"],
    message: /^registry\.url: "" given/m,
  },
  {
    title: "a registry user needs a registry and a password",
    breaks: ["--registry.username=u"],
    fixes: ["--registry.url=http://r", "--registry.passwordFile=/s"],
    message: /^registry\.username: "u" given .*\n\s*registry\.passwordFile: "" given/m,
  },
  {
    title: "a login needs a user and a password",
    breaks: ["--kafka.sasl.mechanism=scram-sha-256"],
    fixes: ["--kafka.sasl.username=u", "--kafka.sasl.passwordFile=/s"],
    message: /^kafka\.sasl\.username: "" given .*\n\s*kafka\.sasl\.passwordFile: "" given/m,
  },
  {
    title: "a user without a login mechanism is refused",
    breaks: ["--kafka.sasl.username=u"],
    fixes: ["--kafka.sasl.mechanism=plain", "--kafka.sasl.passwordFile=/s"],
    message: /^kafka\.sasl\.username: "u" given .* allowed: empty while kafka\.sasl\.mechanism is none/m,
  },
  {
    title: "oauthbearer needs a token endpoint or a token file",
    breaks: ["--kafka.sasl.mechanism=oauthbearer"],
    fixes: ["--kafka.sasl.oauth.tokenFile=/s"],
    message: /^kafka\.sasl\.oauth\.tokenUrl: "" given .* either this key or kafka\.sasl\.oauth\.tokenFile/m,
  },
  {
    title: "a token endpoint needs a client and its secret",
    breaks: ["--kafka.sasl.mechanism=oauthbearer", "--kafka.sasl.oauth.tokenUrl=https://i/token"],
    fixes: ["--kafka.sasl.oauth.clientId=c", "--kafka.sasl.oauth.clientSecretFile=/s"],
    message: /^kafka\.sasl\.oauth\.clientId: "" given .*\n\s*kafka\.sasl\.oauth\.clientSecretFile: "" given/m,
  },
  {
    title: "settings of a token endpoint without its URL are refused",
    breaks: [
      ...["--kafka.sasl.mechanism=oauthbearer", "--kafka.sasl.oauth.clientId=c"],
      ...["--kafka.sasl.oauth.clientSecretFile=/s", "--kafka.sasl.oauth.parameters=audience=kafka"],
    ],
    fixes: ["--kafka.sasl.oauth.tokenUrl=https://i/token"],
    message:
      /^kafka\.sasl\.oauth\.parameters: .* given .* empty while kafka\.sasl\.oauth\.tokenUrl is empty/m,
  },
  {
    title: "a token without its mechanism is refused",
    breaks: ["--kafka.sasl.oauth.tokenFile=/s"],
    fixes: ["--kafka.sasl.mechanism=oauthbearer"],
    message: /^kafka\.sasl\.oauth\.tokenFile: "\/s" given .* empty while kafka\.sasl\.mechanism is none/m,
  },
  {
    title: "a login to MSK by IAM needs encryption",
    breaks: ["--kafka.sasl.mechanism=aws-msk-iam"],
    fixes: ["--kafka.ssl.enabled=true"],
    message: /^kafka\.ssl\.enabled: false given .* true while kafka\.sasl\.mechanism is aws-msk-iam/m,
  },
  {
    title: "a region without MSK is refused",
    breaks: ["--kafka.sasl.aws.region=eu-central-1"],
    fixes: ["--kafka.sasl.mechanism=aws-msk-iam", "--kafka.ssl.enabled=true"],
    message: /^kafka\.sasl\.aws\.region: "eu-central-1" given .* empty while kafka\.sasl\.mechanism is none/m,
  },
  {
    title: "a certificate authority of the registry needs https",
    breaks: ["--registry.url=http://r", "--registry.caFile=/s"],
    fixes: ["--registry.url=https://r"],
    message: /^registry\.caFile: "\/s" given .* empty while registry\.url is not https/m,
  },
  {
    title: "a certificate authority without encryption is refused",
    breaks: ["--kafka.ssl.caFile=/s"],
    fixes: ["--kafka.ssl.enabled=true"],
    message: /^kafka\.ssl\.caFile: "\/s" given .* empty while kafka\.ssl\.enabled is false/m,
  },
  {
    title: "a client certificate needs its key",
    breaks: ["--kafka.ssl.enabled=true", "--kafka.ssl.certFile=/s"],
    fixes: ["--kafka.ssl.keyFile=/s"],
    message: /^kafka\.ssl\.keyFile: "" given .* together with kafka\.ssl\.certFile/m,
  },
  {
    title: "the transaction timeout is at least the session timeout",
    breaks: ["--kafka.sessionTimeoutMs=90000"],
    fixes: ["--kafka.transactionTimeoutMs=90000"],
    message:
      /^kafka\.transactionTimeoutMs: 60000 given \(default\), allowed: at least kafka\.sessionTimeoutMs/m,
  },
  {
    title: "an input topic may be listed only once",
    breaks: ["--topics.inputs=[{topic: a}, {topic: b}, {topic: a}]"],
    fixes: ["--topics.inputs=[{topic: a}, {topic: b}]"],
    message: /^topics\.inputs\[2\]\.topic: "a" given .* other than that of topics\.inputs\[0\]\.topic/m,
  },
  {
    title: "the worker's own topics differ from the inputs",
    breaks: ["--topics.state=sensors"],
    fixes: ["--topics.inputs=[{topic: a}]"],
    message: /^topics\.state: "sensors" given .* other than that of topics\.inputs\[0\]\.topic/m,
  },
  {
    title: "the worker's own topics differ from each other",
    breaks: ["--topics.deadLetters=forecasts"],
    fixes: ["--topics.forecasts=f"],
    message: /^topics\.deadLetters: "forecasts" given .* other than that of topics\.forecasts/m,
  },
  {
    title: "the history holds four horizons",
    breaks: ["--series.history=95"],
    fixes: ["--series.horizon=23"],
    message: /^series\.history: 95 given .* allowed: at least 96 /m,
  },
  {
    title: "the history holds two seasons, and the message says what 0 means",
    breaks: ["--series.season=721"],
    fixes: ["--series.history=1442"],
    message: /^series\.history: 0 given \(default\), allowed: at least 1442 .*; 0 means 1440/m,
  },
  {
    title: "the longest filled gap is shorter than the history",
    breaks: ["--series.gapMax=1440"],
    fixes: ["--series.history=1441"],
    message: /^series\.gapMax: 1440 given .* less than the stored history \(1440\)/m,
  },
  {
    title: "the upper bound is not below the lower one",
    breaks: ["--series.min=5", "--series.max=4"],
    fixes: ["--series.max=5"],
    message: /^series\.max: 4 given \(flag --series\.max\), allowed: at least series\.min \(5\)/m,
  },
  {
    title: "the bounds of an override are checked against those of the defaults",
    breaks: ["--series.min=5", "--series.overrides=[{match: a, max: 4}]"],
    fixes: ["--series.min=none"],
    message: /^series\.overrides\[0\] \(match "a"\)\.max: 4 given .* allowed: at least series\.min \(5\)/m,
  },
  {
    title: "an override is checked on top of the defaults and named by its position and pattern",
    breaks: ["--series.history=96", "--series.overrides=[{match: a, every: 2}, {match: 'b-*', horizon: 48}]"],
    fixes: ["--series.history=192"],
    message: /^series\.overrides\[1\] \(match "b-\*"\)\.history: 96 given .* allowed: at least 192/m,
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

for (const { title, breaks, fixes, message } of cases) {
  test(title, () => {
    assert.match(problemsOf(breaks), message);
    assert.equal(problemsOf([...breaks, ...fixes]), "");
  });
}

test("a rule is not applied to a setting that is invalid by itself", () => {
  const message = problemsOf(["--kafka.sessionTimeoutMs=90000", "--kafka.transactionTimeoutMs=soon"]);
  assert.match(message, /\(1 problem\)\nkafka\.transactionTimeoutMs: "soon" given/);
});

test("broken rules and invalid values are reported together", () => {
  const message = problemsOf(["--output.format=confluent", "--worker.port=x"]);
  assert.match(message, /^worker\.port/m);
  assert.match(message, /^registry\.url/m);
});

test("an override that changes no size does not repeat a problem of the defaults", () => {
  const message = problemsOf(["--series.history=10", "--series.overrides=[{match: a, every: 2}]"]);
  assert.match(message, /\(1 problem\)\nseries\.history: 10 given/);
});
