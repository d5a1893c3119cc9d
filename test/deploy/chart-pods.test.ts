// What holds for every pod of the chart, whatever the values: restricted by the Pod Security Standards, no secrets in
// plain text, a grace period longer than that of the process. Also the order of the hooks.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { chartFolder, chartTools, render, runChartTool, titleOf, valueSets } from "../rig/chart.ts";
import { type Container, type PodSpec, podOf } from "../rig/kubernetes-object.ts";

const needsTools = await chartTools();

const allowedVolumes = [
  "configMap",
  "csi",
  "downwardAPI",
  "emptyDir",
  "ephemeral",
  "persistentVolumeClaim",
  "projected",
  "secret",
];

/** The rules of the profile "restricted" and our own, each as a sentence that must hold for a pod. */
const podRules: Readonly<Record<string, (pod: PodSpec) => boolean>> = {
  "shares nothing with its node": ({ hostNetwork, hostPID, hostIPC }) => !hostNetwork && !hostPID && !hostIPC,
  "takes no port of its node": ({ containers }) =>
    containers.every(({ ports = [] }) => ports.every(({ hostPort }) => hostPort === undefined)),
  "mounts only volumes of allowed kinds": ({ volumes = [] }) =>
    volumes.every(({ name: _, ...source }) =>
      Object.keys(source).every((kind) => allowedVolumes.includes(kind)),
    ),
  "does not run as root": ({ securityContext }) =>
    securityContext?.runAsNonRoot === true && securityContext.runAsUser === 1000,
  "has the runtime's seccomp profile": ({ securityContext }) =>
    securityContext?.seccompProfile?.type === "RuntimeDefault",
  "has no service account token": ({ automountServiceAccountToken }) =>
    automountServiceAccountToken === false,
  "gets no service variables": ({ enableServiceLinks }) => enableServiceLinks === false,
};

const containerRules: Readonly<Record<string, (container: Container) => boolean>> = {
  "is not privileged": ({ securityContext }) => !securityContext?.privileged,
  "cannot gain privileges": ({ securityContext }) => securityContext?.allowPrivilegeEscalation === false,
  "drops all capabilities": ({ securityContext }) =>
    securityContext?.capabilities?.drop?.includes("ALL") === true &&
    securityContext.capabilities.add === undefined,
  "does not ask to be root": ({ securityContext }) =>
    securityContext?.runAsNonRoot !== false && securityContext?.runAsUser !== 0,
  "keeps the pod's seccomp profile": ({ securityContext }) => securityContext?.seccompProfile === undefined,
  "writes nowhere in its image": ({ securityContext }) => securityContext?.readOnlyRootFilesystem === true,
};

describe("every pod is restricted", needsTools, () => {
  for (const values of valueSets) {
    test(`with ${titleOf(values)}`, async () => {
      const pods = (await render("-f", values)).map(podOf).filter((pod) => pod !== null);
      assert.ok(pods.length >= 2);
      for (const pod of pods) assert.deepEqual(brokenRules(pod), []);
    });
  }

  test("and an unsafe pod is reported rule by rule", async () => {
    const unsafe = await render(
      ...[
        "--set",
        "containerSecurityContext.allowPrivilegeEscalation=true,podSecurityContext.runAsNonRoot=false",
      ],
      ...[
        "--set",
        "containerSecurityContext.capabilities.drop=null,podSecurityContext.seccompProfile.type=Unconfined",
      ],
      ...["--set", "containerSecurityContext.readOnlyRootFilesystem=false"],
      ...["--set", "worker.extraVolumes[0].name=host,worker.extraVolumes[0].hostPath.path=/"],
    );
    const [pod] = unsafe.map(podOf).filter((found) => found !== null);
    assert.deepEqual(brokenRules(pod as PodSpec), [
      "mounts only volumes of allowed kinds",
      "does not run as root",
      "has the runtime's seccomp profile",
      "cannot gain privileges",
      "drops all capabilities",
      "writes nowhere in its image",
    ]);
  });
});

describe("secrets", needsTools, () => {
  test("are never part of the chart", async () => {
    for (const values of valueSets) {
      const objects = await render("-f", values);
      assert.deepEqual(
        objects.filter(({ kind }) => kind === "Secret"),
        [],
      );
    }
  });

  test("reach a container as files or by reference, never as plain text", async () => {
    const objects = await render("-f", "helm/forecastnet/ci/keda-values.yaml");
    const variables = objects
      .flatMap((object) => podOf(object)?.containers ?? [])
      .flatMap(({ env = [] }) => env);
    const users = variables.filter(({ name }) => name.endsWith("USERNAME"));
    assert.ok(users.length >= 2);
    for (const { name, value, valueFrom } of users) {
      assert.equal(value, undefined, name);
      assert.ok(valueFrom !== undefined, name);
    }
    assert.deepEqual(
      variables.filter(({ name }) => /PASSWORD|TOKEN|KEY/.test(name)),
      [],
    );
  });
});

describe("the grace period", needsTools, () => {
  const cases = [
    ["config.worker.graceMs=25000", 35],
    ["config.worker.graceMs=25001", 36],
    ["config.worker.graceMs=600000", 610],
    ["config.worker.graceMs=1000,graceMarginSeconds=5", 6],
  ] as const;
  for (const [values, seconds] of cases) {
    test(`is ${seconds} s with ${values}`, async () => {
      const objects = await render("--set", `trainer.enabled=true,${values}`);
      const deployments = objects.filter(({ kind }) => kind === "Deployment");
      assert.equal(deployments.length, 2);
      for (const deployment of deployments) {
        assert.equal(podOf(deployment)?.terminationGracePeriodSeconds, seconds);
      }
    });
  }
});

describe("the topics", needsTools, () => {
  test("are created before the release by a Job whose dependencies are hooks, too", async () => {
    const objects = await render("--set", "networkPolicy.enabled=true");
    const hooks = objects.filter(({ metadata }) =>
      metadata.annotations?.["helm.sh/hook"]?.startsWith("pre-"),
    );
    const weights = hooks.map(({ kind, metadata }) => [kind, metadata.annotations?.["helm.sh/hook-weight"]]);
    assert.deepEqual(
      new Map(weights as [string, string][]),
      new Map([
        ["ServiceAccount", "-10"],
        ["ConfigMap", "-10"],
        ["NetworkPolicy", "-10"],
        ["Job", "-5"],
      ]),
    );
    for (const { metadata } of hooks) {
      assert.equal(metadata.annotations?.["helm.sh/hook"], "pre-install,pre-upgrade");
      assert.match(metadata.annotations?.["helm.sh/hook-delete-policy"] ?? "", /before-hook-creation/);
    }
    const job = hooks.find(({ kind }) => kind === "Job");
    const pod = job === undefined ? null : podOf(job);
    const inHooks = new Set(hooks.map(({ kind, metadata }) => `${kind}/${metadata.name}`));
    assert.ok(inHooks.has(`ServiceAccount/${pod?.serviceAccountName}`));
    assert.ok(inHooks.has(`ConfigMap/${configMapOf(pod)}`));
  });

  test("include the input topics if asked for", async () => {
    const argsWith = async (...options: string[]) => {
      const job = (await render(...options)).find(({ kind }) => kind === "Job");
      return job === undefined ? undefined : podOf(job)?.containers[0]?.args;
    };
    const config = ["--config", "/etc/forecastnet/forecastnet.yaml"];
    assert.deepEqual(await argsWith(), ["topics", "create", ...config]);
    assert.deepEqual(await argsWith("--set", "topics.inputPartitions=12"), [
      "topics",
      "create",
      ...config,
      "--inputs",
      "12",
    ]);
    assert.equal(await argsWith("--set", "topics.create=false"), undefined);
  });
});

test("two releases in one namespace have no name in common", needsTools, async () => {
  const values = ["-f", "helm/forecastnet/ci/everything-values.yaml"];
  const names = async (release: string) => {
    const { stdout } = await runChartTool("helm", ["template", release, chartFolder, ...values]);
    return new Set(
      [...stdout.matchAll(/^kind: (\w+)\nmetadata:\n {2}name: (\S+)/gm)].map(
        ([, kind, name]) => `${kind}/${name}`,
      ),
    );
  };
  const [one, other] = [await names("one"), await names("other")];
  assert.ok(one.size > 10);
  assert.deepEqual(
    [...one].filter((name) => other.has(name)),
    [],
  );
});

/** The rules that the pod or one of its containers breaks. */
function brokenRules(pod: PodSpec): readonly string[] {
  const containers = [...pod.containers, ...(pod.initContainers ?? [])];
  const ofPod = Object.entries(podRules).filter(([, holds]) => !holds(pod));
  const ofContainers = Object.entries(containerRules).filter(([, holds]) => !containers.every(holds));
  return [...ofPod, ...ofContainers].map(([rule]) => rule);
}

function configMapOf(pod: PodSpec | null): string | undefined {
  const volume = pod?.volumes?.find(({ name }) => name === "config") as
    | {
        readonly projected: {
          readonly sources: readonly { readonly configMap?: { readonly name: string } }[];
        };
      }
    | undefined;
  return volume?.projected.sources.find(({ configMap }) => configMap !== undefined)?.configMap?.name;
}
