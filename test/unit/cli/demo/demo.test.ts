import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { describe, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { exitCodes } from "../../../../src/cli/command.ts";
import { runDemoCommand } from "../../../../src/cli/demo/demo.ts";

interface Transcript {
  readonly out: string[];
  readonly err: string[];
}

function start(argv: readonly string[]): { readonly ended: Promise<number>; readonly lines: Transcript } {
  const lines: Transcript = { out: [], err: [] };
  const io = {
    out: (line: string) => lines.out.push(line),
    err: (line: string) => lines.err.push(line),
    env: {},
  };
  return { ended: runDemoCommand(argv, io), lines };
}

/** Repeats the question until there is an answer, for at most ten seconds. */
async function eventually<T>(ask: () => T | undefined | Promise<T | undefined>): Promise<T> {
  for (let attempt = 0; attempt < 500; attempt++) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    await delay(20);
  }
  throw new Error("no answer within ten seconds");
}

describe("forecastnet demo", () => {
  test("forecasts its sensors, serves the forecasts and accounts for every observation", async () => {
    // Long enough for all requests below, even on a busy machine.
    const { ended, lines } = start(["--plain", "--seconds", "8", "--series", "12", "--port", "0"]);
    const address = await eventually(() => lines.out.join("\n").match(/http:\/\/127\.0\.0\.1:\d+/)?.[0]);
    const forecasts = await eventually(async () => {
      const answer = (await (await fetch(`${address}/forecasts`)).json()) as Record<string, unknown>[];
      return answer.length === 12 ? answer : undefined;
    });
    assert.ok(forecasts.some(({ seriesId }) => seriesId === "river-level-1"));
    const one = await fetch(`${address}/forecasts/river-level-1`);
    assert.equal(((await one.json()) as { horizon: number }).horizon, 12);
    assert.equal((await fetch(`${address}/forecasts/nobody`)).status, 404);
    assert.equal((await fetch(`${address}/readyz`)).status, 200);
    assert.match(await (await fetch(`${address}/metrics`)).text(), /^forecastnet_forecasts_total/m);

    assert.equal(await ended, exitCodes.ok);
    const text = lines.out.join("\n");
    assert.match(text, /observations\/s \| .*80 % interval covers \d+\.\d % of [\d,]+ \| \d+ dead letters/);
    assert.match(text, /river-level-1 .*┊.*next .* by seasonal-naive/);
    assert.match(text, /every observation was counted once/);
    assert.match(text, /0 of them twice/);
    assert.deepEqual(lines.err, []);
    await assert.rejects(fetch(`${address}/forecasts`), "the HTTP server outlives the demo");
  });

  test("uses a free port and says so when the given one is taken", async () => {
    const holder = createServer().listen(0, "127.0.0.1");
    await once(holder, "listening");
    const { port } = holder.address() as AddressInfo;
    try {
      const { ended, lines } = start(["--plain", "--seconds=1", "--series=1", `--port=${port}`]);
      assert.equal(await ended, exitCodes.ok);
      assert.match(lines.out[0], new RegExp(`port ${port} is taken`));
      assert.match(lines.out[1], /http:\/\/127\.0\.0\.1:\d+/);
      assert.ok(!lines.out[1].includes(`:${port}/`));
    } finally {
      holder.close();
    }
  });

  for (const argv of [
    ["--series", "0"],
    ["--series", "many"],
    ["--port=70000"],
    ["--seconds=-1"],
    ["--colour"],
  ]) {
    test(`refuses ${argv.join(" ")} with the reason and the usage`, async () => {
      const { ended, lines } = start(argv);
      assert.equal(await ended, exitCodes.usage);
      assert.match(
        lines.err.join("\n"),
        new RegExp(`${argv[0].replace(/=.*/, "")}.*\n\nusage: forecastnet demo`),
      );
      assert.deepEqual(lines.out, []);
    });
  }

  test("prints its help", async () => {
    const { ended, lines } = start(["--help"]);
    assert.equal(await ended, exitCodes.ok);
    assert.match(lines.out[0], /^usage: forecastnet demo/);
  });
});
