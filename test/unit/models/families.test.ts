// The battery over the families of this release, and what they do together.

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { openInProcessEngine } from "../../../src/engine/in-process-engine.ts";
import { createFamilies, Families, familyNames, storedFamilies } from "../../../src/models/families.ts";
import type { Model } from "../../../src/models/family.ts";
import { inputFor, options, seasonalSeries, taskOf, testFamily, train } from "./family-battery.ts";

const open = async (): Promise<Families> => createFamilies(await openInProcessEngine({ kind: "simd" }));

for (const name of familyNames) {
  // Persistence follows a pattern of two steps only.
  testFamily(name, async () => (await open()).named(name), name === "persistence" ? 2 : undefined);
}

describe("the families of this release", () => {
  let families: Families;
  const modelByFamily = new Map<string, Model>();
  before(async () => {
    families = await open();
    for (const name of familyNames) {
      const { model } = await train(families.named(name), taskOf([seasonalSeries()]));
      modelByFamily.set(name, model);
    }
  });

  test("answer a batch of models of all of them in its order, each family in one call", async () => {
    const calls: string[] = [];
    const watched = familyNames.map((name) => {
      const family = families.named(name);
      return {
        ...family,
        forecast: (...[tasks, asked]: Parameters<typeof family.forecast>) => {
          calls.push(`${name} ${tasks.length}`);
          return family.forecast(tasks, asked);
        },
      };
    });
    const names = [...familyNames, ...familyNames.toReversed()];
    const tasks = names.map((name, i) => {
      const model = modelByFamily.get(name) as Model;
      return { model, input: inputFor(families.named(name), model, seasonalSeries({ seed: i + 1 })) };
    });
    const answers = await new Families(watched).forecast(tasks, options);
    assert.deepEqual(
      calls,
      familyNames.map((name) => `${name} 2`),
    );
    for (const [i, task] of tasks.entries()) {
      const [alone] = await families.named(names[i]).forecast([task], options);
      assert.deepEqual(answers[i], alone, `task ${i} of ${names[i]}`);
    }
  });

  test("refuse the bytes of one another", () => {
    for (const [name, model] of modelByFamily) {
      const bytes = families.named(name).encode(model, "float32");
      for (const other of familyNames.filter((one) => one !== name))
        assert.throws(() => families.named(other).decode(bytes, "the test"), { code: "MODEL_UNFIT" });
    }
  });

  test("name those there are when asked for one that is not", () => {
    assert.throws(() => families.named("prophet", "record of a@v1"), {
      code: "MODEL_UNFIT",
      message: `record of a@v1: family is "prophet"; this release has ${familyNames.join(", ")}`,
    });
  });

  test("can be read and written, but not run, in a process without an engine", async () => {
    const model = modelByFamily.get("forecastnet") as Model;
    const family = storedFamilies.of(model);
    const read = family.decode(family.encode(model, "float32"), "the test");
    const input = inputFor(family, read, seasonalSeries());
    await assert.rejects(storedFamilies.forecast([{ model: read, input }], options), {
      code: "ENGINE_FAILED",
    });
  });
});
