import assert from "node:assert/strict";
import { test } from "node:test";
import { connectionWarnings, kafkaOptions } from "../../../src/cli/kafka-options.ts";
import { loadConfig } from "../../../src/runtime/config/load.ts";
import { silentLogger } from "../../../src/runtime/logging.ts";

const argv = [
  ...["--kafka.ssl.enabled=true", "--kafka.ssl.caFile=/s/ca"],
  ...["--kafka.sasl.mechanism=scram-sha-512", "--kafka.sasl.username=u", "--kafka.sasl.passwordFile=/s/pw"],
];

test("a rotated secret is used from the next connection on; a missing or empty file keeps the last value", () => {
  const files = new Map([
    ["/s/ca", "first ca"],
    ["/s/pw", "first password\n"],
  ]);
  const readFile = (path: string) => files.get(path) ?? assert.fail(`${path} is gone`);
  const options = kafkaOptions(loadConfig({ argv, env: {}, readFile }), silentLogger);
  // The client reads them for every connection.
  const { sasl } = options;
  assert.ok(sasl !== undefined && "password" in sasl);
  const seen = () => [Object.assign({}, options.ssl).ca, sasl.password];
  assert.deepEqual(seen(), ["first ca", "first password"]);
  files.set("/s/ca", "second ca").set("/s/pw", "second password");
  assert.deepEqual(seen(), ["second ca", "second password"]);
  files.set("/s/ca", "").delete("/s/pw");
  assert.deepEqual(seen(), ["second ca", "second password"]);
});

const secretFile = () => "secret";
const load = (flags: readonly string[]) => loadConfig({ argv: flags, env: {}, readFile: secretFile });
const plain = ["--kafka.sasl.mechanism=plain", "--kafka.sasl.username=u", "--kafka.sasl.passwordFile=/s"];
const scram = plain.with(0, "--kafka.sasl.mechanism=scram-sha-256");
const tls = "--kafka.ssl.enabled=true";
const bearer = [
  ...["--kafka.sasl.mechanism=oauthbearer", "--kafka.sasl.oauth.tokenUrl=http://i/token"],
  ...["--kafka.sasl.oauth.clientId=c", "--kafka.sasl.oauth.clientSecretFile=/s"],
];

test("a password, token or client secret that is sent unencrypted causes a warning", () => {
  assert.deepEqual(connectionWarnings(load([])), []);
  assert.match(connectionWarnings(load(plain)).join(), /^the password for the brokers is sent unencrypted/);
  assert.deepEqual(connectionWarnings(load([...plain, tls])), []);
  assert.deepEqual(connectionWarnings(load(scram)), [], "SCRAM does not send the password");
  assert.match(connectionWarnings(load(bearer)).join(), /^the token for the brokers.*,the client secret is/);
  assert.match(connectionWarnings(load([...bearer, tls])).join(), /^the client secret is sent unencrypted/);
});

test("the configured SASL extensions are part of an OAuth login", () => {
  const flags = [...bearer, "--kafka.sasl.oauth.extensions=logicalCluster=lkc-1,identityPoolId=a=b"];
  const { sasl } = kafkaOptions(load(flags), silentLogger);
  assert.ok(sasl !== undefined && "extensions" in sasl);
  assert.deepEqual(sasl.extensions, { logicalCluster: "lkc-1", identityPoolId: "a=b" });
});

test("the region of an MSK cluster comes from the broker names, and must be set where they lack it", () => {
  const msk = ["--kafka.sasl.mechanism=aws-msk-iam", tls];
  const named = [...msk, "--kafka.brokers=b-1.fleet.x1y2z3.c4.kafka.eu-central-1.amazonaws.com:9098"];
  assert.equal(kafkaOptions(load(named), silentLogger).sasl?.mechanism, "oauthbearer");
  const given = [...msk, "--kafka.sasl.aws.region=eu-west-1"];
  assert.equal(kafkaOptions(load(given), silentLogger).sasl?.mechanism, "oauthbearer");
  const { AWS_REGION, AWS_DEFAULT_REGION } = process.env;
  delete process.env.AWS_REGION;
  delete process.env.AWS_DEFAULT_REGION;
  try {
    assert.throws(() => kafkaOptions(load(msk), silentLogger), {
      code: "CONFIG_INVALID",
      message: /set this key/,
    });
  } finally {
    Object.assign(process.env, AWS_REGION && { AWS_REGION }, AWS_DEFAULT_REGION && { AWS_DEFAULT_REGION });
  }
});
