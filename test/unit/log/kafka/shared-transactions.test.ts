// Partitions of a worker share transactions, and each input is still answered exactly once: under random faults, and while
// partitions move between workers that learn of it late.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { anyScript } from "./any-faults.ts";
import { makeDelaysInstant } from "./instant-delays.ts";
import type { Asked } from "./scripted-link.ts";
import { OUTPUT } from "./transactor-rig.ts";
import { Fleet } from "./workers-rig.ts";

const { clock } = makeDelaysInstant();

function transactionsOf(fleet: Fleet): readonly Asked[] {
  return fleet.cluster.asked("EndTxn");
}

describe("partitions that commit at the same time", () => {
  test("share a transaction", async () => {
    const fleet = new Fleet(clock, { partitions: 3, goal: 5 });
    await fleet.finish();
    fleet.assertExactlyOnce();
    assert.ok(transactionsOf(fleet).length <= 10, `${transactionsOf(fleet).length} transactions`);
  });

  test("are tried alone after a failure, so that one that cannot be written to holds up at most the one whose session carried it", async () => {
    const fleet = new Fleet(clock, { partitions: 3, goal: 4 });
    const { model } = fleet.cluster;
    const isDone = (partition: number) => model.committedValues(OUTPUT, partition).length === fleet.goal;
    fleet.cluster.onAsk = ({ step }) => {
      if (step === "EndTxn" && !isDone(1)) model.leaderByName.set(`${OUTPUT}/1`, "none");
      if (isDone(2)) model.leaderByName.clear();
    };
    await fleet.finish();
    fleet.assertExactlyOnce();
  });
});

const rebalance = fc.record({
  at: fc.nat(120),
  toSecond: fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }),
  told: fc.array(fc.boolean(), { minLength: 2, maxLength: 2 }),
});
const death = fc.record({ at: fc.nat(120), dies: fc.constantFrom<0 | 1>(0, 1) });

describe("workers of one group", () => {
  test("answer every input once, whatever happens to requests and whoever dies or learns late of a rebalance", async () => {
    await fc.assert(
      fc.asyncProperty(
        anyScript,
        fc.array(rebalance, { maxLength: 4 }),
        fc.array(death, { maxLength: 2 }),
        fc.nat(2),
        async (script, rebalances, deaths, busyAfterEnd) => {
          const fleet = new Fleet(clock, { partitions: 3, goal: 4 });
          const { cluster } = fleet;
          cluster.model.busyAfterEnd = busyAfterEnd;
          cluster.script(...script);
          let asked = 0;
          cluster.onAsk = () => {
            const now = asked++;
            for (const { at, toSecond, told } of rebalances) if (at === now) fleet.assign(toSecond, told);
            for (const { at, dies } of deaths) if (at === now) fleet.replace(dies);
          };
          fleet.workers[0].learn();
          await fleet.finish();
          cluster.deliverDelayed();
          fleet.assertExactlyOnce();
        },
      ),
      { numRuns: 300 },
    );
  });
});
