// `forecastnet topics`: the topics of a fleet, created or looked at before any worker runs.

import type { Log, TopicFacts } from "../log/log.ts";
import { ownTopics } from "../log/own-topics.ts";
import { checkTopics } from "../log/topic-check.ts";
import type { AppConfig } from "../runtime/config/schema.ts";
import { type CommandIo, exitCodes, tellUsage } from "./command.ts";
import { type OwnFlags, readFlags, readWholeNumber } from "./command-flags.ts";
import { onCluster } from "./on-cluster.ts";

const usage = `usage: forecastnet topics check | create [--inputs N]

  The topics that a worker with this configuration needs: --config FILE, --kafka.brokers=host:9092, and so on.

  check     say what they are like, or all that is wrong with them
  create    create those of the worker's own that are missing, then check
    --inputs N     and missing input topics, with N partitions each`;

const own = {
  inputs: { type: "string" },
  help: { type: "boolean", default: false },
} as const satisfies OwnFlags;

/** Returns the exit code. */
export async function runTopicsCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  const read = readCommandLine(argv);
  if (typeof read === "string") return tellUsage(read, usage, io);
  return onCluster(read.configArgv, io, async ({ config, log }) => {
    const found = await provideTopics(log, config.topics, read);
    for (const line of linesOf(found)) io.out(line);
    return exitCodes.ok;
  });
}

export interface TopicsWish {
  readonly isCreating: boolean;
  /** Partitions of input topics that are missing; null when they are not to be created. */
  readonly inputs: number | null;
}

interface CommandLine extends TopicsWish {
  readonly configArgv: readonly string[];
}

/** Or in words what is wrong with it; the usage itself when it was asked for. */
function readCommandLine(argv: readonly string[]): CommandLine | string {
  try {
    const { values, positionals, configArgv } = readFlags(argv, own);
    const [action, ...more] = positionals;
    const isCreating = action === "create";
    const isKnown = isCreating || action === "check";
    if (values.help) return usage;
    if (!isKnown || more.length > 0) return "say check or create";
    if (!isCreating && values.inputs !== undefined) return "--inputs goes with create only";
    const inputs = values.inputs === undefined ? null : readWholeNumber("--inputs", values.inputs, 100_000);
    return { isCreating, inputs, configArgv };
  } catch (error) {
    return (error as Error).message;
  }
}

export interface FoundTopic extends TopicFacts {
  readonly isNew: boolean;
}

/** Creates what is wished for and checks all. Throws TOPIC_AWAITED with every problem there is. */
export async function provideTopics(
  log: Log,
  topics: AppConfig["topics"],
  { isCreating, inputs }: TopicsWish,
): Promise<readonly FoundTopic[]> {
  const names = { ...topics, inputs: topics.inputs.map(({ topic }) => topic) };
  const all = [...names.inputs, ...ownTopics(names, 0).map(({ topic }) => topic)];
  const before = await knownOf(log, all);
  if (inputs !== null) {
    const missing = names.inputs.filter((topic) => !before.has(topic));
    if (missing.length > 0)
      await log.createTopics(missing.map((topic) => ({ topic, partitions: inputs, compacted: false })));
  }
  await checkTopics(log, names, isCreating);
  return (await log.describeTopics(all)).map((facts) => ({ ...facts, isNew: !before.has(facts.topic) }));
}

async function knownOf(log: Log, topics: readonly string[]): Promise<ReadonlySet<string>> {
  return new Set((await log.describeTopics(topics)).map(({ topic }) => topic));
}

function linesOf(topics: readonly FoundTopic[]): string[] {
  const width = Math.max(...topics.map(({ topic }) => topic.length));
  return topics.map(({ topic, partitions, compacted, maxMessageBytes, isNew }) => {
    const policy = compacted ? "compact" : "delete";
    const note = isNew ? "  created" : "";
    return `${topic.padEnd(width)}  ${partitions} partitions  ${policy.padEnd(7)}  max.message.bytes ${maxMessageBytes}${note}`;
  });
}
