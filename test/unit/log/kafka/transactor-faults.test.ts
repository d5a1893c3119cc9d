// Commits under random faults: whatever is lost, refused, late or repeated, the committed log equals the list of
// commits.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { anyScript } from "./any-faults.ts";
import { makeDelaysInstant } from "./instant-delays.ts";
import { ScriptedCluster } from "./scripted-link.ts";
import { OUTPUT, outputsOf, TRANSACTIONAL_ID, TransactorRig } from "./transactor-rig.ts";

const { clock } = makeDelaysInstant();

/** An event before the n-th request: a leader moves, or the coordinator times out the transaction. */
const event = fc.record({
  at: fc.nat(80),
  what: fc.constantFrom("time out", "move leader"),
  partition: fc.nat(2),
  leader: fc.constantFrom("1", "2", "3"),
});
type Event = typeof event extends fc.Arbitrary<infer T> ? T : never;

const story = fc.record({
  script: anyScript,
  events: fc.array(event, { maxLength: 6 }),
  busyAfterEnd: fc.nat(3),
  commits: fc.integer({ min: 1, max: 6 }),
});

function happen(cluster: ScriptedCluster, events: readonly Event[]): void {
  let asked = 0;
  cluster.onAsk = () => {
    for (const { what, partition, leader } of events.filter(({ at }) => at === asked)) {
      if (what === "time out") cluster.model.timeOut(TRANSACTIONAL_ID);
      else cluster.model.leaderByName.set(`${OUTPUT}/${partition}`, leader);
    }
    asked++;
  };
}

describe("whatever happens to the requests", () => {
  test("the commits of one owner are in the log in order, each once, with matching positions", async () => {
    await fc.assert(
      fc.asyncProperty(story, async ({ script, events, busyAfterEnd, commits }) => {
        const rig = new TransactorRig({ clock });
        rig.cluster.model.busyAfterEnd = busyAfterEnd;
        rig.cluster.script(...script);
        happen(rig.cluster, events);
        await rig.open();
        const numbers = Array.from({ length: commits }, (_, number) => number);
        for (const number of numbers) {
          await rig.commit(number);
          rig.assertCommitted(numbers.slice(0, number + 1));
        }
        rig.cluster.deliverDelayed();
        rig.assertOrderly();
        rig.assertCommitted(numbers);
        assert.equal(rig.cluster.model.openTransactions, 0);
        await rig.transactor.close();
      }),
      { numRuns: 200 },
    );
  });

  test("alternating commits and writes are in the log in order, each once", async () => {
    await fc.assert(
      fc.asyncProperty(story, fc.array(fc.boolean(), { minLength: 1, maxLength: 6 }), async (told, kinds) => {
        const rig = new TransactorRig({ clock });
        rig.cluster.script(...told.script);
        happen(rig.cluster, told.events);
        await rig.open();
        for (const [number, isWrite] of kinds.entries()) {
          if (isWrite) await rig.transactor.write(outputsOf(`commit ${number}`));
          else await rig.commit(number);
        }
        rig.cluster.deliverDelayed();
        rig.assertOrderly();
        for (const partition of [0, 1, 2])
          assert.deepEqual(
            rig.cluster.model.committedValues(OUTPUT, partition),
            kinds.map((_, number) => `commit ${number}`),
          );
      }),
      { numRuns: 80 },
    );
  });

  test("consecutive owners, each dropped at any moment, commit all input once", async () => {
    const lossAt = fc.array(fc.nat(40), { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(story, lossAt, async ({ script, commits }, losses) => {
        const cluster = new ScriptedCluster();
        cluster.script(...script);
        for (const loss of losses) {
          const owner = new TransactorRig({ clock, cluster });
          let asked = 0;
          cluster.onAsk = () => {
            if (asked++ === loss) owner.lost.abort();
          };
          await workUntil(owner, commits).catch((error: { code?: string }) =>
            assert.equal(error.code, "PARTITION_LOST", String(error)),
          );
          await owner.transactor.close();
        }
        cluster.onAsk = () => undefined;
        const last = new TransactorRig({ clock, cluster });
        await workUntil(last, commits);
        cluster.deliverDelayed();
        last.assertCommitted(Array.from({ length: commits }, (_, number) => number));
      }),
      { numRuns: 150 },
    );
  });
});

/** Continues from the position found, as a lane does. */
async function workUntil(owner: TransactorRig, commits: number): Promise<void> {
  const positions = await owner.open();
  const done = ([...positions.values()][0] ?? 0) / 10;
  for (let number = done; number < commits; number++) await owner.commit(number);
}
