import assert from "node:assert/strict";
import { describe, test } from "node:test";
import kafkajs from "kafkajs";
import {
  assertSuccess,
  BrokerError,
  groupReason,
  isFenced,
  isOutOfRange,
  isRetriable,
  isTooLarge,
  logFailure,
  NoAnswerError,
  reasonOf,
  reasonWithRights,
  refusedKind,
} from "../../../../src/log/kafka/kafka-errors.ts";

const { KafkaJSConnectionError, KafkaJSNumberOfRetriesExceeded, KafkaJSProtocolError } = kafkajs;

const protocolError = (type: string, code: number, retriable = false) =>
  new KafkaJSProtocolError(Object.assign(new Error(type), { type, code, retriable }));
const wrapped = (error: Error) =>
  new KafkaJSNumberOfRetriesExceeded(error, { retryCount: 5, retryTime: 100 });
const inOurWords = (cause: unknown) => new Error("the commit failed", { cause });

const epoch = protocolError("INVALID_PRODUCER_EPOCH", 47);
// kafkajs has no name for 90.
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
  ["any error that kafkajs calls retriable", protocolError("SOMETHING_NEW", 200, true), { passing: true }],
  ["retries used up on a lost connection", wrapped(new Error("ECONNREFUSED")), { passing: true }],
  ["a transaction still ending", inOurWords(protocolError("CONCURRENT_TRANSACTIONS", 51)), { passing: true }],
  ["no right to the topic", protocolError("TOPIC_AUTHORIZATION_FAILED", 29), {}],
  ["one of our own errors", new TypeError("x is undefined"), {}],
  ["no error at all", undefined, {}],
  ["a thrown text", "90", {}],
];

for (const [name, error, expected] of cases) {
  const verdict = Object.keys(expected).join() || "lasting";
  test(`${name} is judged ${verdict}`, () => {
    assert.deepEqual(
      { fenced: isFenced(error), passing: isRetriable(error), tooLarge: isTooLarge(error) },
      { fenced: false, passing: false, tooLarge: false, ...expected },
    );
  });
}

test("an offset that does not exist is recognized as out of range", () => {
  assert.equal(isOutOfRange(inOurWords(protocolError("OFFSET_OUT_OF_RANGE", 1))), true);
  assert.equal(isOutOfRange(epoch), false);
});

test("the reason is the message of an error, or the thrown value as text", () => {
  assert.deepEqual([reasonOf(new Error("why")), reasonOf(7)], ["why", "7"]);
});

function failure(message: string, facts: object, cause?: unknown): Error {
  return Object.assign(new Error(message, { cause }), facts);
}

const refusedTopic = failure("Not authorized to access topics", { type: "TOPIC_AUTHORIZATION_FAILED" });
const refusedId = failure("no", { type: "TRANSACTIONAL_ID_AUTHORIZATION_FAILED" });

describe("a refusal", () => {
  test("is found at any depth", () => {
    assert.equal(refusedKind(failure("outer", { retriable: true }, refusedId)), "transactionalId");
    assert.equal(refusedKind(failure("several", { errors: [new Error("a"), refusedTopic] })), "topic");
    assert.equal(refusedKind(new Error("something else")), null);
  });

  test("is not retriable, whatever wraps it", () => {
    assert.ok(!isRetriable(failure("outer", { retriable: true }, refusedTopic)));
  });

  test("names the right on the kind of resource that was refused", () => {
    const needed = { topic: "Write on topic a", transactionalId: "Write on ids" };
    assert.match(reasonWithRights(refusedTopic, needed), /: the user needs Write on topic a$/);
    assert.match(reasonWithRights(refusedId, needed), /: the user needs Write on ids$/);
    assert.equal(reasonWithRights(new Error("gone"), needed), "gone");
  });

  test("has its own error code", () => {
    assert.equal(logFailure("m", refusedTopic).code, "NOT_AUTHORIZED");
    assert.equal(logFailure("m", new Error("other")).code, "LOG_FAILED");
  });
});

test("a refusal of the group names the needed right", () => {
  const refusedGroup = Object.assign(new Error("no"), { type: "GROUP_AUTHORIZATION_FAILED" });
  assert.equal(
    groupReason(refusedGroup, { group: "g", inputs: ["a"] }),
    "no: the user needs Read on group g",
  );
});

describe("an error code in an answer", () => {
  test("is named as in Kafka's protocol, with the request", () => {
    const error = new BrokerError(51, "EndTxn");
    assert.deepEqual(
      [error.message, error.type, error.code],
      ["EndTxn was answered with CONCURRENT_TRANSACTIONS", "CONCURRENT_TRANSACTIONS", 51],
    );
  });

  test("that we do not know is named by its number and is not retriable", () => {
    const error = new BrokerError(999, "EndTxn");
    assert.equal(error.type, "ERROR_999");
    assert.equal(isRetriable(error), false);
  });

  for (const code of [47, 90])
    test(`${code} counts as fenced`, () => assert.ok(isFenced(new BrokerError(code, "EndTxn"))));

  test("is retriable if no answer came", () => assert.ok(isRetriable(new NoAnswerError("EndTxn"))));

  test("is thrown unless it is 0", () => {
    assertSuccess(0, "EndTxn");
    assert.throws(() => assertSuccess(-1, "EndTxn"), { type: "UNKNOWN_SERVER_ERROR" });
  });
});
