import assert from "node:assert/strict";
import { test } from "node:test";
import { loadConfig } from "../../../src/runtime/config/load.ts";
import {
  type Acknowledged,
  compareForecasts,
  type Delivered,
  inputInOrder,
} from "../../integrity/support/cluster-count.ts";
import { expectFrom } from "../../integrity/support/expectation.ts";
import { knownObservation } from "../../integrity/support/load.ts";

const config = loadConfig({
  ...{ argv: ["--config", "story.json"], env: {} },
  readFile: () =>
    JSON.stringify({ series: { interval: "PT1M", horizon: 2 }, pipeline: { behindAfterMs: 0 } }),
});
const input = Array.from({ length: 12 }, (_, at) => knownObservation(at % 2, Math.floor(at / 2)));
const { forecastById } = await expectFrom(input, config);
const delivered: readonly Delivered[] = [...forecastById.values()].map((bytes, offset) => ({
  ...{ partition: 0, offset, key: null, value: bytes.toString("base64") },
}));

function faultsOf(read: readonly Delivered[], owed = forecastById): Record<string, number> {
  const { missing, doubled, unexpected, different, outOfOrder } = compareForecasts(read, owed, 12).counts;
  return { missing, doubled, unexpected, different, outOfOrder };
}

const none = { missing: 0, doubled: 0, unexpected: 0, different: 0, outOfOrder: 0 };

test("forecasts that are all there once, in order and to the byte have no fault", () => {
  assert.deepEqual(faultsOf(delivered), none);
});

test("each fault of the forecasts read is counted as what it is", () => {
  const [first, , third] = delivered as [Delivered, Delivered, Delivered];
  assert.deepEqual(faultsOf(delivered.slice(1)), { ...none, missing: 1 });
  assert.deepEqual(faultsOf([first, ...delivered]), { ...none, doubled: 1 });
  assert.deepEqual(faultsOf([third, ...delivered.filter((one) => one !== third)]), {
    ...none,
    outOfOrder: 1,
  });
  assert.deepEqual(faultsOf(delivered.with(-1, { ...(delivered.at(-1) as Delivered), partition: 1 })), {
    ...{ ...none, outOfOrder: 1 },
  });
  const [firstId] = forecastById.keys() as Iterable<string>;
  const otherwise = new Map(forecastById).set(firstId as string, Buffer.from("another content"));
  assert.deepEqual(faultsOf(delivered, otherwise), { ...none, different: 1 });
  const less = new Map([...forecastById].slice(1));
  assert.deepEqual(faultsOf(delivered, less), { ...none, unexpected: 1 });
});

test("the input counts only if the topic holds every acknowledged record once", () => {
  const sent = (offset: number | null): Acknowledged => ({
    ...{ partition: 0, offset, observation: { seriesId: "a", time: 60_000 * (offset ?? 1), value: 1 } },
  });
  const acknowledged = [sent(0), sent(null), sent(2)];
  assert.equal(inputInOrder(acknowledged, new Map([[0, 3]])).length, 3);
  assert.throws(() => inputInOrder(acknowledged, new Map([[0, 4]])), /holds each acknowledged record once/);
  assert.throws(() => inputInOrder([sent(0), sent(2), sent(1)], new Map([[0, 3]])), /offset 1/);
});
