// The rights that each program needs, from deploy/examples/acls.yaml, and the ACLs that follow from them for a
// configuration: one per resource and operation.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import type { AppConfig } from "../../src/runtime/config/schema.ts";

export type AclRole = "worker" | "trainer" | "topics" | "operator" | "sensor" | "probe" | "subscriber";
export type AclResource = "topic" | "group" | "transactionalId";
export type AclOperation = "Read" | "Write" | "Create" | "Alter" | "Describe" | "DescribeConfigs";

export interface AclRule {
  readonly resource: AclResource;
  /** The configuration key that names the resource. */
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

/** The names of the rule's resources; there may be several input topics. */
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
  if (found === undefined) throw new Error(`${aclFile}: the configuration key ${of} names no resource`);
  return found.map((name) => name + ending);
}

export function aclsOf({ rules }: AclRights, config: NamedBy): readonly Acl[] {
  return rules.flatMap((rule) =>
    namesOf(rule, config).flatMap((name) =>
      rule.operations.map((operation) => ({
        resource: rule.resource,
        name,
        operation,
        isPrefix: rule.pattern === "prefixed",
      })),
    ),
  );
}
