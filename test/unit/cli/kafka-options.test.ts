import assert from "node:assert/strict";
import { test } from "node:test";
import { kafkaOptions } from "../../../src/cli/kafka-options.ts";
import { loadConfig } from "../../../src/runtime/config/load.ts";
import { silentLogger } from "../../../src/runtime/logging.ts";

const argv = [
  ...["--kafka.ssl.enabled=true", "--kafka.ssl.caFile=/s/ca"],
  ...["--kafka.sasl.mechanism=scram-sha-512", "--kafka.sasl.username=u", "--kafka.sasl.passwordFile=/s/pw"],
];

test("a secret that is rotated is used from the next connection on; one that is gone stays what it was", () => {
  const files = new Map([
    ["/s/ca", "first ca"],
    ["/s/pw", "first password\n"],
  ]);
  const readFile = (path: string) => files.get(path) ?? assert.fail(`${path} is gone`);
  const options = kafkaOptions(loadConfig({ argv, env: {}, readFile }), silentLogger);
  // As the client does it for every connection.
  const seen = () => [Object.assign({}, options.ssl).ca, options.sasl?.password];
  assert.deepEqual(seen(), ["first ca", "first password"]);
  files.set("/s/ca", "second ca").set("/s/pw", "second password");
  assert.deepEqual(seen(), ["second ca", "second password"]);
  files.set("/s/ca", "").delete("/s/pw");
  assert.deepEqual(seen(), ["second ca", "second password"]);
});
