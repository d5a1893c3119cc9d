import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { ResidentModels } from "../../../../src/engine/threads/protocol.ts";
import { randomModel } from "../../../rig/random-model.ts";

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

test("weights outside shared memory are copied into it once; those inside are not copied", () => {
  const models = new ResidentModels(() => {});
  const model = randomModel();
  const { id, shared } = models.of(model);
  const { weights } = shared.members[0];
  assert.ok(weights.buffer instanceof SharedArrayBuffer);
  assert.deepEqual([...weights], [...model.members[0].weights]);
  assert.equal(models.of(model).shared, shared);
  const again = models.of({ ...model, members: [{ ...model.members[0], weights }] });
  assert.equal(again.shared.members[0].weights, weights);
  assert.notEqual(again.id, id);
});

test("a released model is forgotten once, by its number", () => {
  const forgotten: number[] = [];
  const models = new ResidentModels((id) => forgotten.push(id));
  const [kept, released] = [randomModel({ key: "a" }), randomModel({ key: "b" })];
  models.of(kept);
  const { id } = models.of(released);
  models.release(released);
  models.release(released);
  assert.deepEqual([forgotten, models.count, models.bytes], [[id], 1, kept.members[0].weights.byteLength]);
});

test("a model that its owner dropped without releasing it is forgotten", async () => {
  const forgotten: number[] = [];
  const models = new ResidentModels((id) => forgotten.push(id));
  const kept = randomModel({ key: "kept" });
  models.of(kept);
  for (let i = 0; i < 3; i++) models.of(randomModel({ key: `candidate ${i}` }));
  for (let turn = 0; turn < 50 && forgotten.length < 3; turn++) {
    collectGarbage();
    await setImmediate();
  }
  assert.deepEqual([forgotten.sort(), models.count], [[2, 3, 4], 1]);
  assert.equal(models.of(kept).id, 1);
});
