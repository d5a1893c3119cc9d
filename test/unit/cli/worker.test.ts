// `forecastnet worker` and `forecastnet trainer` as processes without a broker: they retry, report it, and stop on
// SIGTERM.

import assert from "node:assert/strict";
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { describe, type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";

const main = fileURLToPath(new URL("../../../src/cli/main.js", import.meta.url));

/** A port of this machine on which nothing listens. */
async function unusedPort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

function start(t: TestContext, argv: readonly string[]): ChildProcessByStdio<null, Readable, null> {
  const child = spawn(process.execPath, [main, ...argv], { stdio: ["ignore", "pipe", "inherit"] });
  t.after(() => child.kill("SIGKILL"));
  return child;
}

for (const role of ["worker", "trainer"]) {
  describe(`a ${role} without a broker`, () => {
    test("is alive, not ready, and exits with 0 on SIGTERM", { timeout: 30_000 }, async (t) => {
      const brokers = `--kafka.brokers=127.0.0.1:${await unusedPort()}`;
      const child = start(t, [role, brokers, "--worker.host=127.0.0.1", "--worker.port=0"]);
      const exited = once(child, "exit");
      const messages: string[] = [];
      let port = 0;
      let hasAsked = false;
      for await (const line of createInterface({ input: child.stdout })) {
        const event = JSON.parse(line);
        messages.push(event.to === undefined ? event.msg : `${event.msg}: ${event.to}`);
        if (event.msg === "http listening") port = event.port;
        if (event.msg !== "cannot start yet, trying again" || hasAsked) continue;
        hasAsked = true;
        assert.equal(event.code, "BROKER_UNREACHABLE");
        assert.equal((await fetch(`http://127.0.0.1:${port}/healthz`)).status, 200);
        const ready = await fetch(`http://127.0.0.1:${port}/readyz`);
        assert.deepEqual([ready.status, (await ready.text()).includes("127.0.0.1")], [503, true]);
        child.kill("SIGTERM");
      }
      assert.deepEqual(await exited, [0, null]);
      assert.deepEqual(messages.slice(0, 2), [`${role} starting`, "http listening"]);
      assert.equal(messages.at(-1), `${role} state changed: stopped`);
    });

    test("whose port is taken reports it and returns 3", { timeout: 30_000 }, async (t) => {
      const server = createServer().listen(0, "127.0.0.1");
      t.after(() => server.close());
      await once(server, "listening");
      const { port } = server.address() as AddressInfo;
      const child = start(t, [role, "--worker.host=127.0.0.1", `--worker.port=${port}`]);
      const exited = once(child, "exit");
      const lines: { readonly msg: string; readonly reason?: string }[] = [];
      for await (const line of createInterface({ input: child.stdout })) lines.push(JSON.parse(line));
      assert.deepEqual(await exited, [3, null]);
      assert.equal(lines.at(-1)?.msg, `${role} failed`);
      assert.match(lines.at(-1)?.reason ?? "", /EADDRINUSE/);
    });
  });
}
