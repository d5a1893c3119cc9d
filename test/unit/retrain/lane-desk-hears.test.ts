// What others lay on the models topic, and what comes back of the desk's own writing.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { avroCodec } from "../../../src/log/codec/avro.ts";
import { homeOf } from "../../../src/retrain/cohort-home.ts";
import { orderKey, outcomeKey } from "../../../src/retrain/requests/model-keys.ts";
import { encodeOutcome } from "../../../src/retrain/requests/outcome-codec.ts";
import { trainedModel } from "../../rig/training-task.ts";
import {
  DeskFixture,
  decisionOf,
  encodeOrder,
  encodeRecord,
  orderOf,
  recordOf,
  writtenIn,
} from "./desk-fixture.ts";

const heard = (key: string, value: Buffer | null) => [{ key: Buffer.from(key), value }];

const outcome = encodeOutcome({
  ...{ requestId: "r1", modelKey: "a", endedAtMs: 5 },
  result: { outcome: "trained", challengers: [trainedModel()] },
});

describe("an outcome", () => {
  test("waits until it is judged, and whoever listens is told", () => {
    const { desk } = new DeskFixture();
    let news = 0;
    desk.onNews = () => news++;
    desk.hear(heard(outcomeKey("a"), outcome));
    assert.deepEqual([desk.outcomes.get("a")?.requestId, news, desk.isWaiting], ["r1", 1, false]);
    desk.decide(decisionOf("refused", { settles: ["outcome"] }));
    assert.equal(desk.outcomes.size, 0);
  });

  test("that cannot be read is counted and deleted, and the old model serves on", () => {
    const fixture = new DeskFixture();
    fixture.serve("a", "v1");
    fixture.desk.hear(heard(outcomeKey("a"), Buffer.from("scribble")));
    assert.equal(fixture.desk.outcomes.size, 0);
    assert.equal(fixture.counts.of("unreadable unreadable"), 1);
    assert.deepEqual(writtenIn(fixture.desk.enact()), ["models/0 a\u0000outcome deleted"]);
    assert.equal(fixture.shelf.get("a")?.facts.version, "v1");
  });

  test("with a damaged challenger says so, and is judged by what is left of it", () => {
    const fixture = new DeskFixture();
    const codec = avroCodec("TrainingOutcome");
    const record = codec.decode(outcome);
    const damaged = Buffer.from(record.challengers[0]);
    damaged[damaged.length >> 1] ^= 0xff;
    const challengers = [damaged, record.challengers[0]];
    fixture.desk.hear(heard(outcomeKey("a"), codec.encode({ ...record, challengers })));
    const both = fixture.desk.outcomes.get("a");
    assert.equal(both?.result.outcome === "trained" && both.result.challengers.length, 1);
    fixture.desk.hear(heard(outcomeKey("a"), codec.encode({ ...record, challengers: [damaged] })));
    const none = fixture.desk.outcomes.get("a");
    assert.match(none?.result.outcome === "failed" ? none.result.reason : "", /^no challenger is fit: /);
    assert.equal(fixture.counts.of("unreadable unreadable"), 2);
  });
});

describe("an order", () => {
  test("heard twice before it is carried out is one order", () => {
    const { desk } = new DeskFixture();
    const record = heard(orderKey("a"), encodeOrder(orderOf("a")));
    desk.hear([...record, ...record]);
    assert.equal(desk.orders.size, 1);
    desk.decide(decisionOf("refused", { settles: ["order"] }));
    assert.equal(desk.orders.size, 0);
  });

  test("that another one follows gives way to it", () => {
    const { desk } = new DeskFixture();
    for (const id of ["o1", "o2"]) desk.hear(heard(orderKey("a"), encodeOrder(orderOf("a", { id }))));
    assert.equal(desk.orders.get("a")?.id, "o2");
  });

  test("that cannot be read is counted and deleted", () => {
    const fixture = new DeskFixture();
    fixture.desk.hear(heard(orderKey("a"), Buffer.from([1])));
    assert.equal(fixture.desk.orders.size, 0);
    assert.equal(fixture.counts.of("unreadable unreadable"), 1);
    assert.deepEqual(fixture.told, ["warn: record on the models topic cannot be read"]);
    assert.deepEqual(writtenIn(fixture.desk.enact()), ["models/0 a\u0000order deleted"]);
  });

  test("that was deleted again, or has no key, is nothing to hear", () => {
    const { desk } = new DeskFixture();
    desk.hear([...heard(orderKey("a"), null), { key: null, value: outcome }]);
    assert.deepEqual([desk.orders.size, desk.outcomes.size, desk.isWaiting], [0, 0, false]);
  });
});

test("an order about a cohort that lies elsewhere than at its home is deleted: two must not decide", () => {
  const orders = [0, 1, 2].map((partition) => {
    const { desk } = new DeskFixture({ partition });
    desk.hear(heard(orderKey("cohort:pumps"), encodeOrder(orderOf("cohort:pumps"))));
    return [desk.orders.size, desk.isWaiting];
  });
  const expected = [0, 1, 2].map((partition) => (partition === homeOf("pumps", 3) ? [1, false] : [0, true]));
  assert.deepEqual(orders, expected);
});

describe("a model of a series on the topic", () => {
  test("is the desk's own writing, and changes nothing, whatever it says", () => {
    const fixture = new DeskFixture();
    fixture.serve("a", "v2");
    for (const value of [encodeRecord(recordOf("a", "v1")), Buffer.from("scribble"), null])
      fixture.desk.hear(heard("a", value));
    assert.equal(fixture.shelf.get("a")?.facts.version, "v2");
    assert.equal(fixture.counts.byName.size, 0);
  });
});

describe("a model of a cohort on the topic", () => {
  const modelKey = "cohort:pumps";
  const home = homeOf("pumps", 3);
  const elsewhere = () => new DeskFixture({ partition: (home + 1) % 3 });

  test("serves at once where the cohort is not at home, and goes when it is deleted", () => {
    const { desk, shelf } = elsewhere();
    desk.hear(heard(modelKey, encodeRecord(recordOf(modelKey, "v1"))));
    desk.hear(heard(modelKey, encodeRecord(recordOf(modelKey, "v2"))));
    assert.equal(shelf.get(modelKey)?.facts.version, "v2");
    desk.hear(heard(modelKey, null));
    assert.equal(shelf.get(modelKey), undefined);
  });

  test("is not read again while its version serves", () => {
    const { desk, shelf } = elsewhere();
    const value = encodeRecord(recordOf(modelKey, "v1"));
    desk.hear(heard(modelKey, value));
    const serving = shelf.get(modelKey);
    desk.hear(heard(modelKey, value));
    assert.equal(shelf.get(modelKey), serving);
  });

  test("that is damaged is counted, and the one before goes on", () => {
    const fixture = elsewhere();
    fixture.serve(modelKey, "v1");
    fixture.desk.hear(heard(modelKey, Buffer.from("scribble")));
    const weights = Buffer.from("scribble");
    fixture.desk.hear(heard(modelKey, encodeRecord(recordOf(modelKey, "v2", { weights }))));
    assert.equal(fixture.counts.of("unreadable unreadable"), 2);
    assert.equal(fixture.shelf.get(modelKey)?.facts.version, "v1");
  });

  test("does not undo what was decided at its home since it was written", () => {
    const { desk, shelf } = new DeskFixture({ partition: home });
    const writes = (["v1", "v2"] as const).flatMap((version, i) => {
      const fromVersion = i === 0 ? null : "v1";
      desk.decide(decisionOf("promoted", { modelKey, fromVersion, record: recordOf(modelKey, version) }));
      return desk.enact().filter(({ topic, partition }) => topic === "models" && partition === home);
    });
    assert.equal(writes.length, 2);
    desk.hear(writes.slice(0, 1));
    assert.equal(shelf.get(modelKey)?.facts.version, "v2");
    desk.decide(decisionOf("retired", { modelKey, fromVersion: "v2" }));
    desk.enact();
    desk.hear(writes);
    assert.equal(shelf.get(modelKey), undefined);
  });
});
