// Lets the test files of a run share one cluster: the process that started it answers their requests over HTTP.

import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { type ClusterOperations, KafkaCluster } from "./kafka-cluster.ts";

/** Names the variable through which a run hands its cluster to the test files. */
export const sharedClusterVariable = "KAFKA_CLUSTER_FOR_TESTS";

type Operation = keyof ClusterOperations;

let ownCluster: Promise<KafkaCluster> | undefined;

/** The run's shared cluster, or one started for this process when a file is run by hand. */
export async function clusterForTests(): Promise<ClusterOperations> {
  const shared = process.env[sharedClusterVariable];
  if (shared !== undefined) return remoteCluster(shared);
  ownCluster ??= KafkaCluster.startUp();
  return await ownCluster;
}

/** Ends the cluster that was started for this process, if any. */
export async function endOwnCluster(): Promise<void> {
  await (await ownCluster)?.shutDown();
  ownCluster = undefined;
}

/** Starts a cluster and names it to every process that this one starts from now on. */
export async function shareCluster(): Promise<KafkaCluster> {
  const cluster = await KafkaCluster.startUp();
  const server = createServer((request, response) => {
    const answered = bodyOf(request)
      .then((body) => call(cluster, body))
      .then((result) => ({ status: 200, text: JSON.stringify(result ?? null) }))
      .catch((error: Error) => ({ status: 500, text: error.stack ?? error.message }));
    void answered.then(({ status, text }) => response.writeHead(status).end(text));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  server.unref();
  process.env[sharedClusterVariable] = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return cluster;
}

function call(cluster: ClusterOperations, body: string): Promise<unknown> {
  const { operation, args } = JSON.parse(body) as { operation: Operation; args: unknown[] };
  const act = cluster[operation] as (...args: unknown[]) => Promise<unknown>;
  return act.apply(cluster, args);
}

function remoteCluster(url: string): ClusterOperations {
  const ask =
    (operation: string) =>
    async (...args: readonly unknown[]) => {
      const answer = await fetch(url, { method: "POST", body: JSON.stringify({ operation, args }) });
      const text = await answer.text();
      if (!answer.ok) throw new Error(`${operation} on the shared cluster failed: ${text}`);
      return JSON.parse(text);
    };
  return new Proxy({} as ClusterOperations, {
    // Not a promise, although every property looks like a function.
    get: (_, operation) => (operation === "then" ? undefined : ask(String(operation))),
  });
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = "";
  for await (const chunk of request) body += chunk;
  return body;
}
