// A cluster with passwords and ACLs, for one test file: grants rights as its super user, and makes the
// configuration with which a program logs in as one of the others.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import kafkajs, { type Admin, type Kafka } from "kafkajs";
import type { Acl } from "../../../scripts/acls/acl-rules.ts";
import { passwordOf, superUser } from "../../rig/broker-users.ts";
import { type Broker, startBroker } from "../../rig/kafka-broker.ts";
import { guardedFolder } from "../../rig/service.ts";

const resourceTypes = {
  topic: kafkajs.AclResourceTypes.TOPIC,
  group: kafkajs.AclResourceTypes.GROUP,
  transactionalId: kafkajs.AclResourceTypes.TRANSACTIONAL_ID,
};

const operations = {
  Read: kafkajs.AclOperationTypes.READ,
  Write: kafkajs.AclOperationTypes.WRITE,
  Create: kafkajs.AclOperationTypes.CREATE,
  Describe: kafkajs.AclOperationTypes.DESCRIBE,
  Alter: kafkajs.AclOperationTypes.ALTER,
  DescribeConfigs: kafkajs.AclOperationTypes.DESCRIBE_CONFIGS,
};

export class GuardedCluster {
  readonly admin: Admin;
  readonly #broker: Broker;
  readonly #folder = guardedFolder("passwords");

  private constructor(broker: Broker, admin: Admin) {
    this.#broker = broker;
    this.admin = admin;
  }

  static async start(users: readonly string[]): Promise<GuardedCluster> {
    const broker = await startBroker({ users });
    const admin = clientOf(broker, superUser).admin();
    await admin.connect();
    return new GuardedCluster(broker, admin);
  }

  async stop(): Promise<void> {
    await this.admin.disconnect();
    await this.#broker.stop();
  }

  /** A client that is not ours. */
  client(user: string): Kafka {
    return clientOf(this.#broker, user);
  }

  /** The section `kafka` of a configuration. */
  kafkaConfig(user: string): Readonly<Record<string, unknown>> {
    const passwordFile = join(this.#folder, user);
    writeFileSync(passwordFile, passwordOf(user));
    return {
      brokers: [this.#broker.bootstrap],
      sasl: { mechanism: "plain", username: user, passwordFile },
    };
  }

  async grant(user: string, acls: readonly Acl[]): Promise<void> {
    await this.admin.createAcls({ acl: acls.map((acl) => entryOf(user, acl)) });
  }

  async revoke(user: string, acl: Acl): Promise<void> {
    await this.admin.deleteAcls({ filters: [entryOf(user, acl)] });
  }
}

function clientOf({ bootstrap }: Broker, username: string): Kafka {
  return new kafkajs.Kafka({
    brokers: [bootstrap],
    clientId: username,
    sasl: { mechanism: "plain", username, password: passwordOf(username) },
    logLevel: kafkajs.logLevel.NOTHING,
  });
}

function entryOf(user: string, { resource, name, isPrefix, operation }: Acl) {
  const { LITERAL, PREFIXED } = kafkajs.ResourcePatternTypes;
  return {
    resourceType: resourceTypes[resource],
    resourceName: name,
    resourcePatternType: isPrefix ? PREFIXED : LITERAL,
    principal: `User:${user}`,
    host: "*",
    operation: operations[operation],
    permissionType: kafkajs.AclPermissionTypes.ALLOW,
  };
}
