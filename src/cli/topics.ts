// `forecastnet topics`: creates or checks the topics of a fleet before any worker runs.

import type { Log, TopicFacts } from "../log/log.ts";
import { integer } from "../runtime/config/formats.ts";
import type { AppConfig } from "../runtime/config/schema.ts";
import { checkWorkerTopics } from "../service/pipeline-parts.ts";
import { type CommandIo, defineCommand, exitCodes, option, runCommand } from "./command.ts";
import { onCluster } from "./on-cluster.ts";

const topicsCommand = defineCommand({
  name: "topics",
  summary: "Creates or checks the topics that a worker with this configuration needs.",
  actions: {
    check: { doc: "print the topics and what is risky about them, or every problem", flags: [] },
    create: {
      doc: "create the worker's own missing topics, add partitions where an input gained some, then check",
      flags: ["inputs"],
    },
  },
  flags: {
    inputs: option("also create missing input topics, with N partitions each", "N", integer(1, 100_000)),
  },
  takesConfig: true,
});

/** Returns the exit code. */
export function runTopicsCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  return runCommand(topicsCommand, argv, io, ({ action, values, configArgv }) =>
    onCluster(configArgv, io, async ({ config, log }) => {
      const request = { isCreating: action === "create", inputs: values.inputs };
      const { topics, warnings } = await provideTopics(log, config, request);
      for (const line of linesOf(topics)) io.out(line);
      for (const warning of warnings) io.out(`warning: ${warning}`);
      return exitCodes.ok;
    }),
  );
}

interface TopicsRequest {
  readonly isCreating: boolean;
  /** Partitions of each missing input topic; null to create no input topic. */
  readonly inputs: number | null;
}

interface FoundTopic extends TopicFacts {
  readonly isNew: boolean;
}

interface FoundTopics {
  readonly topics: readonly FoundTopic[];
  readonly warnings: readonly string[];
}

/** Creates what the request asks for, then checks all topics. Throws TOPIC_AWAITED with every problem. */
export async function provideTopics(
  log: Log,
  config: AppConfig,
  { isCreating, inputs }: TopicsRequest,
): Promise<FoundTopics> {
  const { inputs: given, ...own } = config.topics;
  const inputNames = given.map(({ topic }) => topic);
  const all = [...inputNames, ...Object.values(own)];
  const before = new Set((await log.describeTopics(all)).map(({ topic }) => topic));
  if (inputs !== null) {
    const missing = inputNames.filter((topic) => !before.has(topic));
    if (missing.length > 0)
      await log.createTopics(missing.map((topic) => ({ topic, partitions: inputs, compacted: false })));
  }
  const { warnings } = await checkWorkerTopics(log, config, isCreating);
  const topics = await log.describeTopics(all);
  return { topics: topics.map((facts) => ({ ...facts, isNew: !before.has(facts.topic) })), warnings };
}

function linesOf(topics: readonly FoundTopic[]): string[] {
  const width = Math.max(...topics.map(({ topic }) => topic.length));
  return topics.map((facts) => {
    const { topic, partitions, cleanupPolicy, maxMessageBytes, replicationFactor, minInsyncReplicas } = facts;
    const copies = `${replicationFactor} copies, ${minInsyncReplicas} in sync`;
    const note = facts.isNew ? "  created" : "";
    return `${topic.padEnd(width)}  ${partitions} partitions  ${cleanupPolicy.padEnd(7)}  ${copies}  max.message.bytes ${maxMessageBytes}${note}`;
  });
}
