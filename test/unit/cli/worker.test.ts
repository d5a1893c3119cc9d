// `forecastnet worker` as a process, with no broker to be had: it waits, says so, and obeys SIGTERM.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const main = fileURLToPath(new URL("../../../src/cli/main.js", import.meta.url));

/** A port of this machine where nobody listens. */
async function deafPort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address !== null ? address.port : assert.fail("no port");
}

test("a worker without a broker is alive, not ready, and ends well on SIGTERM", {
  timeout: 30_000,
}, async (t) => {
  const argv = [
    ...["worker", `--kafka.brokers=127.0.0.1:${await deafPort()}`],
    ...["--worker.host=127.0.0.1", "--worker.port=0"],
  ];
  const child = spawn(process.execPath, [main, ...argv], { stdio: ["ignore", "pipe", "inherit"] });
  t.after(() => child.kill("SIGKILL"));
  const exited = once(child, "exit");
  const messages: string[] = [];
  let port = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    const event = JSON.parse(line);
    messages.push(event.msg);
    if (event.msg === "http listening") port = event.port;
    if (event.msg !== "cannot start yet, trying again") continue;
    assert.equal(event.code, "BROKER_UNREACHABLE");
    assert.equal((await fetch(`http://127.0.0.1:${port}/healthz`)).status, 200);
    const ready = await fetch(`http://127.0.0.1:${port}/readyz`);
    assert.deepEqual([ready.status, (await ready.text()).includes("127.0.0.1")], [503, true]);
    child.kill("SIGTERM");
    break;
  }
  assert.deepEqual(await exited, [0, null]);
  assert.deepEqual(messages.slice(0, 2), ["worker starting", "http listening"]);
});
