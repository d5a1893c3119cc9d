// Facts of topics with defaults, for tests that need only some of them.

import type { TopicFacts } from "../../../../src/log/log.ts";

export function topicFacts(topic: string, facts: Partial<TopicFacts>): TopicFacts {
  return {
    ...{ topic, partitions: 3, compacted: false, cleanupPolicy: "delete" },
    ...{ maxMessageBytes: 1_000_000, replicationFactor: 1, minInsyncReplicas: 1, settings: {} },
    ...facts,
  };
}
