// The shapes of Kubernetes objects that values pass on, by the names that `@schema` comments in values.yaml use. They are
// one level deep, which is enough to refuse a misspelt field. The API server checks the rest.

import type { JsonSchema } from "../../src/runtime/config/formats.ts";

function fields(...names: readonly string[]): JsonSchema {
  return fieldsOf({}, names);
}

function fieldsOf(each: JsonSchema, names: readonly string[]): JsonSchema {
  const properties = Object.fromEntries(names.map((name) => [name, each]));
  return { type: "object", properties, additionalProperties: false };
}

function listOf(items: JsonSchema): JsonSchema {
  return { type: "array", items };
}

/** Has too many fields to list, but must have a name. */
const named: JsonSchema = { type: "object", required: ["name"] };

export const kubernetesShapes: Readonly<Record<string, JsonSchema>> = {
  labels: { type: "object", additionalProperties: { type: "string" } },
  resources: fields("requests", "limits", "claims"),
  strategy: fields("type", "rollingUpdate"),
  affinity: fields("nodeAffinity", "podAffinity", "podAntiAffinity"),
  tolerations: listOf(fields("key", "operator", "value", "effect", "tolerationSeconds")),
  spread: listOf(
    fields(
      ...["maxSkew", "topologyKey", "whenUnsatisfiable", "labelSelector"],
      ...["matchLabelKeys", "minDomains", "nodeAffinityPolicy", "nodeTaintsPolicy"],
    ),
  ),
  probe: fieldsOf({ type: "integer" }, [
    ...["initialDelaySeconds", "periodSeconds", "timeoutSeconds", "successThreshold", "failureThreshold"],
  ]),
  behavior: fields("scaleUp", "scaleDown"),
  env: listOf({
    type: "object",
    required: ["name"],
    additionalProperties: false,
    // Text only: the API server refuses an unquoted number with a message that is hard to understand.
    properties: { name: { type: "string" }, value: { type: "string" }, valueFrom: { type: "object" } },
  }),
  envFrom: listOf(fields("prefix", "configMapRef", "secretRef")),
  volumes: listOf(named),
  mounts: listOf({
    ...fields(
      ...["name", "mountPath", "subPath", "subPathExpr", "readOnly", "mountPropagation", "recursiveReadOnly"],
    ),
    required: ["name", "mountPath"],
  }),
  containers: listOf(named),
  peers: listOf(fields("podSelector", "namespaceSelector", "ipBlock")),
  ingress: listOf(fields("from", "ports")),
  egress: listOf(fields("to", "ports")),
  relabelings: listOf(
    fields("sourceLabels", "separator", "targetLabel", "regex", "modulus", "replacement", "action"),
  ),
  triggers: listOf({ type: "object", required: ["type", "metadata"] }),
  metrics: listOf({ type: "object", required: ["type"] }),
  podSecurity: fields(
    ...["runAsNonRoot", "runAsUser", "runAsGroup", "fsGroup", "fsGroupChangePolicy", "supplementalGroups"],
    ...["supplementalGroupsPolicy", "seccompProfile", "seLinuxOptions", "seLinuxChangePolicy", "sysctls"],
    ...["appArmorProfile", "windowsOptions"],
  ),
  containerSecurity: fields(
    ...["allowPrivilegeEscalation", "readOnlyRootFilesystem", "runAsNonRoot", "runAsUser", "runAsGroup"],
    ...["capabilities", "privileged", "procMount", "seccompProfile", "seLinuxOptions", "appArmorProfile"],
    ...["windowsOptions"],
  ),
};
