// Turns custom resource definitions into the JSON Schemas that kubeconform reads. Strict, as an API server is that is
// asked to be: a field the definition does not know is refused.

import { parseAllDocuments } from "yaml";
import { isPlainObject } from "../../src/runtime/config/formats.ts";

interface Definition {
  readonly kind: string;
  readonly spec: {
    readonly group: string;
    readonly names: { readonly kind: string };
    readonly versions: readonly { readonly name: string; readonly schema: { openAPIV3Schema: unknown } }[];
  };
}

/** Schemas by file name: group/kind_version.json, the kind in small letters. */
export function crdSchemas(text: string): ReadonlyMap<string, string> {
  const definitions = parseAllDocuments(text).map((document) => document.toJS() as Definition | null);
  const entries = definitions.flatMap((definition) => {
    if (definition?.kind !== "CustomResourceDefinition") return [];
    const { group, names, versions } = definition.spec;
    return versions.map(({ name, schema }): [string, string] => [
      `${group}/${names.kind.toLowerCase()}_${name}.json`,
      JSON.stringify(strict(schema.openAPIV3Schema)),
    ]);
  });
  return new Map(entries);
}

function strict(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(strict);
  if (!isPlainObject(node)) return node;
  if (node["x-kubernetes-int-or-string"] === true) return { type: ["integer", "string"] };
  const copy = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, strict(value)]));
  const isOpen = node["x-kubernetes-preserve-unknown-fields"] === true || "additionalProperties" in node;
  // Metadata is given without its fields, and known to be sound.
  return isPlainObject(node.properties) && !isOpen ? { ...copy, additionalProperties: false } : copy;
}
