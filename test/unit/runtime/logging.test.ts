import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";

const loggingUrl = new URL("../../../src/runtime/logging.js", import.meta.url).href;

/** Runs the logger in a process of its own that dies right after, and reads what it left. */
function lastWords(level: string, fd: 1 | 2): { readonly stdout: string; readonly stderr: string } {
  const script = `
    import { createLogger } from ${JSON.stringify(loggingUrl)};
    const logger = createLogger(${JSON.stringify(level)}, ${fd});
    logger.debug({ n: 1 }, "a detail");
    logger.info({ partition: 3, seriesId: 'a"b\\n' }, "partition restored");
    logger.error({ reason: "x" }, "worker failed");
    process.exit(0);`;
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
    encoding: "utf8",
  });
  return { stdout, stderr };
}

test("each event is one JSON line, whole even when the process ends at once", () => {
  const lines = lastWords("info", 1)
    .stdout.trimEnd()
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

test("the level and the destination are those asked for", () => {
  assert.deepEqual(lastWords("silent", 1), { stdout: "", stderr: "" });
  const { stdout, stderr } = lastWords("debug", 2);
  assert.equal(stdout, "");
  assert.equal(stderr.trimEnd().split("\n").length, 3);
});
