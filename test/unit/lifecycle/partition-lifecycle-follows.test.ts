// What others lay on the models topic, and what comes back of the lifecycle's own writing.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { avroCodec } from "../../../src/log/codec/avro.ts";
import { orderKey, outcomeKey } from "../../../src/log/codec/model-keys.ts";
import { decidingPartition } from "../../../src/models/cohort.ts";
import { storedFamilies } from "../../../src/models/families.ts";
import { encodeOutcome } from "../../../src/training/outcome-codec.ts";
import { trainedModel } from "../../rig/training-task.ts";
import {
  decisionOf,
  encodeOrder,
  encodeRecord,
  LifecycleFixture,
  orderOf,
  recordOf,
  writtenIn,
} from "./lifecycle-fixture.ts";

const heard = (key: string, value: Buffer | null) => [{ key: Buffer.from(key), value }];

const outcome = encodeOutcome(
  {
    ...{ requestId: "r1", modelKey: "a", endedAtMs: 5 },
    result: { outcome: "trained", challengers: [trainedModel()] },
  },
  storedFamilies,
);

describe("an outcome", () => {
  test("waits until it is judged, and whoever listens is told", () => {
    const { lifecycle } = new LifecycleFixture();
    let news = 0;
    lifecycle.onPending = () => news++;
    lifecycle.receive(heard(outcomeKey("a"), outcome));
    assert.deepEqual([lifecycle.outcomes.get("a")?.requestId, news, lifecycle.isWaiting], ["r1", 1, false]);
    lifecycle.decide(decisionOf("refused", { answers: ["outcome"] }));
    assert.equal(lifecycle.outcomes.size, 0);
  });

  test("that cannot be read is counted and deleted, and the old model serves on", () => {
    const fixture = new LifecycleFixture();
    fixture.serve("a", "v1");
    fixture.lifecycle.receive(heard(outcomeKey("a"), Buffer.from("scribble")));
    assert.equal(fixture.lifecycle.outcomes.size, 0);
    assert.equal(fixture.counts.of("unreadable unreadable"), 1);
    assert.deepEqual(writtenIn(fixture.lifecycle.apply()), ["models/0 a\u0000outcome deleted"]);
    assert.equal(fixture.models.get("a")?.facts.version, "v1");
  });

  test("with a damaged challenger says so, and is judged by what is left of it", () => {
    const fixture = new LifecycleFixture();
    const codec = avroCodec("TrainingOutcome");
    const record = codec.decode(outcome);
    const damaged = Buffer.from(record.challengers[0]);
    damaged[damaged.length >> 1] ^= 0xff;
    const challengers = [damaged, record.challengers[0]];
    fixture.lifecycle.receive(heard(outcomeKey("a"), codec.encode({ ...record, challengers })));
    const both = fixture.lifecycle.outcomes.get("a");
    assert.equal(both?.result.outcome === "trained" && both.result.challengers.length, 1);
    fixture.lifecycle.receive(heard(outcomeKey("a"), codec.encode({ ...record, challengers: [damaged] })));
    const none = fixture.lifecycle.outcomes.get("a");
    assert.match(none?.result.outcome === "failed" ? none.result.reason : "", /^no challenger is fit: /);
    assert.equal(fixture.counts.of("unreadable unreadable"), 2);
  });
});

describe("an order", () => {
  test("heard twice before it is carried out is one order", () => {
    const { lifecycle } = new LifecycleFixture();
    const record = heard(orderKey("a"), encodeOrder(orderOf("a")));
    lifecycle.receive([...record, ...record]);
    assert.equal(lifecycle.orders.size, 1);
    lifecycle.decide(decisionOf("refused", { answers: ["order"] }));
    assert.equal(lifecycle.orders.size, 0);
  });

  test("that another one follows gives way to it", () => {
    const { lifecycle } = new LifecycleFixture();
    for (const id of ["o1", "o2"]) lifecycle.receive(heard(orderKey("a"), encodeOrder(orderOf("a", { id }))));
    assert.equal(lifecycle.orders.get("a")?.id, "o2");
  });

  test("that cannot be read is counted and deleted", () => {
    const fixture = new LifecycleFixture();
    fixture.lifecycle.receive(heard(orderKey("a"), Buffer.from([1])));
    assert.equal(fixture.lifecycle.orders.size, 0);
    assert.equal(fixture.counts.of("unreadable unreadable"), 1);
    assert.deepEqual(fixture.told, ["warn: record on the models topic cannot be read"]);
    assert.deepEqual(writtenIn(fixture.lifecycle.apply()), ["models/0 a\u0000order deleted"]);
  });

  test("that was deleted again, or has no key, is nothing to receive", () => {
    const { lifecycle } = new LifecycleFixture();
    lifecycle.receive([...heard(orderKey("a"), null), { key: null, value: outcome }]);
    assert.deepEqual([lifecycle.orders.size, lifecycle.outcomes.size, lifecycle.isWaiting], [0, 0, false]);
  });
});

test("an order about a cohort that lies elsewhere than at its home is deleted: two must not decide", () => {
  const orders = [0, 1, 2].map((partition) => {
    const { lifecycle } = new LifecycleFixture({ partition });
    lifecycle.receive(heard(orderKey("cohort:pumps"), encodeOrder(orderOf("cohort:pumps"))));
    return [lifecycle.orders.size, lifecycle.isWaiting];
  });
  const expected = [0, 1, 2].map((partition) =>
    partition === decidingPartition("pumps", 3) ? [1, false] : [0, true],
  );
  assert.deepEqual(orders, expected);
});

describe("a model of a series on the topic", () => {
  test("is the lifecycle's own writing, and changes nothing, whatever it says", () => {
    const fixture = new LifecycleFixture();
    fixture.serve("a", "v2");
    for (const value of [encodeRecord(recordOf("a", "v1")), Buffer.from("scribble"), null])
      fixture.lifecycle.receive(heard("a", value));
    assert.equal(fixture.models.get("a")?.facts.version, "v2");
    assert.equal(fixture.counts.byName.size, 0);
  });
});

describe("a model of a cohort on the topic", () => {
  const modelKey = "cohort:pumps";
  const home = decidingPartition("pumps", 3);
  const elsewhere = () => new LifecycleFixture({ partition: (home + 1) % 3 });

  test("serves at once where the cohort is not at home, and goes when it is deleted", () => {
    const { lifecycle, models } = elsewhere();
    lifecycle.receive(heard(modelKey, encodeRecord(recordOf(modelKey, "v1"))));
    lifecycle.receive(heard(modelKey, encodeRecord(recordOf(modelKey, "v2"))));
    assert.equal(models.get(modelKey)?.facts.version, "v2");
    lifecycle.receive(heard(modelKey, null));
    assert.equal(models.get(modelKey), undefined);
  });

  test("is not read again while its version serves", () => {
    const { lifecycle, models } = elsewhere();
    const value = encodeRecord(recordOf(modelKey, "v1"));
    lifecycle.receive(heard(modelKey, value));
    const serving = models.get(modelKey);
    lifecycle.receive(heard(modelKey, value));
    assert.equal(models.get(modelKey), serving);
  });

  test("that is damaged is counted, and the previous one continues", () => {
    const fixture = elsewhere();
    fixture.serve(modelKey, "v1");
    fixture.lifecycle.receive(heard(modelKey, Buffer.from("scribble")));
    const weights = Buffer.from("scribble");
    fixture.lifecycle.receive(heard(modelKey, encodeRecord(recordOf(modelKey, "v2", { weights }))));
    assert.equal(fixture.counts.of("unreadable unreadable"), 2);
    assert.equal(fixture.models.get(modelKey)?.facts.version, "v1");
  });

  test("does not undo what was decided at its home since it was written", () => {
    const { lifecycle, models } = new LifecycleFixture({ partition: home });
    const writes = (["v1", "v2"] as const).flatMap((version, i) => {
      const fromVersion = i === 0 ? null : "v1";
      lifecycle.decide(
        decisionOf("promoted", { modelKey, fromVersion, record: recordOf(modelKey, version) }),
      );
      return lifecycle.apply().filter(({ topic, partition }) => topic === "models" && partition === home);
    });
    assert.equal(writes.length, 2);
    lifecycle.receive(writes.slice(0, 1));
    assert.equal(models.get(modelKey)?.facts.version, "v2");
    lifecycle.decide(decisionOf("retired", { modelKey, fromVersion: "v2" }));
    lifecycle.apply();
    lifecycle.receive(writes);
    assert.equal(models.get(modelKey), undefined);
  });
});
