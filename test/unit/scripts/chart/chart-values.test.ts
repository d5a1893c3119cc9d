import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { leavesOf, readChartValues } from "../../../../scripts/chart/chart-values.ts";

const text = `# About the whole file.

# -- How many.
# @schema { minimum: 1 }
replicas: 2
# A group needs no description.
image:
  # -- Where it is.
  repository: here # and no more

  # -- Labels,
  # @schema labels
  labels: {}
# -- A group that is one value.
# @schema { type: object }
probe:
  seconds: 3
`;

describe("the values of the chart", () => {
  test("are read with description, schema and default", () => {
    const leaves = [...leavesOf(readChartValues(text))];
    assert.deepEqual(
      leaves.map(({ path, doc, fallback }) => [path.join("."), doc, fallback]),
      [
        ["replicas", "How many.", 2],
        ["image.repository", "Where it is.", "here"],
        ["image.labels", "Labels,", {}],
        ["probe", "A group that is one value.", { seconds: 3 }],
      ],
    );
    assert.deepEqual(leaves[0]?.narrowing, { minimum: 1 });
    assert.deepEqual(leaves[2]?.narrowing, { type: "object", additionalProperties: { type: "string" } });
  });

  test("are refused when one lacks a description or has an unknown schema", () => {
    assert.throws(() => readChartValues(`${text}\nextra: 1\n`), /values\.yaml:\d+: extra has no comment/);
    assert.throws(
      () => readChartValues("# -- A list.\n# @schema lables\nlist: []\n"),
      /list: @schema lables/,
    );
    assert.throws(() => readChartValues("a: 1\na: 2\n"), /unique/);
  });
});
