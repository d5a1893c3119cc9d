// Random values of any of our schemas, in the form that avsc returns, and a comparison that ignores its classes.

import fc from "fast-check";
import type { AvroDefinition, AvroSchema } from "../../../../src/log/codec/avro-schema.ts";

const primitives: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  null: fc.constant(null),
  boolean: fc.boolean(),
  int: fc.integer(),
  // avsc doubles a long to encode its sign, so it is exact only up to 2^52.
  long: fc.integer({ min: -(2 ** 52), max: 2 ** 52 }),
  double: fc.double(),
  string: fc.string({ unit: "grapheme" }),
  bytes: fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
};

export function arbitraryOf(
  schema: AvroSchema,
  named = new Map<string, fc.Arbitrary<unknown>>(),
): fc.Arbitrary<unknown> {
  if (typeof schema === "string") {
    const known = primitives[schema] ?? named.get(schema);
    if (known === undefined) throw new Error(`no arbitrary for ${schema}`);
    return known;
  }
  if (Array.isArray(schema)) return fc.oneof(...schema.map((branch) => arbitraryOf(branch, named)));
  const definition = schema as AvroDefinition;
  const arbitrary = complexArbitrary(definition, named);
  if (definition.name !== undefined) named.set(definition.name, arbitrary);
  return arbitrary;
}

function complexArbitrary(
  definition: AvroDefinition,
  named: Map<string, fc.Arbitrary<unknown>>,
): fc.Arbitrary<unknown> {
  const { type, items = "null", values = "null", symbols = [], fields = [] } = definition;
  if (type === "array") return fc.array(arbitraryOf(items, named), { maxLength: 5 });
  if (type === "map") {
    const key = fc.string().filter((text) => text !== "__proto__");
    return fc.dictionary(key, arbitraryOf(values, named), { maxKeys: 4, noNullPrototype: true });
  }
  if (type === "enum") return fc.constantFrom(...symbols);
  if (type !== "record") return arbitraryOf(type, named);
  const entries = fields.map((field) => [field.name, arbitraryOf(field.type, named)] as const);
  return fc.record(Object.fromEntries(entries), { noNullPrototype: true });
}

/** The same value with plain objects instead of avsc's record classes. */
export function plain(value: unknown): unknown {
  if (Buffer.isBuffer(value) || typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(plain);
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plain(inner)]));
}
