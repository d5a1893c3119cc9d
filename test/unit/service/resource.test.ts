import assert from "node:assert/strict";
import { test } from "node:test";
import { Resource } from "../../../src/service/resource.ts";

function createPlace() {
  const closed: (readonly [string, number])[] = [];
  const place = new Resource<string>((opened, gentleMs) => {
    closed.push([opened, gentleMs]);
  });
  return { place, closed };
}

test("what was opened is at hand, and is closed with the time it is given", async () => {
  const { place, closed } = createPlace();
  assert.equal(place.opened, undefined);
  assert.equal(await place.open(async () => "engine"), "engine");
  assert.deepEqual([place.opened, closed], ["engine", []]);
  await place.close(750);
  assert.deepEqual(closed, [["engine", 750]]);
});

test("an emptied place takes another, and only that is closed in the end", async () => {
  const { place, closed } = createPlace();
  await place.open(() => "first");
  await place.empty(500);
  assert.deepEqual([place.opened, closed], [undefined, [["first", 500]]]);
  await place.open(() => "second");
  await place.close(750);
  assert.deepEqual(closed, [
    ["first", 500],
    ["second", 750],
  ]);
});

test("a place that is closed while it is emptied waits for that, and closes nothing twice", async () => {
  const closed: string[] = [];
  let end = () => {};
  const place = new Resource<string>(async (opened) => {
    await new Promise<void>((resolve) => {
      end = resolve;
    });
    closed.push(opened);
  });
  await place.open(() => "lanes");
  const emptied = place.empty(500);
  let isClosed = false;
  const closing = place.close(750).then(() => {
    isClosed = true;
  });
  await emptiedSoon();
  assert.equal(isClosed, false);
  end();
  await Promise.all([emptied, closing]);
  assert.deepEqual(closed, ["lanes"]);
});

/** A turn of the event loop. */
function emptiedSoon(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

test("closing what was never opened does nothing", async () => {
  const { place, closed } = createPlace();
  await place.close(750);
  assert.deepEqual(closed, []);
});

test("what comes after the seal is closed at once, by force, and never kept", async () => {
  const { place, closed } = createPlace();
  let come = (_: string) => {};
  const opening = place.open(
    () =>
      new Promise((resolve) => {
        come = resolve;
      }),
  );
  place.seal();
  await place.close(750);
  assert.deepEqual(closed, []);
  come("engine");
  await assert.rejects(opening, /after the end of the service/);
  assert.deepEqual([closed, place.opened], [[["engine", 0]], undefined]);
});

test("nothing is opened once the place is sealed", async () => {
  const { place } = createPlace();
  place.seal();
  await assert.rejects(
    place.open(() => assert.fail("it was opened")),
    /opens nothing more/,
  );
});

test("a failed opening leaves the place free for another", async () => {
  const { place } = createPlace();
  await assert.rejects(
    place.open(() => {
      throw new Error("no kernel");
    }),
    /no kernel/,
  );
  assert.equal(await place.open(() => "engine"), "engine");
});
