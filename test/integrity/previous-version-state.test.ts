// State and offsets as left by a release without position records: the group's offset counts. From then on, a position
// record is stored with the state, even in partitions without input.

import assert from "node:assert/strict";
import { fromPositionsRecord, positionsKey } from "../../src/log/kafka/positions.ts";
import { readAll } from "./support/far-end.ts";
import { partitionOf, partitions } from "./support/load.ts";
import { Steps } from "./support/steps.ts";
import { type Story, tellStory } from "./support/story.ts";

const quiet = 3;
const all = Array.from({ length: partitions }, (_, partition) => partition);

/** By partition; null where there is none. */
async function storedPositions({ log, config, input }: Story): Promise<(number | null)[]> {
  const positions: (number | null)[] = all.map(() => null);
  for (const record of await readAll(log, config.topics.state)) {
    if (record.key?.equals(positionsKey) !== true) continue;
    positions[record.partition] = fromPositionsRecord(record)?.positionByTopic.get(input) ?? null;
  }
  return positions;
}

tellStory("a worker takes over from a release that stored no positions with its state", async (story) => {
  const { group, input, probe, log } = story;
  const topic = story.config.topics.state;
  const steps = new Steps(story);
  await story.startReadyWorker();
  await steps.send(12);
  await story.untilAllSettled();
  await story.endWorkers();
  await log.append(all.map((partition) => ({ topic, partition, key: positionsKey, value: null })));
  assert.deepEqual(await storedPositions(story), [null, null, null, null]);

  await steps.send(12, (index) => partitionOf(`series-${index}`) !== quiet);
  const worker = await story.startReadyWorker();
  const lines = worker.linesOf("position found in only one place, resuming from it");
  assert.deepEqual(
    lines.map(({ partition, onlyIn }) => [partition, onlyIn]).sort(),
    all.map((n) => [n, "group"]),
  );
  await story.count(steps);
  const committed = await probe.committed(group, input);
  assert.deepEqual(
    await storedPositions(story),
    all.map((partition) => committed.get(partition)),
  );
});
