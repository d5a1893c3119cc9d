// CSV files as observations: how the columns are found, what becomes of odd files, and what is said about those that cannot
// be read.

import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { describe, test } from "node:test";
import { type PointOptions, readPoints } from "../../../src/csv/points.ts";
import type { CsvSource } from "../../../src/csv/rows.ts";
import type { Observation } from "../../../src/domain.ts";
import { ForecastnetError } from "../../../src/runtime/errors.ts";

const found: PointOptions["wanted"] = { time: null, series: null, value: null };
const hourMs = 3_600_000;

function sourceOf(content: string | Buffer, name = "in/plant.csv"): CsvSource {
  return { name, open: () => Readable.from([Buffer.from(content)]) };
}

async function read(
  content: string | Buffer | readonly CsvSource[],
  wanted: Partial<PointOptions["wanted"]> = {},
): Promise<readonly Observation[]> {
  const sources = typeof content === "string" || Buffer.isBuffer(content) ? [sourceOf(content)] : content;
  const options = { wanted: { ...found, ...wanted }, timeOfRow: (row: number) => row * hourMs };
  const points: Observation[] = [];
  for await (const batch of readPoints(sources, options)) points.push(...batch);
  return points;
}

/** "pump 2024-01-01T00 1.5" for each. */
async function said(...args: Parameters<typeof read>): Promise<readonly string[]> {
  return (await read(...args)).map(
    ({ seriesId, timeMs, values }) =>
      `${seriesId} ${new Date(timeMs).toISOString().slice(0, 13)} ${values[0]}`,
  );
}

describe("the columns of a file", () => {
  test("of a wide file are a time and one series for each column of numbers", async () => {
    const csv = "time,pump,note,fan\n2024-01-01 00:00,1.5,ok,7\n2024-01-01 01:00,2,,8\n";
    assert.deepEqual(await said(csv), [
      "pump 2024-01-01T00 1.5",
      "fan 2024-01-01T00 7",
      "pump 2024-01-01T01 2",
      "fan 2024-01-01T01 8",
    ]);
  });

  test("of a long file are a time, a series and a value", async () => {
    const csv = "sensor,timestamp,value\npump,2024-01-01,1\nfan,2024-01-01,2\n";
    assert.deepEqual(await said(csv), ["pump 2024-01-01T00 1", "fan 2024-01-01T00 2"]);
  });

  test("can be named, by name or by number", async () => {
    const csv = "kWh,where,when,other\n1,pump,2024-01-01,9\n";
    const wanted = { time: "when", series: "2", value: "kWh" };
    assert.deepEqual(await said(csv, wanted), ["pump 2024-01-01T00 1"]);
    assert.deepEqual(await said(csv, { value: "kWh,other" }), [
      "kWh 2024-01-01T00 1",
      "other 2024-01-01T00 9",
    ]);
  });

  test("need no header and no times", async () => {
    assert.deepEqual(await said("3\n4\n5\n"), [
      "plant 1970-01-01T00 3",
      "plant 1970-01-01T01 4",
      "plant 1970-01-01T02 5",
    ]);
  });

  test("take the name of the file where theirs says nothing, and are told apart by it", async () => {
    const files = [
      sourceOf("time,value\n2024-01-01,1\n", "a.csv"),
      sourceOf("time,p\n2024-01-01,2\n", "b.csv"),
    ];
    assert.deepEqual(await said(files), ["a 2024-01-01T00 1", "b/p 2024-01-01T00 2"]);
  });
});

describe("a file", () => {
  const odd: readonly (readonly [string, string | Buffer])[] = [
    ["with CRLF", "time,p\r\n2024-01-01,1.5\r\n"],
    ["with a byte order mark", "\ufefftime,p\n2024-01-01,1.5\n"],
    ["with semicolons and decimal commas", "time;p\n2024-01-01;1,5\n"],
    ["with tabs", "time\tp\n2024-01-01\t1.5\n"],
    ["with quotes", '"time","p"\n"2024-01-01","1.5"\n'],
    ["with empty lines", "time,p\n\n2024-01-01,1.5\n\n"],
    ["without an end of line", "time,p\n2024-01-01,1.5"],
    ["with spaces", "time , p\n2024-01-01 , 1.5\n"],
  ];
  for (const [what, content] of odd) {
    test(`${what} is read`, async () => {
      assert.deepEqual(await said(content), ["p 2024-01-01T00 1.5"]);
    });
  }

  test("leaves out values that are missing", async () => {
    const csv = "time,p\n2024-01-01,1\n2024-01-02,\n2024-01-03,NA\n2024-01-04,2\n";
    assert.deepEqual(await said(csv), ["p 2024-01-01T00 1", "p 2024-01-04T00 2"]);
  });

  test("of many rows is read in parts", async () => {
    const csv = `time,p\n${Array.from({ length: 5_000 }, (_, i) => `${1_700_000_000 + i},${i}`).join("\n")}\n`;
    const points = await read(csv);
    assert.equal(points.length, 5_000);
    assert.deepEqual(points[4_999]?.values, [4_999]);
  });
});

describe("a file that cannot be read", () => {
  const bad: readonly (readonly [string, string | Buffer, RegExp])[] = [
    ["is empty", "", /^in\/plant\.csv: it is empty; give a header/],
    ["has a header only", "time,p\n", /^in\/plant\.csv:1: there is a header and no row/],
    [
      "has a ragged row",
      "time,p\n2024-01-01,1\n2024-01-02,2,3\n",
      /^in\/plant\.csv:3: the row has 3 cells, the first row has 2; correct/,
    ],
    [
      "has text where a number was",
      `time,p\n${"2024-01-01,1\n".repeat(1_500)}2024-01-02,broken\n`,
      /^in\/plant\.csv:1502: "broken" in column "p" is not a number; write/,
    ],
    [
      "holds no numbers",
      "time,p\n2024-01-01,high\n",
      /^in\/plant\.csv:2: "high" in column "p" is not a number/,
    ],
    [
      "has a time of two meanings",
      `time,p\n${"2024-01-01,1\n".repeat(1_500)}01/02/2024,1\n`,
      /^in\/plant\.csv:1502: "01\/02\/2024" is not a time that has one meaning; write 2024/,
    ],
    [
      "has an open quote",
      'time,p\n2024-01-01,"1\n',
      /^in\/plant\.csv:\d: a quote is opened and never closed/,
    ],
    [
      "is in UTF-16",
      Buffer.from("\ufefftime,p\n", "utf16le"),
      /^in\/plant\.csv: the text is in UTF-16; save/,
    ],
    ["is no text", Buffer.from([1, 0, 2, 10]), /^in\/plant\.csv: this is not a text file/],
    [
      "names the series and has two columns of numbers",
      "sensor,a,b\npump,1,2\n",
      /^in\/plant\.csv:1: a column names the series, and several hold numbers \(a, b\); name the one/,
    ],
  ];
  for (const [what, content, message] of bad) {
    test(`because it ${what} is refused`, async () => {
      await assert.rejects(read(content), (error: unknown) => {
        assert.ok(error instanceof ForecastnetError && error.code === "INPUT_INVALID", String(error));
        assert.match(error.message, message);
        return true;
      });
    });
  }

  test("because it has no such column is refused with the columns it has", async () => {
    const message = /^in\/plant\.csv:1: there is no column "watts"; the columns are time, p$/;
    await assert.rejects(read("time,p\n2024-01-01,1\n", { value: "watts" }), { message });
  });

  test("because it does not exist is refused", async () => {
    const { fileSource } = await import("../../../src/csv/rows.ts");
    await assert.rejects(read([fileSource("no/such.csv")]), {
      message: /^no\/such\.csv: it cannot be read: ENOENT/,
    });
  });
});
