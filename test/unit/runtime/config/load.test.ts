import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { inspect } from "node:util";
import { loadConfig } from "../../../../src/runtime/config/load.ts";
import { ForecastnetError } from "../../../../src/runtime/errors.ts";

interface Sources {
  readonly argv?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly files?: Readonly<Record<string, string>>;
}

function load({ argv = [], env = {}, files = {} }: Sources = {}) {
  return loadConfig({
    argv,
    env,
    readFile(path) {
      if (!(path in files)) throw new Error(`ENOENT: no such file, open '${path}'`);
      return files[path];
    },
  });
}

function problemsOf(sources: Sources): readonly string[] {
  try {
    load(sources);
  } catch (error) {
    assert.ok(error instanceof ForecastnetError);
    assert.equal(error.code, "CONFIG_INVALID");
    const [, ...lines] = error.message.split("\n").map((line) => line.trim());
    return lines;
  }
  throw new assert.AssertionError({ message: "the configuration was accepted" });
}

function ofFile(text: string, name = "c.yaml"): Sources {
  return { argv: ["--config", name], files: { [name]: text } };
}

describe("sources", () => {
  test("every key has a default", () => {
    const config = load();
    assert.equal(config.group, "forecastnet");
    assert.deepEqual(config.kafka.brokers, ["127.0.0.1:9092"]);
    assert.deepEqual(config.topics.inputs[0], {
      topic: "sensors",
      format: "avro",
      seriesField: "seriesId",
      timeField: "time",
      valueField: "value",
      timeUnit: "ms",
    });
    assert.equal(config.kafka.sasl.password, null);
  });

  test("a flag beats the environment, which beats the file, which beats the default", () => {
    const file = "worker: { port: 1, graceMs: 1111, host: file }";
    const config = load({
      argv: ["--config=c.yaml", "--worker.port=3"],
      env: { FORECASTNET_WORKER_PORT: "2", FORECASTNET_WORKER_GRACE_MS: "2222" },
      files: { "c.yaml": file },
    });
    assert.deepEqual(config.worker, { port: 3, graceMs: 2222, host: "file", logLevel: "info", token: null });
  });

  test("a variable may name the file, and the flag beats the variable", () => {
    const files = { "a.yaml": "group: a", "b.yml": "group: b" };
    const env = { FORECASTNET_CONFIG: "a.yaml" };
    assert.equal(load({ env, files }).group, "a");
    assert.equal(load({ env, files, argv: ["--config", "b.yml"] }).group, "b");
  });

  test("a YAML file and a JSON file give the same configuration", () => {
    const yaml = "kafka:\n  brokers: [a:1, b:2]\n  createTopics: false\n";
    const json = '{\n\t"kafka": { "brokers": ["a:1", "b:2"], "createTopics": false }\n}\n';
    assert.deepEqual(load(ofFile(yaml)), load(ofFile(json, "c.json")));
  });

  test("text is converted to numbers, booleans, lists and lists of objects", () => {
    const config = load({
      argv: [
        "--kafka.brokers=a:9092,b:9092",
        "--kafka.replicationFactor",
        "-1",
        "--output.levels",
        "0.1, 0.9",
      ],
      env: {
        FORECASTNET_KAFKA_CREATE_TOPICS: "false",
        FORECASTNET_TOPICS_INPUTS: '[{"topic": "t", "format": "json"}]',
      },
    });
    assert.deepEqual(config.kafka.brokers, ["a:9092", "b:9092"]);
    assert.equal(config.kafka.replicationFactor, -1);
    assert.deepEqual(config.output.levels, [0.1, 0.9]);
    assert.equal(config.kafka.createTopics, false);
    assert.deepEqual(config.topics.inputs, [
      {
        topic: "t",
        format: "json",
        seriesField: "seriesId",
        timeField: "time",
        valueField: "value",
        timeUnit: "ms",
      },
    ]);
  });

  test("the configuration is deeply frozen", () => {
    const config = load();
    for (const part of [config, config.kafka.ssl, config.topics.inputs, config.topics.inputs[0]]) {
      assert.ok(Object.isFrozen(part));
    }
  });

  test("loading does not leak values into the next load", () => {
    load({ argv: ["--kafka.brokers=a:1"] });
    assert.deepEqual(load().kafka.brokers, ["127.0.0.1:9092"]);
  });
});

describe("problems", () => {
  test("all problems are reported at once, each with key, value, source and what is allowed", () => {
    const problems = problemsOf({
      argv: ["--config", "c.yaml", "--worker.logLevel=loud", "--group"],
      env: { FORECASTNET_KAFKA_SESSION_TIMEOUT_MS: "50", FORECASTNET_GRUOP: "x" },
      files: {
        "c.yaml": "worker: { port: 12abc }\nkafka: 5\ntopics: { inputs: [{ topic: a, timeUnit: m }, {}] }",
      },
    });
    assert.deepEqual(problems, [
      "kafka: 5 given (file c.yaml), allowed: a group of keys",
      "FORECASTNET_GRUOP: unknown key (environment), did you mean FORECASTNET_GROUP?",
      "group: no value given (flag --group), write --group=value",
      'worker.port: "12abc" given (file c.yaml), allowed: integer from 0 to 65535',
      'topics.inputs[0].timeUnit: "m" given (file c.yaml), allowed: ms, s, us, iso',
      "topics.inputs[1].topic: nothing given (file c.yaml), allowed: topic name of up to 249 letters, digits, dots, dashes and underscores",
      "kafka.sessionTimeoutMs: 50 given (environment FORECASTNET_KAFKA_SESSION_TIMEOUT_MS), allowed: integer from 1000 to 300000",
      'worker.logLevel: "loud" given (flag --worker.logLevel), allowed: trace, debug, info, warn, error, fatal, silent',
    ]);
  });

  for (const [key, values] of Object.entries({
    "kafka.createTopics": ["yes", "1", ""],
    "kafka.brokers": ["", "a", "a:0", "a:65536", "a:1,", "[a:1"],
    "kafka.replicationFactor": ["0", "-2", "1.5"],
    "output.levels": ["0,0.5", "0.5,1", "0.5,0.5", "0.9,0.1", "x", "[]"],
    "series.interval": ["P", "PT", "5m", "P1H", "PT0S", "P1DT", "1h"],
    "series.horizon": ["0", "-1", "NaN", "Infinity", "0x10", "1e", " "],
    "series.overrides": ["a", "[a]", "[{horizon: 3}]", "[{match: a, horizon: x}]", "[{match: a, levels: 1}]"],
    "topics.forecasts": ["", "..", "a b", "ü"],
    "topics.inputs": ["[]", "sensors", "[{topic: a, valueField: a..b}]"],
    "registry.url": ["registry:8081", "ftp://a", "http://user:pw@host", "http://"],
    group: ["", " "],
  })) {
    test(`${key} refuses ${values.map((value) => JSON.stringify(value)).join(", ")}`, () => {
      for (const value of values) {
        const problems = problemsOf({ argv: [`--${key}=${value}`] });
        assert.ok(
          problems.length > 0 && problems.every((line) => line.startsWith(key)),
          `${value}: ${problems}`,
        );
      }
    });
  }

  for (const value of ["auto", "PT5M", "PT1H", "P1D", "P1M", "P1W", "PT0.5S", "P1DT12H"]) {
    test(`series.interval accepts ${value}`, () => {
      assert.equal(load({ argv: [`--series.interval=${value}`] }).series.interval, value);
    });
  }

  test("an unknown key of any source is reported with the nearest known key", () => {
    assert.match(
      problemsOf(ofFile("kafka: { brokrs: x }"))[0],
      /^kafka\.brokrs: .*did you mean kafka\.brokers\?$/,
    );
    assert.match(problemsOf(ofFile("brokers: x"))[0], /did you mean kafka\.brokers\?$/);
    assert.match(problemsOf({ argv: ["--worker.prot=1"] })[0], /did you mean worker\.port\?$/);
    assert.match(
      problemsOf(ofFile("series: { overrides: [{ match: a, horizn: 3 }] }"))[0],
      /did you mean horizon\?$/,
    );
    assert.match(problemsOf(ofFile("zzzzzzzz: 1"))[0], /see docs\/configuration\.md$/);
  });

  test("__proto__ and constructor are unknown keys", () => {
    assert.match(problemsOf(ofFile("__proto__: { a: 1 }"))[0], /^__proto__: unknown key/);
    assert.match(problemsOf(ofFile("constructor: 1"))[0], /^constructor: unknown key/);
  });

  test("variables that Kubernetes adds for a service named forecastnet are ignored", () => {
    const env = {
      FORECASTNET_SERVICE_HOST: "10.0.0.1",
      FORECASTNET_SERVICE_PORT_HTTP: "80",
      FORECASTNET_PORT: "tcp://10.0.0.1:80",
      FORECASTNET_PORT_80_TCP_ADDR: "10.0.0.1",
    };
    assert.deepEqual(load({ env }), load());
  });

  test("a syntax error is reported with file, line and column", () => {
    const [problem] = problemsOf(ofFile("group: a\nkafka:\n  brokers: [a:1\nworker: {}\n"));
    assert.match(problem, /^config: c\.yaml cannot be read: line 4, column 1: .*\(flag --config\)/);
    assert.match(problemsOf(ofFile('{\n"group": }x', "c.json"))[0], /c\.json cannot be read: line 2/);
    assert.match(problemsOf(ofFile("group: a\ngroup: b"))[0], /line 2, column 1: Map keys must be unique/);
    assert.match(problemsOf(ofFile("group: *nowhere"))[0], /c\.yaml cannot be read: .*nowhere/);
  });

  test("a missing file, an unknown file type and a stray argument are problems", () => {
    assert.match(
      problemsOf({ argv: ["--config", "no.yaml"] })[0],
      /^config: no\.yaml cannot be read: ENOENT/,
    );
    assert.match(problemsOf(ofFile("", "c.toml"))[0], /allowed: a file ending in \.yaml, \.yml or \.json$/);
    assert.match(problemsOf({ argv: ["worker"] })[0], /^worker: unexpected argument/);
  });

  test("an empty file is accepted", () => {
    assert.deepEqual(load(ofFile("# nothing yet\n")), load());
  });
});

describe("secrets", () => {
  const sasl = ["--kafka.sasl.mechanism=plain", "--kafka.sasl.username=u"];

  test("a secret is read from its file, trimmed, and masked wherever it is printed", () => {
    const config = load({
      argv: [...sasl, "--kafka.sasl.passwordFile=/s/pw"],
      files: { "/s/pw": " hunter2\n" },
    });
    assert.equal(config.kafka.sasl.password?.reveal(), "hunter2");
    for (const shown of [
      JSON.stringify(config),
      inspect(config, { depth: 9 }),
      `${config.kafka.sasl.password}`,
    ]) {
      assert.ok(!shown.includes("hunter2"));
      assert.ok(shown.includes("***"));
    }
  });

  test("a missing or empty secret file is reported with the other problems", () => {
    const argv = [...sasl, "--kafka.sasl.passwordFile=/s/pw", "--worker.port=x"];
    const [port, missing] = problemsOf({ argv });
    assert.match(port, /^worker\.port/);
    assert.match(
      missing,
      /^kafka\.sasl\.passwordFile: file \/s\/pw cannot be read: ENOENT.*flag --kafka\.sasl/,
    );
    assert.match(problemsOf({ argv, files: { "/s/pw": "\n" } })[1], /file \/s\/pw is empty/);
  });

  test("a secret written into the configuration is refused and not repeated", () => {
    const misplaced = [
      { argv: ["--kafka.sasl.password=hunter2"] },
      { argv: ["--kafka.sasl.pasword", "hunter2"] },
      { argv: [...sasl, "--kafka.sasl.passwordFile=hunter2"] },
      { argv: ["--registry.url=http://me:hunter2@host"] },
      { env: { FORECASTNET_KAFKA_SASL_PASSWORD: "hunter2" } },
      ofFile("kafka: { sasl: { password: hunter2 } }"),
    ];
    for (const sources of misplaced) {
      assert.doesNotMatch(problemsOf(sources).join("\n"), /hunter2/);
    }
    assert.match(problemsOf(misplaced[0])[0], /name that file in kafka\.sasl\.passwordFile$/);
    assert.match(problemsOf(misplaced[4])[0], /name that file in FORECASTNET_KAFKA_SASL_PASSWORD_FILE$/);
  });
});
