import assert from "node:assert/strict";
import { test } from "node:test";
import { fromDeadLetterHeaders, toDeadLetterHeaders } from "../../../../src/log/codec/dead-letter.ts";

const letter = {
  topic: "sensors",
  partition: 3,
  offset: 2 ** 40,
  time: 0,
  reason: "bad-time",
  detail: "größer",
};

test("a dead letter's headers are text and read back the same", () => {
  const headers = toDeadLetterHeaders(letter);
  assert.equal(headers["forecastnet.dead-letter.reason"], "bad-time");
  assert.equal(headers["forecastnet.dead-letter.offset"], "1099511627776");
  const received = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Buffer.from(value)]),
  );
  assert.deepEqual(fromDeadLetterHeaders({ ...received, other: Buffer.from("kept") }), letter);
});

test("headers of another record are no dead letter", () => {
  assert.equal(fromDeadLetterHeaders({ "forecastnet.dead-letter.topic": Buffer.from("sensors") }), undefined);
});
