import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";

const loggingUrl = new URL("../../../src/runtime/logging.js", import.meta.url).href;

/** The output of a process that logs and exits at once. */
function outputOf(level: string): string {
  const script = `
    import { createLogger } from ${JSON.stringify(loggingUrl)};
    const logger = createLogger(${JSON.stringify(level)});
    logger.debug({ n: 1 }, "a detail");
    logger.info({ partition: 3, seriesId: 'a"b\\n' }, "partition restored");
    logger.error({ reason: "x" }, "worker failed");
    process.exit(0);`;
  return spawnSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" }).stdout;
}

test("each event is one complete JSON line, even if the process exits at once", () => {
  const lines = outputOf("info")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  assert.deepEqual(
    lines.map(({ time, ...rest }) => rest),
    [
      {
        level: "info",
        service: "forecastnet",
        partition: 3,
        seriesId: 'a"b\n',
        msg: "partition restored",
      },
      { level: "error", service: "forecastnet", reason: "x", msg: "worker failed" },
    ],
  );
  assert.ok(lines.every(({ time }) => new Date(time).toISOString() === time));
});

test("the logger respects its level", () => {
  assert.equal(outputOf("silent"), "");
  assert.equal(outputOf("debug").trimEnd().split("\n").length, 3);
});
