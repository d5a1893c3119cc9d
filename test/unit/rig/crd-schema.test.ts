import assert from "node:assert/strict";
import { test } from "node:test";
import { crdSchemas } from "../../rig/crd-schema.ts";

test("a definition becomes a strict schema for each of its versions", () => {
  const definition = `
kind: CustomResourceDefinition
spec:
  group: keda.sh
  names: { kind: ScaledObject }
  versions:
    - name: v1alpha1
      schema:
        openAPIV3Schema:
          type: object
          properties:
            metadata: { type: object }
            replicas: { x-kubernetes-int-or-string: true }
            free: { type: object, properties: { a: {} }, x-kubernetes-preserve-unknown-fields: true }
            inner: { type: array, items: { type: object, properties: { b: { type: string } } } }
---
kind: ConfigMap
`;
  const schemas = crdSchemas(definition);
  assert.deepEqual([...schemas.keys()], ["keda.sh/scaledobject_v1alpha1.json"]);
  const [schema] = [...schemas.values()].map((text) => JSON.parse(text));
  assert.equal(schema.additionalProperties, false);
  assert.deepEqual(schema.properties.metadata, { type: "object" });
  assert.deepEqual(schema.properties.replicas, { type: ["integer", "string"] });
  assert.equal(schema.properties.free.additionalProperties, undefined);
  assert.equal(schema.properties.inner.items.additionalProperties, false);
});
