// Answers of a broker that refuses a request.

import type { KafkaRequest, TopicPartition } from "../../../../src/log/kafka/wire/protocol.ts";

/** The same code for all partitions. */
export function answerWith({ api, facts }: KafkaRequest<unknown>, errorCode: number): unknown {
  const places = (facts.places ?? facts.offsets ?? []) as readonly TopicPartition[];
  if (api === "AddPartitionsToTxn" || api === "TxnOffsetCommit" || api === "Produce" || api === "ListOffsets")
    return places.map((place) => ({ ...place, errorCode, baseOffset: -1, offset: -1 }));
  if (api === "Metadata")
    return {
      topics: (facts.topics as readonly string[]).map((topic) => ({ topic, errorCode, topicId: null })),
    };
  if (api === "OffsetFetch") return { errorCode, offsets: [] };
  if (api === "DescribeTransactions") return [{ errorCode, state: "", places: [] }];
  if (api === "DescribeProducers") return places.map((place) => ({ ...place, errorCode, undecided: [] }));
  if (api === "ListTransactions") return { errorCode, transactionalIds: [] };
  if (api === "Fetch") return { errorCode, partitions: [] };
  return { errorCode, producerId: -1, epoch: -1 };
}
