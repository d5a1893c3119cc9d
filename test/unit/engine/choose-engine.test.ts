import assert from "node:assert/strict";
import { test } from "node:test";
import { chooseEngine, type EngineSettings, type EngineSources } from "../../../src/engine/choose-engine.ts";
import type { Engine } from "../../../src/engine/engine.ts";
import type { ThreadedEngineOptions } from "../../../src/engine/threads/threaded-engine.ts";
import { silentLogger } from "../../../src/runtime/logging.ts";
import { openIdleEngine } from "../../pipeline/support/idle-engine.ts";

type Native = ReturnType<EngineSources["findNative"]>;
const noNative: Native = { present: false, reason: "not set up: run the setup", variant: null };
const nativeOf = (variant: Native["variant"]): Native => ({ present: true, reason: "set up", variant });

/** What was opened, closed and logged while choosing on a machine where TensorFlow finds `device`. */
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
      ...{ name: setup.kind, threads, detail: `${setup.kind} it is` },
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

test("auto takes simd where native TensorFlow is not set up, and loads nothing to find out", async () => {
  const { opened, lines } = await choose({}, noNative);
  assert.deepEqual(opened, ["simd 3"]);
  assert.deepEqual(lines, [
    {
      message: "engine chosen",
      ...{ engine: "simd", device: "cpu", threads: 3, detail: "simd it is" },
      why: "no GPU for TensorFlow: not set up: run the setup",
    },
  ]);
});

test("auto takes simd where TensorFlow is set up for the processor, and loads nothing to find out", async () => {
  const { opened, lines } = await choose({}, nativeOf("cpu"), "gpu");
  assert.deepEqual(opened, ["simd 3"]);
  assert.equal(lines[0].why, "TensorFlow is set up for the cpu");
});

for (const variant of ["gpu", "unknown"] as const) {
  test(`auto takes TensorFlow where it sees a GPU, set up as ${variant}`, async () => {
    const { opened, lines, engine } = await choose({}, nativeOf(variant), "gpu");
    assert.deepEqual(opened, ["tensorflow 1 256 MiB"]);
    assert.equal(engine.description.name, "tensorflow");
    assert.deepEqual([lines.length, lines[0].device, lines[0].why], [1, "gpu", "TensorFlow sees a GPU"]);
  });
}

test("auto gives TensorFlow back where it sees no GPU", async () => {
  const { opened, lines } = await choose({}, nativeOf("gpu"), "cpu");
  assert.deepEqual(opened, ["tensorflow 1 256 MiB", "closed", "simd 3"]);
  assert.deepEqual(
    [lines.length, lines[0].engine, lines[0].why],
    [1, "simd", "TensorFlow sees no GPU: tensorflow it is"],
  );
});

test("auto does without a TensorFlow that breaks, and says what broke", async () => {
  const { opened, lines } = await choose({}, nativeOf("gpu"), new Error("no such library"));
  assert.deepEqual(opened, ["tensorflow 1 256 MiB", "simd 3"]);
  assert.equal(lines[0].why, "TensorFlow cannot be used: no such library");
});

test("an engine that is asked for is taken without looking at the machine", async () => {
  const simd = await choose({ kind: "simd", threads: 0 }, nativeOf("gpu"), "gpu");
  assert.deepEqual(simd.opened, ["simd 0"]);
  assert.equal(simd.lines[0].why, "engine.kind asks for it");
  assert.deepEqual((await choose({ kind: "tensorflow" }, noNative)).opened, ["tensorflow 1 256 MiB"]);
});

test("an engine that is asked for and cannot be had is no engine", async () => {
  await assert.rejects(choose({ kind: "tensorflow" }, nativeOf("gpu"), new Error("broken")), /broken/);
});
