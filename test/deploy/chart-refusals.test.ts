// Values that the chart refuses before anything reaches a cluster: unknown ones and contradictory ones. Each message names
// the value.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { chartTools, template } from "../rig/chart.ts";

const needsTools = await chartTools();

const slips: readonly (readonly [string, RegExp])[] = [
  ["replicaCount=3", /'replicaCount' not allowed/],
  ["worker.replica=3", /'\/worker': additional properties 'replica' not allowed/],
  ["worker.replicas=many", /'\/worker\/replicas': got string, want integer/],
  ["trainer.enabled=sometimes", /'\/trainer\/enabled': got string, want boolean/],
  [
    "worker.autoscaling.kind=KEDA",
    /'\/worker\/autoscaling\/kind': value must be one of 'none', 'keda', 'hpa'/,
  ],
  ["worker.pdb.maxUnavailble=1", /'\/worker\/pdb': additional properties 'maxUnavailble' not allowed/],
  ["image.pullPolicy=Sometimes", /'\/image\/pullPolicy': value must be one of 'Always'/],
  ["image.digest=latest", /'\/image\/digest': 'latest' does not match pattern/],
  [
    "secrets.kafkaSasl.password=hunter2",
    /'\/secrets\/kafkaSasl': additional properties 'password' not allowed/,
  ],
  ["secrets.kafkaSASL.existingSecret=x", /'\/secrets': additional properties 'kafkaSASL' not allowed/],
  ["gpu.roles={worker,sensor}", /'\/gpu\/roles\/1': value must be one of 'worker', 'trainer'/],
  ["worker.resources.limit.cpu=1", /'\/worker\/resources': additional properties 'limit' not allowed/],
  [
    "worker.probes.liveness.periodSecond=1",
    /'\/worker\/probes\/liveness': additional properties 'periodSecond' not allowed/,
  ],
  ["worker.extraEnv[0].nam=x", /'\/worker\/extraEnv\/0': additional properties 'nam' not allowed/],
  ["worker.extraEnv[0].value=3", /'\/worker\/extraEnv\/0\/value': got number, want string/],
  ["podMonitor.enable=true", /'\/podMonitor': additional properties 'enable' not allowed/],
  ["service.port=70000", /'\/service\/port': maximum: got 70,000, want 65,535/],
  ["config.kafka.borkers={a:9092}", /'\/config\/kafka': additional properties 'borkers' not allowed/],
  ["config.kafka.brokers={kafka}", /'\/config\/kafka\/brokers\/0': 'kafka' does not match pattern/],
  ["config.kafka.sasl.mechanism=scram", /'\/config\/kafka\/sasl\/mechanism': value must be one of 'none'/],
  [
    "config.kafka.sasl.password=hunter2",
    /'\/config\/kafka\/sasl': additional properties 'password' not allowed/,
  ],
  ["config.series.horizon=0", /'\/config\/series\/horizon': minimum: got 0, want 1/],
  ["config.series.overrides[0].horizon=2", /'\/config\/series\/overrides\/0': missing property 'match'/],
  ["config.topics.inputs[0].format=avro", /'\/config\/topics\/inputs\/0': missing property 'topic'/],
  [
    "config.retrain.where=trainer",
    /'\/config\/retrain\/where': value must be one of 'worker', 'trainers', 'off'/,
  ],
  ["config.worker.graceMS=1000", /'\/config\/worker': additional properties 'graceMS' not allowed/],
  ["config.worker.graceMs=null", /'\/config\/worker': missing property 'graceMs'/],
];

const contradictions: readonly (readonly [string, RegExp])[] = [
  [
    "trainer.enabled=true,config.retrain.where=off",
    /config\.retrain\.where is off, so trainers would get no requests/,
  ],
  ["secrets.kafkaSasl.existingSecret=s", /config\.kafka\.sasl\.mechanism is not: set it to plain/],
  ["config.kafka.sasl.mechanism=plain", /there is no password: name its Secret in secrets\.kafkaSasl/],
  [
    "secrets.kafkaSasl.existingSecret=s,config.kafka.sasl.mechanism=plain",
    /no user: set config\.kafka\.sasl\.username or secrets\.kafkaSasl\.usernameKey/,
  ],
  [
    "config.kafka.sasl.mechanism=oauthbearer",
    /there is no source of tokens: set config\.kafka\.sasl\.oauth\.tokenUrl or secrets\.kafkaToken\.audience/,
  ],
  [
    "config.kafka.sasl.mechanism=oauthbearer,config.kafka.sasl.oauth.tokenUrl=https://i/t",
    /there is no client secret: name its Secret in secrets\.kafkaOauth/,
  ],
  [
    "config.kafka.sasl.mechanism=oauthbearer,config.kafka.sasl.oauth.tokenUrl=https://i/t,secrets.kafkaOauth.existingSecret=s",
    /no client id: set config\.kafka\.sasl\.oauth\.clientId or secrets\.kafkaOauth\.clientIdKey/,
  ],
  ["secrets.kafkaToken.audience=kafka", /secrets\.kafkaToken is given but .* is none: set it to oauthbearer/],
  [
    "worker.autoscaling.kind=keda,config.kafka.ssl.enabled=true,config.kafka.sasl.mechanism=aws-msk-iam",
    /the chart cannot create a TriggerAuthentication for aws-msk-iam/,
  ],
  [
    "secrets.registryCa.existingSecret=s",
    /secrets\.registryCa is given but config\.registry\.url is not https/,
  ],
  [
    "secrets.httpToken.existingSecret=s,config.worker.tokenFile=/x",
    /config\.worker\.tokenFile is given and secrets/,
  ],
  [
    "secrets.kafkaCa.existingSecret=s,config.kafka.ssl.caFile=/x",
    /config\.kafka\.ssl\.caFile is given and secrets/,
  ],
  ["secrets.kafkaCa.existingSecret=s,config.kafka.ssl.enabled=false", /config\.kafka\.ssl\.enabled is false/],
  ["secrets.registry.existingSecret=s,secrets.registry.usernameKey=u", /config\.registry\.url is not/],
  ["gpu.enabled=true,config.engine.kind=simd", /config\.engine\.kind is simd, which uses no GPU/],
  [
    `gpu.enabled=true,image.digest=sha256:${"0".repeat(64)}`,
    /image without TensorFlow: give gpu\.image\.digest/,
  ],
  ["gpu.enabled=true,gpu.roles={trainer}", /gpu\.roles has the trainer but trainer\.enabled is false/],
  ["config.worker.port=0", /config\.worker\.port is 0/],
  ["config.worker.host=127.0.0.1", /config\.worker\.host is the pod's loopback address/],
  [
    "topics.create=false,topics.inputPartitions=3",
    /topics\.create is false, so nothing creates the input topics/,
  ],
  [
    "worker.autoscaling.kind=hpa,worker.autoscaling.minReplicas=0",
    /cannot scale from 0: give 1 or more, or use keda/,
  ],
  ["worker.autoscaling.kind=keda,worker.autoscaling.minReplicas=9", /minReplicas is more than maxReplicas/],
  [
    "worker.autoscaling.kind=hpa,worker.resources.requests.cpu=null",
    /resources\.requests\.cpu, which is not given/,
  ],
  ["worker.pdb.minAvailable=1", /worker\.pdb takes either maxUnavailable or minAvailable/],
  [
    "worker.autoscaling.kind=keda,secrets.kafkaSasl.existingSecret=s,config.kafka.sasl.mechanism=plain,config.kafka.sasl.username=u",
    /KEDA can log in only with values from Secrets, including the user name/,
  ],
];

async function assertRefused(values: string, message: RegExp): Promise<void> {
  const { isOk, output } = await template("--set", values);
  assert.ok(!isOk, `${values} was accepted`);
  assert.match(output, message);
}

describe("a misspelt or invalid value is refused", needsTools, () => {
  for (const [values, message] of slips) test(values, () => assertRefused(values, message));
});

describe("contradictory values are refused", needsTools, () => {
  for (const [values, message] of contradictions) test(values, () => assertRefused(values, message));

  test("all contradictions at once", async () => {
    const { output } = await template("--set", "config.worker.port=0,config.kafka.sasl.mechanism=plain");
    assert.match(output, /worker\.port is 0/);
    assert.match(output, /there is no password/);
  });
});

describe("free-form values are accepted", needsTools, () => {
  const free = [
    "worker.podLabels.x=y",
    "worker.nodeSelector.disk=fast",
    "worker.podAnnotations.x=y",
    "global.x=y",
  ];
  for (const values of free) {
    test(values, async () => {
      const { isOk, output } = await template("--set", values);
      assert.ok(isOk, output);
    });
  }
});
