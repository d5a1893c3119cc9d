// How a service ends: as asked, by force, or because its work failed.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { openResource, type Rig, startService, until } from "./service-fixture.ts";

function assertPortIsFree({ service }: Rig): Promise<void> {
  return assert.rejects(
    fetch(`http://127.0.0.1:${service.port}/healthz`),
    "a service that ended kept its port",
  );
}

describe("a stop", () => {
  test("closes in the order given, with three quarters of the grace to be gentle, and the pages last", async (t) => {
    const closed: unknown[] = [];
    const closing = (name: string) =>
      openResource(async (gentleMs) => {
        const [status] = await rig.page("/healthz");
        closed.push([name, gentleMs, status]);
      });
    const rig = startService(t, { closes: [closing("group"), closing("log")], graceMs: 1_000 });
    await until(() => rig.service.state === "running");
    rig.service.stop("SIGTERM");
    await rig.service.done;
    assert.deepEqual(closed, [
      ["group", 750, 200],
      ["log", 750, 200],
    ]);
    await assertPortIsFree(rig);
  });

  test("closes what is left when something cannot be closed, and is a failure", async (t) => {
    const closed: string[] = [];
    const stubborn = (name: string) =>
      openResource(() => {
        closed.push(name);
        throw new Error(`${name} will not close`);
      });
    const rig = startService(t, { closes: [stubborn("engine"), stubborn("log")] });
    await until(() => rig.service.state === "running");
    rig.service.stop("SIGTERM");
    await assert.rejects(rig.service.done, /engine will not close/);
    assert.deepEqual([closed, rig.service.state], [["engine", "log"], "failed"]);
    const told = rig.lines.find(({ message }) => message === "closing another resource failed");
    assert.equal(told?.reason, "Error: log will not close");
    await assertPortIsFree(rig);
  });

  test("is forced when closing takes longer than the grace period, and leaves no port behind", async (t) => {
    const rig = startService(t, { closes: [openResource(() => new Promise(() => {}))], graceMs: 20 });
    await until(() => rig.service.state === "running");
    rig.service.stop("SIGTERM");
    await assert.rejects(rig.service.done, {
      code: "SHUTDOWN_FORCED",
      message: "the trainer could not close within its grace period of 20 ms",
    });
    assert.equal(rig.service.state, "failed");
    await assertPortIsFree(rig);
  });

  test("is a failure when the work fails while it drains", async (t) => {
    const failing = openResource(() => rig.end(new Error("the last commit was refused")));
    const rig = startService(t, { closes: [failing] });
    await until(() => rig.service.state === "running");
    rig.service.stop("SIGTERM");
    await assert.rejects(rig.service.done, /the last commit was refused/);
    assert.equal(rig.service.state, "failed");
  });
});

describe("a failure", () => {
  test("ends the service at once with its reason, and closes everything by force", async (t) => {
    const gentle: number[] = [];
    const rig = startService(t, { closes: [openResource((gentleMs) => void gentle.push(gentleMs))] });
    await until(() => rig.service.state === "running");
    rig.end(new Error("a lane broke"));
    await assert.rejects(rig.service.done, /a lane broke/);
    assert.deepEqual([rig.service.status().reason, gentle], ["failed", [0]]);
    await assertPortIsFree(rig);
  });

  const failures = [
    ["fails", async () => Promise.reject(new Error("no answer")), /no answer/],
    ["never ends", () => new Promise<void>(() => {}), /could not close within its grace/],
  ] as const;
  for (const [what, close, reason] of failures) {
    test(`stays the reason when closing after it ${what}`, async (t) => {
      const rig = startService(t, { closes: [openResource(close)], graceMs: 20 });
      await until(() => rig.service.state === "running");
      rig.end(new Error("a lane broke"));
      await assert.rejects(rig.service.done, /a lane broke/);
      const last = rig.lines.at(-1);
      assert.equal(last?.message, "closing failed after an earlier failure");
      assert.match(String(last?.reason), reason);
      await assertPortIsFree(rig);
    });
  }
});
