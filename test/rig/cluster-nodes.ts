// The nodes of a test cluster and the proxies in front of their listeners.
//
// Every broker has four listeners. DIRECT is for clients that must always get through: the independent producer and
// subscriber, and the rig. WORKER is advertised through a proxy, and so are PEER and CONTROLLER. Each node resolves
// its peers' names by a hosts file of its own, which gives every pair of nodes a proxy of its own.

import { writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import type { HeldRequests } from "./held-requests.ts";
import { formatStorage, testPace } from "./kafka-broker.ts";
import { freePorts, guardedFolder, type Service, startService } from "./service.ts";
import { TcpProxy } from "./tcp-proxy.ts";

export const brokerIds = [1, 2, 3] as const;

export interface Ports {
  readonly direct: number;
  readonly worker: number;
  readonly workerProxy: number;
  readonly peer: number;
  readonly peerProxy: number;
  readonly controller: number;
  readonly controllerProxy: number;
}

export interface Node {
  readonly id: number;
  readonly ports: Ports;
  readonly folder: string;
  readonly workerProxy: TcpProxy;
  readonly launch: () => Promise<Service>;
  service: Service | null;
  isFrozen: boolean;
}

/** One way from a node to another, or to itself. */
export interface Link {
  readonly from: number;
  readonly to: number;
  readonly proxy: TcpProxy;
}

export async function takePorts(): Promise<Ports> {
  const [direct, worker, workerProxy, peer, peerProxy, controller, controllerProxy] = await freePorts(7);
  return { direct, worker, workerProxy, peer, peerProxy, controller, controllerProxy };
}

/** Every node reaches every node, itself included, at an address that tells the two: 127.0.from.to. */
export async function openLinks(portsById: ReadonlyMap<number, Ports>): Promise<Link[]> {
  const links: Link[] = [];
  for (const from of brokerIds) {
    for (const [to, { peer, peerProxy, controller, controllerProxy }] of portsById) {
      const host = `127.0.${from}.${to}`;
      for (const [port, targetPort] of [
        [peerProxy, peer],
        [controllerProxy, controller],
      ] as const) {
        links.push({ from, to, proxy: await TcpProxy.open({ host, port, targetPort }) });
      }
    }
  }
  return links;
}

interface NodeParts {
  readonly jars: string;
  readonly portsById: ReadonlyMap<number, Ports>;
  readonly held: HeldRequests;
}

export async function prepareNode(id: number, { jars, portsById, held }: NodeParts): Promise<Node> {
  const ports = portsById.get(id) as Ports;
  const folder = guardedFolder(`kafka-${id}`);
  const properties = join(folder, "server.properties");
  const hosts = join(folder, "hosts");
  const peers = brokerIds.map((to) => `127.0.${id}.${to} ${nameOf(to)}\n`).join("");
  writeFileSync(hosts, `127.0.0.1 localhost ${hostname()}\n${peers}`);
  await formatStorage(jars, properties, nodeSettings(id, portsById, join(folder, "data")));
  const workerProxy = await TcpProxy.open({
    ...{ host: "127.0.0.1", port: ports.workerProxy, targetPort: ports.worker },
    inspect: (connection) => held.inspect(connection, ports.worker),
  });
  const launch = () =>
    startService({
      ...{ name: "kafka", folder, command: "java", readyText: "Kafka Server started" },
      args: [
        // The quick compiler alone: a node lives for minutes, and three of them start at once.
        ...["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx448m", `-Djdk.net.hosts.file=${hosts}`],
        ...["-cp", jars, "kafka.Kafka", properties],
      ],
    });
  return { id, ports, folder, workerProxy, launch, service: null, isFrozen: false };
}

function nameOf(id: number): string {
  return `broker-${id}.test`;
}

function nodeSettings(
  id: number,
  portsById: ReadonlyMap<number, Ports>,
  dataDir: string,
): Record<string, string> {
  const ports = portsById.get(id) as Ports;
  const voters = [...portsById].map(
    ([voter, { controllerProxy }]) => `${voter}@${nameOf(voter)}:${controllerProxy}`,
  );
  const copies = String(brokerIds.length);
  return {
    "process.roles": "broker,controller",
    "node.id": String(id),
    "controller.quorum.voters": voters.join(","),
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "PEER",
    "listener.security.protocol.map": "DIRECT:PLAINTEXT,WORKER:PLAINTEXT,PEER:PLAINTEXT,CONTROLLER:PLAINTEXT",
    listeners: `DIRECT://127.0.0.1:${ports.direct},WORKER://127.0.0.1:${ports.worker},PEER://127.0.0.1:${ports.peer},CONTROLLER://127.0.0.1:${ports.controller}`,
    "advertised.listeners": `DIRECT://127.0.0.1:${ports.direct},WORKER://127.0.0.1:${ports.workerProxy},PEER://${nameOf(id)}:${ports.peerProxy},CONTROLLER://${nameOf(id)}:${ports.controllerProxy}`,
    "log.dirs": dataDir,
    "auto.create.topics.enable": "false",
    // Leaders move when a test moves them.
    "auto.leader.rebalance.enable": "false",
    "default.replication.factor": copies,
    "min.insync.replicas": "2",
    "offsets.topic.replication.factor": copies,
    "offsets.topic.num.partitions": "6",
    "transaction.state.log.replication.factor": copies,
    "transaction.state.log.min.isr": "2",
    "transaction.state.log.num.partitions": "6",
    "share.coordinator.state.topic.replication.factor": copies,
    "share.coordinator.state.topic.min.isr": "2",
    "share.coordinator.state.topic.num.partitions": "1",
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    ...testPace,
  };
}
