// Generates docs/acls.md from deploy/examples/acls.yaml, with the names of the default configuration. Pure.

import { loadConfig } from "../../src/runtime/config/load.ts";
import { type AclRights, type AclRole, type AclRule, namesOf, readAclTable } from "./acl-rules.ts";

type Names = Parameters<typeof namesOf>[1];

const resourceWords = { topic: "topic", group: "group", transactionalId: "transactional id" } as const;
const resourceFlags = { topic: "topic", group: "group", transactionalId: "transactional-id" } as const;

/** Contents by path from the repository's root. */
export function generateAclDocs(root: string): Map<string, string> {
  const table = Object.entries(readAclTable(root)) as [AclRole, AclRights][];
  const names = loadConfig({ argv: [], env: {} });
  const page = [
    "<!-- Generated from deploy/examples/acls.yaml; run `npm run generate`. -->",
    "# Rights on the Kafka cluster",
    "",
    "On a cluster with ACLs, each program needs the rights below and no others. None of them is cluster-wide. The names are those of",
    "the default configuration; replace them with yours. [`acls.yaml`](../deploy/examples/acls.yaml) has the rights as data.",
    "[A test](../test/integrity/exact-acls.test.ts) runs the programs on a real broker with exactly these rights. It also removes some of",
    "them: a program that lacks a right names it (`NOT_AUTHORIZED`, [errors.md](errors.md)).",
    "",
    "`Read` and `Write` include `Describe`. A name that ends in `*` is a prefix. `DescribeConfigs` is needed for the topic settings that",
    "are checked at the start (`cleanup.policy`, `max.message.bytes`, `min.insync.replicas`, and",
    "[how tables are cleaned](operations.md#cleaning-of-the-compacted-topics)).",
    "",
    ...table.flatMap(([role, rights]) => section(role, rights, names)),
    "## Granting them",
    "",
    "With Kafka's own tool, for a worker that logs in as `worker`:",
    "",
    "```sh",
    ...table
      .filter(([role]) => role === "worker")
      .flatMap(([role, { rules }]) => commands(role, rules, names)),
    "```",
    "",
    "On Strimzi, `KafkaUser` resources grant the same rights: [`users.yaml`](../deploy/examples/strimzi/users.yaml), generated from the same data.",
    "",
    "## Several fleets on one cluster",
    "",
    "Give each fleet a `group` and topic names that begin with its own name, such as `plant-1.forecastnet` and `plant-1.forecasts`. Its",
    "user then needs three rules, all with the prefix `plant-1.`: `Read`, `Write` and `DescribeConfigs` on topics (and `Create`, if it is",
    "to create them), `Read` on groups, and `Write` on transactional ids. No fleet can then read or disturb another. Two fleets must",
    "never share a group.",
    "",
  ];
  return new Map([["docs/acls.md", page.join("\n")]]);
}

function section(role: AclRole, { about, rules }: AclRights, names: Names): readonly string[] {
  return [
    `## ${role[0].toUpperCase()}${role.slice(1)}`,
    "",
    about,
    "",
    "| resource | operations | for |",
    "| --- | --- | --- |",
    ...rules.map(
      (rule) =>
        `| ${resourceWords[rule.resource]} \`${shownName(rule, names)}\` | ${rule.operations.join(", ")} | ${rule.why} |`,
    ),
    "",
  ];
}

function shownName(rule: AclRule, names: Names): string {
  return namesOf(rule, names).join("`, `") + (rule.pattern === "prefixed" ? "*" : "");
}

function commands(user: string, rules: readonly AclRule[], names: Names): readonly string[] {
  return rules.map((rule) => {
    const operations = rule.operations.map((operation) => `--operation ${operation}`).join(" ");
    const pattern = rule.pattern === "prefixed" ? " --resource-pattern-type prefixed" : "";
    const resources = namesOf(rule, names).map((name) => `--${resourceFlags[rule.resource]} ${name}`);
    const grant = `kafka-acls.sh --bootstrap-server "$BROKER" --add --allow-principal User:${user}`;
    return `${grant} ${operations} ${resources.join(" ")}${pattern}`;
  });
}
