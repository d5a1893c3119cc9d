import assert from "node:assert/strict";
import { test } from "node:test";
import kafkajs from "kafkajs";
import {
  isFenced,
  isOutOfRange,
  isPassing,
  isTooLarge,
  reasonOf,
  toPassing,
} from "../../../../src/log/kafka/kafka-errors.ts";

const { KafkaJSConnectionError, KafkaJSNumberOfRetriesExceeded, KafkaJSProtocolError } = kafkajs;

const protocolError = (type: string, code: number, retriable = false) =>
  new KafkaJSProtocolError(Object.assign(new Error(type), { type, code, retriable }));
const wrapped = (error: Error) =>
  new KafkaJSNumberOfRetriesExceeded(error, { retryCount: 5, retryTime: 100 });
const inOurWords = (cause: unknown) => new Error("the commit failed", { cause });

const epoch = protocolError("INVALID_PRODUCER_EPOCH", 47);
// How kafkajs shows 90, for which it has no name.
const fenced = protocolError("KAFKAJS_UNKNOWN_ERROR_CODE", 90);
const tooLarge = protocolError("MESSAGE_TOO_LARGE", 10);

const cases: readonly (readonly [
  string,
  unknown,
  Partial<Record<"fenced" | "passing" | "tooLarge", true>>,
])[] = [
  ["a newer epoch", epoch, { fenced: true }],
  ["a fenced producer", fenced, { fenced: true }],
  ["a fenced producer after retries", wrapped(fenced), { fenced: true }],
  ["a fenced producer in our words", inOurWords(inOurWords(fenced)), { fenced: true }],
  ["a record too large", inOurWords(tooLarge), { tooLarge: true }],
  ["a record too large after retries", wrapped(tooLarge), { tooLarge: true }],
  ["a lost connection", new KafkaJSConnectionError("ECONNREFUSED", {}), { passing: true }],
  ["a moved coordinator", protocolError("NOT_COORDINATOR_FOR_GROUP", 16), { passing: true }],
  ["whatever kafkajs calls retriable", protocolError("SOMETHING_NEW", 200, true), { passing: true }],
  ["retries used up on a lost connection", wrapped(new Error("ECONNREFUSED")), { passing: true }],
  ["a transaction still ending", inOurWords(protocolError("CONCURRENT_TRANSACTIONS", 51)), { passing: true }],
  ["no right to the topic", protocolError("TOPIC_AUTHORIZATION_FAILED", 29), {}],
  ["an error of ours", new TypeError("x is undefined"), {}],
  ["no error at all", undefined, {}],
  ["a thrown text", "90", {}],
];

for (const [name, error, expected] of cases) {
  const verdict = Object.keys(expected).join() || "lasting";
  test(`${name} is judged ${verdict}`, () => {
    assert.deepEqual(
      { fenced: isFenced(error), passing: isPassing(error), tooLarge: isTooLarge(error) },
      { fenced: false, passing: false, tooLarge: false, ...expected },
    );
  });
}

test("a position that retention has passed is told from the rest", () => {
  assert.equal(isOutOfRange(inOurWords(protocolError("OFFSET_OUT_OF_RANGE", 1))), true);
  assert.equal(isOutOfRange(epoch), false);
});

test("the reason is the message, or the thing thrown as text", () => {
  assert.deepEqual([reasonOf(new Error("why")), reasonOf(7)], ["why", "7"]);
});

test("a mistake of the client's own passes; anything else stays what it is", () => {
  const mistake = new TypeError("Cannot destructure property 'partitions' of 'low.pop(...)'");
  for (const error of [mistake, inOurWords(mistake)]) {
    assert.equal(isPassing(error), false);
    assert.equal(isPassing(toPassing(error)), true);
    assert.equal(reasonOf(toPassing(error)), error.message);
  }
  assert.equal(toPassing(epoch), epoch);
});
