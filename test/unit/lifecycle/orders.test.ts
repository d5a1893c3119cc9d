import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { JudgingContext } from "../../../src/lifecycle/judge-outcome.ts";
import { carryOut } from "../../../src/lifecycle/orders.ts";
import type { ModelRecord } from "../../../src/log/codec/schemas.generated.ts";
import { createFamilies } from "../../../src/models/families.ts";
import { ForecastnetError } from "../../../src/runtime/errors.ts";
import { openIdleEngine } from "../../pipeline/support/idle-engine.ts";
import {
  encodeRecord,
  LifecycleFixture,
  type LifecycleOptions,
  orderOf,
  recordOf,
} from "./lifecycle-fixture.ts";

async function open(options: LifecycleOptions = {}) {
  const fixture = new LifecycleFixture(options);
  const context: JudgingContext = {
    ...{
      lifecycle: fixture.lifecycle,
      modelKey: "a",
      families: createFamilies(await openIdleEngine()),
      gather: async () => [],
    },
    ...{ signal: new AbortController().signal, nowMs: 5 },
  };
  const order = (changes: Parameters<typeof orderOf>[1] = {}) => carryOut(orderOf("a", changes), context);
  return { fixture, order };
}

const previous = encodeRecord(recordOf("a", "v1"));

describe("a rollback", () => {
  test("lets the predecessor serve that the models still holds", async () => {
    const { fixture, order } = await open();
    fixture.serve("a", "v2", { previous, previousVersion: "v1" });
    const { kind, fromVersion, reason, isByHand, ...facts } = await order();
    assert.deepEqual([kind, fromVersion, isByHand], ["rolled-back", "v2", true]);
    assert.equal(reason, "ordered by hand: v1 serves again");
    assert.equal((facts as { record?: ModelRecord }).record?.version, "v1");
  });

  test("reads it from the topic when it was let go", async () => {
    const onTopic = recordOf("a", "v2", { previous, previousVersion: "v1" });
    const { fixture, order } = await open({ readRecord: async () => onTopic });
    fixture.serve("a", "v2", { previousVersion: "v1" });
    assert.match((await order()).reason, /v1 serves again/);
  });

  test("without a predecessor leaves the series to the cold tier", async () => {
    const { fixture, order } = await open();
    fixture.serve("a", "v1");
    const decision = await order();
    assert.deepEqual([decision.kind, "record" in decision && decision.record], ["rolled-back", null]);
    assert.match(decision.reason, /the cold tier serves again/);
  });

  test("is refused where no model serves, or only the cohort's", async () => {
    const { fixture, order } = await open({ settings: () => ({ cohort: "pumps" }) });
    assert.deepEqual([(await order()).kind, (await order()).fromVersion], ["refused", null]);
    fixture.serve("cohort:pumps", "c1");
    const { kind, fromVersion, reason } = await order();
    assert.deepEqual([kind, fromVersion], ["refused", "c1"]);
    assert.match(reason, /the series has no model of its own/);
  });

  test("to what cannot be read is refused; to what cannot be reached is tried again", async () => {
    const damaged = await open();
    damaged.fixture.serve("a", "v2", { previous: Buffer.from("scribble"), previousVersion: "v1" });
    const { kind, reason } = await damaged.order();
    assert.equal(kind, "refused");
    assert.match(reason, /^the model that served before cannot be read: /);
    const unreachable = new ForecastnetError("BROKER_UNREACHABLE", "gone");
    const away = await open({ readRecord: () => Promise.reject(unreachable) });
    away.fixture.serve("a", "v2", { previousVersion: "v1" });
    await assert.rejects(away.order(), unreachable);
  });
});

describe("an import", () => {
  const bring = (record: ModelRecord | Buffer | null) => ({
    ...({ kind: "IMPORT", skipsGate: true } as const),
    record: record === null || Buffer.isBuffer(record) ? record : encodeRecord(record),
  });

  test("is promoted, in place of what serves", async () => {
    const { fixture, order } = await open();
    fixture.serve("a", "v1");
    const decision = await order(bring(recordOf("a", "v7")));
    assert.deepEqual([decision.kind, decision.fromVersion, decision.isByHand], ["promoted", "v1", true]);
    assert.equal(decision.kind === "promoted" && decision.record.previousVersion, "v1");
  });

  const scribble = Buffer.from("scribble");
  for (const [what, record, told] of [
    ["that brings nothing", null, /^the order holds no model$/],
    ["whose bytes are no record", scribble, /ModelRecord/],
    ["whose weights are damaged", recordOf("a", "v7", { weights: scribble }), /a@v7/],
    ["of another series", recordOf("b", "v7"), /^the record is of b; import it under that key$/],
    ["whose weights are another model's", recordOf("a", "v8", { version: "v7" }), /those of a@v8/],
  ] as const) {
    test(`${what} is refused with the reason, gate or no gate`, async () => {
      const { fixture, order } = await open();
      fixture.serve("a", "v1");
      for (const skipsGate of [true, false]) {
        const { kind, fromVersion, reason } = await order({ ...bring(record), skipsGate });
        assert.deepEqual([kind, fromVersion], ["refused", "v1"]);
        assert.match(reason, told);
      }
    });
  }
});

test("an order of a kind that only later releases know is refused", async () => {
  const { fixture, order } = await open();
  fixture.serve("a", "v1");
  const { kind, reason } = await order({ kind: "OTHER" });
  assert.deepEqual([kind, reason], ["refused", "this release does not know the kind of the order"]);
});
