// The product accepts the configuration that the chart mounts, with the secrets at their paths in the pod.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { parse } from "yaml";
import { loadConfig } from "../../src/runtime/config/load.ts";
import type { AppConfig } from "../../src/runtime/config/schema.ts";
import { chartTools, render, template, titleOf, valueSets } from "../rig/chart.ts";
import { type KubernetesObject, type PodSpec, podOf } from "../rig/kubernetes-object.ts";

const needsTools = await chartTools();
const folder = "/etc/forecastnet";

describe("the mounted configuration", needsTools, () => {
  for (const values of valueSets) {
    test(`of ${titleOf(values)} is valid in every pod`, async () => {
      const objects = await render("-f", values);
      const configs = loadAll(objects);
      assert.ok(configs.length >= 2);
      for (const { worker } of configs) assert.equal(worker.port, 9464);
    });
  }

  test("sends trainings to trainers when there are some", async () => {
    assert.equal(await whereTrained(), "worker");
    assert.equal(await whereTrained("--set", "trainer.enabled=true"), "trainers");
  });

  test("keeps large numbers exact", async () => {
    const [config] = loadAll(await render("-f", valuesNamed("everything")));
    assert.equal(config?.pipeline.behindAfterMs, 2_592_000_000);
    assert.equal(config?.limits.futureToleranceMs, 604_800_000);
  });

  test("changes the pods' annotation only when it changes itself", async () => {
    const checksum = async (...options: string[]) => {
      const { stdout } = await template(...options);
      return /checksum\/config: (\w+)/.exec(stdout)?.[1];
    };
    const plain = await checksum();
    assert.ok(plain !== undefined);
    assert.equal(await checksum("--set", "worker.replicas=7"), plain);
    assert.notEqual(await checksum("--set", "config.series.horizon=48"), plain);
    assert.notEqual(await checksum("--set", "secrets.httpToken.existingSecret=token"), plain);
  });

  test("gives each role the engine and threads of its pods", async () => {
    const engines = loadAll(await render("-f", valuesNamed("gpu"))).map(({ engine }) => engine);
    assert.deepEqual(new Set(engines.map(({ kind }) => kind)), new Set(["auto", "tensorflow"]));
    const [trainer] = loadAll(await render("-f", valuesNamed("trainers")), "trainer");
    assert.equal(trainer?.engine.threads, 3, "2500m of CPU are three, all for training");
    const given = ["--set", "config.engine.threads=5,worker.resources.limits.cpu=4"];
    assert.equal(loadAll(await render(...given), "worker")[0]?.engine.threads, 5);
    const limited = ["--set", "worker.resources.limits.cpu=4"];
    assert.equal(loadAll(await render(...limited), "worker")[0]?.engine.threads, 3);
  });
});

async function whereTrained(...options: readonly string[]): Promise<string | undefined> {
  return loadAll(await render(...options), "worker")[0]?.retrain.where;
}

function valuesNamed(name: string): string {
  return `helm/forecastnet/ci/${name}-values.yaml`;
}

/** The configuration as each pod loads it; of one component if one is given. */
function loadAll(objects: readonly KubernetesObject[], component?: string): readonly AppConfig[] {
  return objects
    .filter(
      ({ metadata }) =>
        component === undefined || metadata.labels["app.kubernetes.io/component"] === component,
    )
    .map(podOf)
    .filter((pod) => pod !== null)
    .map((pod) => loadIn(pod, objects));
}

function loadIn(pod: PodSpec, objects: readonly KubernetesObject[]): AppConfig {
  const files = mountedFiles(pod, objects);
  const [container] = pod.containers;
  const env = (container?.env ?? []).map(({ name, value }) => [name, value ?? "from a Secret"]);
  const argv = container?.args?.slice(
    container.args.indexOf("--config"),
    -extraArguments(container.args) || undefined,
  );
  return loadConfig({
    argv: argv ?? [],
    env: Object.fromEntries(env),
    readFile(path) {
      const content = files.get(path);
      if (content === undefined) throw new Error(`no file ${path} in the pod`);
      return content;
    },
  });
}

/** The arguments after the configuration's path belong to the command. */
function extraArguments(args: readonly string[]): number {
  return args.length - args.indexOf("--config") - 2;
}

/** The files of the projected volume, by path. */
function mountedFiles(pod: PodSpec, objects: readonly KubernetesObject[]): ReadonlyMap<string, string> {
  interface Source {
    readonly name: string;
    readonly items: readonly { readonly key: string; readonly path: string }[];
  }
  const volume = pod.volumes?.find(({ name }) => name === "config") as {
    projected: {
      sources: readonly { configMap?: Source; secret?: Source; serviceAccountToken?: { path: string } }[];
    };
  };
  const files = volume.projected.sources.flatMap(({ configMap, secret, serviceAccountToken }) => {
    if (serviceAccountToken !== undefined) return [[serviceAccountToken.path, "token"] as const];
    if (configMap === undefined) return secret?.items.map(({ path }) => [path, "secret"] as const) ?? [];
    const found = objects.find(
      ({ kind, metadata }) => kind === "ConfigMap" && metadata.name === configMap.name,
    );
    return configMap.items.map(({ key, path }) => [path, found?.data?.[key] ?? ""] as const);
  });
  for (const [path, content] of files) if (path.endsWith(".yaml")) assert.ok(parse(content) !== null);
  return new Map(files.map(([path, content]) => [`${folder}/${path}`, content]));
}
