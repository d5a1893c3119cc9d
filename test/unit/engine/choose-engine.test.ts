import assert from "node:assert/strict";
import { test } from "node:test";
import { chooseEngine, type EngineSettings, type EngineSources } from "../../../src/engine/choose-engine.ts";
import type { ThreadedEngineOptions } from "../../../src/engine/threads/threaded-engine.ts";
import type { Engine } from "../../../src/models/forecastnet/engine.ts";
import { silentLogger } from "../../../src/runtime/logging.ts";
import { openIdleEngine } from "../../pipeline/support/idle-engine.ts";

type Native = ReturnType<EngineSources["findNative"]>;
const noNative: Native = { present: false, reason: "not set up: run the setup", variant: null };
const nativeOf = (variant: Native["variant"]): Native => ({ present: true, reason: "set up", variant });

/** What `chooseEngine` opened, closed and logged on a machine where TensorFlow finds `device`. */
async function choose(
  settings: Partial<EngineSettings>,
  native: Native,
  device: string | Error = "cpu",
): Promise<{ opened: string[]; lines: Readonly<Record<string, unknown>>[]; engine: Engine }> {
  const opened: string[] = [];
  const lines: Readonly<Record<string, unknown>>[] = [];
  const open = async ({ setup, threads }: ThreadedEngineOptions): Promise<Engine> => {
    const memory = setup.kind === "tensorflow" ? ` ${setup.memoryMb} MiB` : "";
    opened.push(`${setup.kind} ${threads}${memory}`);
    if (setup.kind === "tensorflow" && device instanceof Error) throw device;
    const description = {
      name: setup.kind,
      threads,
      detail: `the ${setup.kind} executor`,
      device: setup.kind === "tensorflow" ? String(device) : "cpu",
    };
    return { ...(await openIdleEngine()), description, close: async () => void opened.push("closed") };
  };
  const logger = {
    ...silentLogger,
    info: (facts: object, message: string) => lines.push({ message, ...facts }),
  };
  const given = { kind: "auto", threads: 3, memoryMb: 256, ...settings } as const;
  const engine = await chooseEngine(given, logger, { open, findNative: () => native });
  return { opened, lines, engine };
}

test("auto chooses simd if native TensorFlow is not set up, without loading it", async () => {
  const { opened, lines } = await choose({}, noNative);
  assert.deepEqual(opened, ["simd 3"]);
  assert.deepEqual(lines, [
    {
      message: "engine chosen",
      engine: "simd",
      device: "cpu",
      threads: 3,
      detail: "the simd executor",
      why: "no GPU for TensorFlow: not set up: run the setup",
    },
  ]);
});

test("auto chooses simd if TensorFlow is set up for the CPU, without loading it", async () => {
  const { opened, lines } = await choose({}, nativeOf("cpu"), "gpu");
  assert.deepEqual(opened, ["simd 3"]);
  assert.equal(lines[0].why, "TensorFlow is set up for the cpu");
});

for (const variant of ["gpu", "unknown"] as const) {
  test(`auto chooses TensorFlow if it sees a GPU, set up as ${variant}`, async () => {
    const { opened, lines, engine } = await choose({}, nativeOf(variant), "gpu");
    assert.deepEqual(opened, ["tensorflow 1 256 MiB"]);
    assert.equal(engine.description.name, "tensorflow");
    assert.deepEqual([lines.length, lines[0].device, lines[0].why], [1, "gpu", "TensorFlow sees a GPU"]);
  });
}

test("auto closes TensorFlow and chooses simd if it sees no GPU", async () => {
  const { opened, lines } = await choose({}, nativeOf("gpu"), "cpu");
  assert.deepEqual(opened, ["tensorflow 1 256 MiB", "closed", "simd 3"]);
  assert.deepEqual(
    [lines.length, lines[0].engine, lines[0].why],
    [1, "simd", "TensorFlow sees no GPU: the tensorflow executor"],
  );
});

test("auto chooses simd if TensorFlow fails, and logs the failure", async () => {
  const { opened, lines } = await choose({}, nativeOf("gpu"), new Error("no such library"));
  assert.deepEqual(opened, ["tensorflow 1 256 MiB", "simd 3"]);
  assert.equal(lines[0].why, "TensorFlow cannot be used: no such library");
});

test("an engine that the configuration names is opened whatever the hardware", async () => {
  const simd = await choose({ kind: "simd", threads: 0 }, nativeOf("gpu"), "gpu");
  assert.deepEqual(simd.opened, ["simd 0"]);
  assert.equal(simd.lines[0].why, "engine.kind names it");
  assert.deepEqual((await choose({ kind: "tensorflow" }, noNative)).opened, ["tensorflow 1 256 MiB"]);
});

test("an engine that the configuration names and that fails is not replaced", async () => {
  await assert.rejects(choose({ kind: "tensorflow" }, nativeOf("gpu"), new Error("broken")), /broken/);
});
