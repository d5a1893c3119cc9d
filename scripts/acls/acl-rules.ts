// The rights that each program needs, as deploy/examples/acls.yaml states them, and what they come to under a
// configuration: one entry per resource and operation, as a cluster knows them.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import type { AppConfig } from "../../src/runtime/config/schema.ts";

export type AclRole = "worker" | "trainer" | "topics" | "operator" | "sensor" | "probe" | "subscriber";
export type AclResource = "topic" | "group" | "transactionalId";
export type AclOperation = "Read" | "Write" | "Create" | "Describe" | "DescribeConfigs";

export interface AclRule {
  readonly resource: AclResource;
  /** A key of the configuration. */
  readonly of: string;
  readonly ending?: string;
  readonly pattern?: "prefixed";
  readonly operations: readonly AclOperation[];
  readonly why: string;
}

export interface AclRights {
  readonly about: string;
  readonly rules: readonly AclRule[];
}

export type AclTable = Readonly<Record<AclRole, AclRights>>;

export interface Acl {
  readonly resource: AclResource;
  readonly name: string;
  readonly isPrefix: boolean;
  readonly operation: AclOperation;
}

type NamedBy = Pick<AppConfig, "group" | "topics">;

export const aclFile = "deploy/examples/acls.yaml";

export function readAclTable(root: string): AclTable {
  return parse(readFileSync(join(root, aclFile), "utf8")) as AclTable;
}

/** What the rule's resource is called; an input may be several topics. */
export function namesOf({ of, ending = "" }: AclRule, config: NamedBy): readonly string[] {
  const names: Readonly<Record<string, readonly string[]>> = {
    group: [config.group],
    "topics.inputs": config.topics.inputs.map(({ topic }) => topic),
    ...Object.fromEntries(
      Object.entries(config.topics)
        .filter(([name]) => name !== "inputs")
        .map(([name, topic]) => [`topics.${name}`, [topic as string]]),
    ),
  };
  const found = names[of];
  if (found === undefined) throw new Error(`${aclFile}: no key ${of} of the configuration names a resource`);
  return found.map((name) => name + ending);
}

export function aclsOf({ rules }: AclRights, config: NamedBy): readonly Acl[] {
  return rules.flatMap((rule) =>
    namesOf(rule, config).flatMap((name) =>
      rule.operations.map((operation) => ({
        ...{ resource: rule.resource, name, operation },
        isPrefix: rule.pattern === "prefixed",
      })),
    ),
  );
}
