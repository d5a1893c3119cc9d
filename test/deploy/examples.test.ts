// The examples are valid, and each is the same as a file and as values of the chart.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { parse } from "yaml";
import { loadConfig } from "../../src/runtime/config/load.ts";
import { projectRoot } from "../rig/project.ts";

type Tree = { readonly [name: string]: unknown };

interface ChartValues {
  readonly config: Tree;
  readonly secrets?: Readonly<Record<string, Tree>>;
  readonly trainer?: { readonly enabled: boolean };
}

const folder = join(projectRoot, "deploy/examples");
const read = (name: string, file: string): string => readFileSync(join(folder, name, file), "utf8");

/** The secret files exist only where the example runs. */
function load(name: string) {
  const readFile = (path: string) => (path === "example.yaml" ? read(name, "forecastnet.yaml") : "a secret");
  return loadConfig({ argv: ["--config=example.yaml"], env: {}, readFile });
}

/** Without the keys that the chart takes from Secrets: files and user names. */
function withoutSecrets(tree: Tree): Tree {
  const entries = Object.entries(tree)
    .filter(([name]) => !name.endsWith("File") && name !== "username")
    .map(([name, value]) => [name, isTree(value) ? withoutSecrets(value) : value] as const);
  return Object.fromEntries(entries);
}

function isTree(value: unknown): value is Tree {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

for (const name of ["strimzi", "confluent", "msk", "plain"]) {
  describe(`the example ${name}`, () => {
    const values = parse(read(name, "values.yaml")) as ChartValues;

    test("is a valid configuration", () => {
      assert.ok(load(name).kafka.brokers.length > 0);
    });

    test("is the same as values of the chart", () => {
      const { ssl, ...kafka } = withoutSecrets((parse(read(name, "forecastnet.yaml")) as Tree).kafka as Tree);
      const { retrain, ...file } = withoutSecrets(parse(read(name, "forecastnet.yaml")) as Tree);
      // A Secret with a certificate authority enables TLS, and trainers have their own switch.
      const hasCertificate = values.secrets?.kafkaCa !== undefined;
      const expected = {
        ...file,
        kafka: { ...kafka, ...(ssl === undefined || hasCertificate ? {} : { ssl }) },
      };
      assert.deepEqual(values.config, expected);
      assert.equal(values.trainer?.enabled ?? false, isTree(retrain) && retrain.where === "trainers");
    });

    test("names a Secret for every file that it reads", () => {
      const text = read(name, "forecastnet.yaml");
      const mounts = new Set([...text.matchAll(/\/secrets\/([\w-]+)\//g)].map(([, mount]) => mount));
      assert.equal(Object.keys(values.secrets ?? {}).length, mounts.size);
    });
  });
}
