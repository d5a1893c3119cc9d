import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { parseInterval, slotTimesOf } from "../../../src/models/interval.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

describe("fixed intervals", () => {
  test("a time belongs to the nearest slot, and a tie to the later one", () => {
    const hour = parseInterval("PT1H");
    assert.equal(hour.indexOf(HOUR + HOUR / 2 - 1, 0), 1);
    assert.equal(hour.indexOf(HOUR + HOUR / 2, 0), 2);
    assert.equal(hour.indexOf(-HOUR / 2, 0), 0);
    assert.equal(hour.indexOf(-HOUR / 2 - 1, 0), -1);
  });

  test("an offset shifts the whole grid", () => {
    const day = parseInterval("P1D");
    assert.equal(day.indexOf(12 * HOUR + 5, 12 * HOUR), 0);
    assert.equal(day.timeOf(1, 12 * HOUR), 36 * HOUR);
  });

  test("weeks begin on Monday", () => {
    const week = parseInterval("P1W");
    assert.equal(new Date(week.timeOf(2841, 0)).getUTCDay(), 1);
    assert.equal(parseInterval("P7D").iso, "P1W");
  });

  test("different spellings of one length are the same interval", () => {
    const spellings = ["PT60M", "PT3600S", "PT59M60S"];
    assert.deepEqual(
      spellings.map((iso) => parseInterval(iso).iso),
      ["PT1H", "PT1H", "PT1H"],
    );
    assert.equal(parseInterval("PT0.007S").iso, "PT0.007S");
    assert.equal(parseInterval("PT1,5S").timeOf(2, 0), 3000);
  });

  test("index and time are each other's inverse, and no time is further than half a step from its slot", () => {
    const steps = fc.constantFrom("PT0.25S", "PT1S", "PT7M", "PT1H", "P1D", "P1W");
    const time = fc.integer({ min: -4e12, max: 4e12 });
    fc.assert(
      fc.property(steps, time, fc.integer({ min: -1e6, max: 1e6 }), (iso, timeMs, offsetMs) => {
        const interval = parseInterval(iso);
        const index = interval.indexOf(timeMs, offsetMs);
        const slotMs = interval.timeOf(index, offsetMs);
        assert.equal(interval.indexOf(slotMs, offsetMs), index);
        assert.ok(Math.abs(timeMs - slotMs) <= interval.maxJitterMs);
      }),
    );
  });
});

describe("calendar intervals", () => {
  test("a time belongs to the month that contains it", () => {
    const month = parseInterval("P1M");
    assert.equal(month.indexOf(Date.UTC(2024, 1, 29, 23, 59, 59, 999), 0), 54 * 12 + 1);
    assert.equal(month.indexOf(Date.UTC(2024, 2, 1), 0), 54 * 12 + 2);
    assert.equal(month.timeOf(54 * 12 + 2, 0), Date.UTC(2024, 2, 1));
  });

  test("months before the epoch count downwards", () => {
    const month = parseInterval("P1M");
    assert.equal(month.indexOf(Date.UTC(1969, 11, 31), 0), -1);
    assert.equal(month.timeOf(-13, 0), Date.UTC(1968, 11, 1));
  });

  test("quarters and years start with January", () => {
    assert.equal(parseInterval("P3M").timeOf(1, 0), Date.UTC(1970, 3, 1));
    assert.equal(parseInterval("P1Y").indexOf(Date.UTC(2023, 11, 31), 0), 53);
    assert.equal(parseInterval("P12M").iso, "P1Y");
  });

  test("an offset moves the start of the month", () => {
    const month = parseInterval("P1M");
    assert.equal(month.indexOf(Date.UTC(1970, 1, 14), 14 * DAY), 0);
    assert.equal(month.indexOf(Date.UTC(1970, 1, 15), 14 * DAY), 1);
  });
});

describe("the slots of a history", () => {
  test("have the times of the series' grid, however it is shifted by less than half a step", () => {
    const steps = [
      ["PT5M", 150_000],
      ["PT1H", HOUR / 2],
      ["P1D", DAY / 2],
      ["P1W", 3.5 * DAY],
      ["P1M", 14 * DAY],
      ["P3M", 45 * DAY],
      ["P1Y", 182 * DAY],
    ] as const;
    const shift = fc.double({ min: -1, max: 1, noNaN: true, minExcluded: true, maxExcluded: true });
    fc.assert(
      fc.property(
        fc.constantFrom(...steps),
        shift,
        fc.integer({ min: -300, max: 900 }),
        (step, share, first) => {
          const [iso, half] = step;
          const offsetMs = Math.round(share * (half - 1));
          const interval = parseInterval(iso);
          const timeOf = slotTimesOf({ interval: iso, firstTimeMs: interval.timeOf(first, offsetMs) });
          for (let slot = 0; slot < 30; slot++)
            assert.equal(timeOf(slot), interval.timeOf(first + slot, offsetMs), `slot ${slot}`);
        },
      ),
    );
  });

  test("of months that are shifted back by hours end the month before, February as well", () => {
    const timeOf = slotTimesOf({ interval: "P1M", firstTimeMs: Date.UTC(2020, 0) - 2 * HOUR });
    assert.equal(timeOf(1), Date.UTC(2020, 1) - 2 * HOUR);
    assert.equal(timeOf(2), Date.UTC(2020, 2) - 2 * HOUR);
  });
});

describe("a bad interval is refused with its text, the problem and examples", () => {
  for (const [iso, problem] of [
    ["1h", /"1h" is not an ISO 8601 duration; .*PT5M/],
    ["P", /has no length/],
    ["PT", /is not an ISO 8601 duration/],
    ["P1DT", /is not an ISO 8601 duration/],
    ["PT0S", /has no length/],
    ["P1M1D", /mixes months/],
    ["PT0.0001S", /whole number of milliseconds/],
    ["P0.5M", /is not an ISO 8601 duration/],
    ["-PT1H", /is not an ISO 8601 duration/],
  ] as const) {
    test(`${iso} is refused`, () => {
      assert.throws(() => parseInterval(iso), { message: problem });
    });
  }
});
