// A broker fills an answer partition by partition and leaves partitions empty that no longer fit. A follower of a topic
// larger than one answer must not conclude that such an empty partition has no more records.

import assert from "node:assert/strict";
import { readAll } from "./support/far-end.ts";
import { partitions } from "./support/load.ts";
import { tellStory } from "./support/story.ts";

const perPartition = 3_000;
const filler = "x".repeat(1_000);

tellStory("a follower reads every record in order when a fetch returns only part of them", async (story) => {
  for (let partition = 0; partition < partitions; partition++) {
    const values = Array.from({ length: perPartition }, (_, n) => Buffer.from(`${n} ${filler}`));
    await story.log.append(values.map((value) => ({ topic: story.input, partition, key: null, value })));
  }
  const received = await readAll(story.log, story.input);
  for (let partition = 0; partition < partitions; partition++) {
    const numbers = received
      .filter((record) => record.partition === partition)
      .map(({ value }) => Number.parseInt(String(value), 10));
    assert.deepEqual(numbers, [...Array(perPartition).keys()], `partition ${partition}`);
  }
});
