// What a decision writes must fit its topic: a record that is too large would fail the commit, and fail it again for
// whoever comes next. A model may do without its predecessor; anything else that is too large is refused.

import { avroCodec } from "../log/codec/avro.ts";
import type { Decision } from "./decision.ts";
import { encodeRequest } from "./requests/request-codec.ts";

/** `max.message.bytes` of the topics. */
export interface TopicLimits {
  readonly modelBytes: number;
  readonly trainingBytes: number;
}

const recordCodec = avroCodec("ModelRecord");
/** Key, headers and the batch around a record. */
const wrapping = 2_048;

/** The decision as it can be written, or in words why it cannot. */
export function withinLimits(
  decision: Decision,
  { modelBytes, trainingBytes }: TopicLimits,
): Decision | string {
  if (decision.kind === "requested" && decision.task !== null) {
    const { length } = encodeRequest(decision.task);
    return length + wrapping <= trainingBytes ? decision : tooLarge("request", length, trainingBytes);
  }
  if (decision.kind !== "promoted") return decision;
  const { record } = decision;
  const { length } = recordCodec.encode(record);
  if (length + wrapping <= modelBytes) return decision;
  const alone = { ...record, previous: null };
  const lengthAlone = recordCodec.encode(alone).length;
  if (lengthAlone + wrapping <= modelBytes) return { ...decision, record: alone };
  return tooLarge("model", lengthAlone, modelBytes);
}

function tooLarge(what: string, bytes: number, limit: number): string {
  return `the ${what} has ${bytes} bytes and its topic takes ${limit}: raise max.message.bytes, or keep less history, fewer members`;
}
