import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import type { Batch } from "../../../src/domain.ts";
import { applyDecisions } from "../../../src/lifecycle/apply-decisions.ts";
import { turns } from "../../pipeline/support/turns.ts";
import { decisionOf, LifecycleFixture } from "./lifecycle-fixture.ts";

/** Longer than a decision waits for input. */
const aWhileMs = 1_000;

interface Item {
  readonly seriesId: string;
}

function batchOf(item: string): Batch<Item> {
  const deadLetter = { topic: "dead", partition: 0, key: null, value: null };
  return {
    ...{
      partition: 0,
      items: [{ seriesId: item }],
      records: [deadLetter],
      placements: [],
      arrivedMs: 0,
      eventMs: 0,
    },
    ...{ isBehind: false, isFull: false, settle: async () => {} },
  };
}

async function* inputOf(batch: Batch<Item>): AsyncGenerator<Batch<Item>> {
  yield batch;
}

const emptyBatch = () => ({ ...batchOf(""), items: [], records: [] });

/** Input that a test writes as it goes. */
class Input {
  readonly #waiting: (() => void)[] = [];
  readonly #steps: (Batch<Item> | Error | null)[] = [];
  reads = 0;
  isReturned = false;

  write(...items: readonly string[]): void {
    for (const item of items) this.#give(batchOf(item));
  }

  end(): void {
    this.#give(null);
  }

  break(error: Error): void {
    this.#give(error);
  }

  async *batches(): AsyncGenerator<Batch<Item>> {
    try {
      for (;;) {
        this.reads++;
        while (this.#steps.length === 0)
          await new Promise<void>((resolve) => {
            this.#waiting.push(resolve);
          });
        const step = this.#steps.shift() ?? null;
        if (step === null) return;
        if (step instanceof Error) throw step;
        yield step;
      }
    } finally {
      this.isReturned = true;
    }
  }

  #give(step: Batch<Item> | Error | null): void {
    this.#steps.push(step);
    for (const wake of this.#waiting.splice(0)) wake();
  }
}

function open(t: TestContext) {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const input = new Input();
  const fixture = new LifecycleFixture();
  const decided = applyDecisions(input.batches(), fixture.lifecycle, emptyBatch);
  const later = async () => {
    await turns(2);
    t.mock.timers.tick(aWhileMs);
    await turns(2);
  };
  return { input, fixture, lifecycle: fixture.lifecycle, decided, later };
}

const topicsOf = ({ value }: IteratorResult<Batch<Item>>) => [
  ...(value as Batch<Item>).items.map(({ seriesId }) => seriesId),
  ...(value as Batch<Item>).records.map(({ topic }) => topic),
];

describe("decisions", () => {
  test("go with the next batch of input, after what it brings itself", async (t) => {
    const { input, lifecycle, decided } = open(t);
    input.write("x", "y", "z");
    assert.deepEqual(topicsOf(await decided.next()), ["x", "dead"]);
    lifecycle.decide(decisionOf("refused"));
    assert.deepEqual(topicsOf(await decided.next()), ["y", "dead", "events"]);
    assert.deepEqual(topicsOf(await decided.next()), ["z", "dead"]);
  });

  test("made while input is waited for go with it when it comes soon", async (t) => {
    const { input, lifecycle, decided } = open(t);
    const next = decided.next();
    await turns(2);
    lifecycle.decide(decisionOf("refused"));
    await turns(2);
    input.write("x");
    assert.deepEqual(topicsOf(await next), ["x", "dead", "events"]);
  });

  test("go in a batch of their own when no input comes, and the input that follows is not lost", async (t) => {
    const { input, lifecycle, decided, later } = open(t);
    for (const round of [1, 2]) {
      const next = decided.next();
      await turns(2);
      lifecycle.decide(decisionOf("refused"));
      lifecycle.dismiss("b", "order");
      await later();
      assert.deepEqual(topicsOf(await next), ["models", "events"], `round ${round}`);
    }
    const next = decided.next();
    input.write("x", "y");
    assert.deepEqual(topicsOf(await next), ["x", "dead"]);
    assert.deepEqual(topicsOf(await decided.next()), ["y", "dead"]);
    assert.equal(input.reads, 2, "one read at a time");
  });

  test("that were made before anybody read are not forgotten", async (t) => {
    const { lifecycle, decided, later } = open(t);
    lifecycle.decide(decisionOf("refused"));
    const next = decided.next();
    await later();
    assert.deepEqual(topicsOf(await next), ["events"]);
  });
});

test("without decisions no batch comes of itself, however long it takes", async (t) => {
  const { input, decided, later } = open(t);
  let isDone = false;
  const next = decided.next().finally(() => {
    isDone = true;
  });
  for (let i = 0; i < 5; i++) await later();
  assert.equal(isDone, false);
  input.write("x");
  assert.deepEqual(topicsOf(await next), ["x", "dead"]);
});

test("a silent series does not end with a batch that it sends in, however long that has waited", async (t) => {
  const { input, lifecycle, decided, fixture } = open(t);
  await lifecycle.expiry.sweep();
  fixture.now.ms += 3_600_000;
  for (const id of ["x", "y"]) fixture.endMsById.set(id, 0);
  await lifecycle.expiry.sweep();
  input.write("x");
  const { value } = await decided.next();
  const { records } = value as Batch<Item>;
  assert.deepEqual([...new Set(records.map(({ key }) => String(key).replace(/#.*/, "")))], ["null", "y"]);
});

test("forgotten series are counted when the batch they end with is committed, and not before", async (t) => {
  const { input, lifecycle, decided, fixture } = open(t);
  lifecycle.expiry.order("a");
  input.write("x", "y");
  const { value: first } = await decided.next();
  lifecycle.expiry.order("b");
  const { value: second } = await decided.next();
  assert.equal(fixture.counts.of("forgot ordered"), 0);
  await (first as Batch<Item>).settle([]);
  assert.equal(fixture.counts.of("forgot ordered"), 1);
  await (second as Batch<Item>).settle([]);
  assert.equal(fixture.counts.of("forgot ordered"), 2);
});

test("forgotten series of a batch that is not committed are not counted", async (t) => {
  const { lifecycle } = new LifecycleFixture();
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const forgot = t.mock.method(lifecycle.view.metrics, "forgot");
  const unsettled = { ...batchOf("x"), settle: () => Promise.reject(new Error("not committed")) };
  lifecycle.expiry.order("a");
  const { value } = await applyDecisions(inputOf(unsettled), lifecycle, emptyBatch).next();
  await assert.rejects((value as Batch<Item>).settle([]), /not committed/);
  assert.equal(forgot.mock.callCount(), 0);
});

describe("the end of input", () => {
  test("ends the stage", async (t) => {
    const { input, decided } = open(t);
    input.end();
    assert.equal((await decided.next()).done, true);
  });

  test("is heard although a decision waits; the next owner decides anew", async (t) => {
    const { input, lifecycle, decided, later } = open(t);
    const next = decided.next();
    await turns(2);
    lifecycle.decide(decisionOf("refused"));
    input.end();
    await later();
    assert.equal((await next).done, true);
    assert.equal(lifecycle.isWaiting, true);
  });
});

describe("an error of the input", () => {
  const broken = new Error("broken");

  test("is passed on", async (t) => {
    const { input, decided } = open(t);
    input.break(broken);
    await assert.rejects(decided.next(), broken);
  });

  test("is passed on while a decision waits", async (t) => {
    const { input, lifecycle, decided } = open(t);
    const next = decided.next();
    await turns(2);
    lifecycle.decide(decisionOf("refused"));
    await turns(2);
    input.break(broken);
    await assert.rejects(next, broken);
  });

  test("that comes while an empty batch is worked on is passed on after it", async (t) => {
    const { input, lifecycle, decided, later } = open(t);
    lifecycle.decide(decisionOf("refused"));
    const next = decided.next();
    await later();
    await next;
    input.break(broken);
    await turns(2);
    await assert.rejects(decided.next(), broken);
  });
});

describe("a reader that stops early", () => {
  test("lets go of the input", async (t) => {
    const { input, decided } = open(t);
    input.write("x");
    for await (const { items } of decided) {
      assert.deepEqual(items, [{ seriesId: "x" }]);
      break;
    }
    assert.equal(input.isReturned, true);
  });

  test("after an empty batch does not wait for the read under way, nor for its error", async (t) => {
    const { input, lifecycle, decided, later } = open(t);
    lifecycle.decide(decisionOf("refused"));
    const next = decided.next();
    await later();
    await next;
    await decided.return(undefined);
    // Would end the process if nobody took it.
    input.break(new Error("nobody listens"));
    await turns(3);
    assert.equal((await decided.next()).done, true);
  });
});

test("a read that stays without an answer is watched once, however many decisions pass it", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { lifecycle } = new LifecycleFixture();
  let watched = 0;
  class Watched extends Promise<IteratorResult<Batch<Item>>> {
    // biome-ignore lint/suspicious/noThenProperty: counting who waits is the point.
    override then: Promise<IteratorResult<Batch<Item>>>["then"] = (...handlers) => {
      watched++;
      return super.then(...handlers);
    };
  }
  const silent = { [Symbol.asyncIterator]: () => ({ next: () => new Watched(() => {}) }) };
  const decided = applyDecisions(silent, lifecycle, emptyBatch);
  for (let i = 0; i < 20; i++) {
    lifecycle.decide(decisionOf("refused"));
    const next = decided.next();
    await turns(2);
    t.mock.timers.tick(aWhileMs);
    assert.deepEqual(topicsOf(await next), ["events"]);
  }
  assert.equal(watched, 1);
});
