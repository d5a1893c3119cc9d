import assert from "node:assert/strict";
import { test } from "node:test";
import { Resource } from "../../../src/runtime/resource.ts";

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
  await assert.rejects(opening, /too late/);
  assert.deepEqual([closed, place.opened], [[["engine", 0]], undefined]);
});

test("nothing is opened once the place is sealed", async () => {
  const { place } = createPlace();
  place.seal();
  await assert.rejects(
    place.open(() => assert.fail("it was opened")),
    /nothing is opened any more/,
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
