// What is said of a failure that comes of missing rights.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isPassing, refusedKind } from "../../../../src/log/kafka/kafka-errors.ts";
import { groupReason, logFailure, reasonWithRights } from "../../../../src/log/kafka/rights.ts";

function failure(message: string, facts: object, cause?: unknown): Error {
  return Object.assign(new Error(message, { cause }), facts);
}

const refusedTopic = failure("Not authorized to access topics", { type: "TOPIC_AUTHORIZATION_FAILED" });
const refusedId = failure("no", { type: "TRANSACTIONAL_ID_AUTHORIZATION_FAILED" });
const hidden = failure("Failed to find group coordinator", { name: "KafkaJSGroupCoordinatorNotFound" });

describe("a refusal", () => {
  test("is found however deep it lies", () => {
    assert.equal(refusedKind(failure("outer", { retriable: true }, refusedId)), "transactionalId");
    assert.equal(refusedKind(failure("several", { errors: [new Error("a"), refusedTopic] })), "topic");
    assert.equal(refusedKind(new Error("something else")), null);
  });

  test("does not pass by itself, whatever it is wrapped in", () => {
    assert.ok(!isPassing(failure("outer", { retriable: true }, refusedTopic)));
  });

  test("names the right for the kind of resource that was refused", () => {
    const needed = { topic: "Write on topic a", transactionalId: "Write on ids" };
    assert.match(reasonWithRights(refusedTopic, needed), /: the user needs Write on topic a$/);
    assert.match(reasonWithRights(refusedId, needed), /: the user needs Write on ids$/);
    assert.equal(reasonWithRights(new Error("gone"), needed), "gone");
  });

  test("has a code of its own", () => {
    assert.equal(logFailure("m", refusedTopic).code, "NOT_AUTHORIZED");
    assert.equal(logFailure("m", new Error("other")).code, "LOG_FAILED");
  });
});

test("a coordinator that cannot be found may be one that we may not ask", () => {
  const reason = groupReason(hidden, { group: "g", inputs: ["a"] });
  assert.equal(reason, "Failed to find group coordinator: if this stays, the user may lack Read on group g");
});
