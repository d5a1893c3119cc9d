// Several benches share one page: each replaces its own part and leaves the others alone.

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Part, putPart } from "../../../../bench/rig/report.ts";

function partOf(name: string, figure: string): Part {
  const section = { title: "Speed", method: "Timed.", columns: ["what", "ms"], rows: [["all", figure]] };
  return {
    name,
    title: `The ${name}`,
    command: `npm run bench:${name}`,
    facts: { Date: "2026-01-02" },
    sections: [section],
  };
}

const page = putPart(putPart("# Benchmarks\n\nProse.\n", partOf("first", "1")), partOf("second", "2"));

test("a new part comes after those that are there", () => {
  const marks = [...page.matchAll(/<!-- (\w+: \w+) -->/g)].map(([, mark]) => mark);
  assert.deepEqual(marks, ["first: begin", "first: end", "second: begin", "second: end"]);
  assert.match(page, /^# Benchmarks\n\nProse\.\n\n<!-- first: begin -->\n## The first\n/);
});

test("a part that is written again stays in its place and leaves the other as it was", () => {
  assert.equal(putPart(page, partOf("first", "1")), page);
  const changed = putPart(page, partOf("first", "9"));
  assert.notEqual(changed, page);
  assert.equal(changed.replace("|  9 |", "|  1 |"), page);
});

test("a page that lost a marker is refused rather than spoilt", () => {
  const spoilt = page.replace("<!-- first: end -->", "");
  assert.throws(
    () => putPart(spoilt, partOf("first", "1")),
    /only one of the markers "<!-- first: begin -->"/,
  );
});
