// The life of a service up to its end: what it starts with, what it waits for, what its pages say meanwhile.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ForecastnetError } from "../../../src/runtime/errors.ts";
import { text } from "../../../src/runtime/http.ts";
import { Resource } from "../../../src/service/resource.ts";
import { memberTrouble } from "../../../src/service/service.ts";
import { gate, type Line, startService, until } from "./service-fixture.ts";

const messagesOf = (lines: readonly Line[]) =>
  lines.map(({ message, to }) => (to === undefined ? message : `${message}: ${to}`));

test("a service lives from its pages to its stop, and tells each step under its role's name", async (t) => {
  const { service, lines } = startService(t);
  assert.deepEqual(service.status(), { isReady: false, reason: "starting" });
  await until(() => service.state === "running");
  assert.deepEqual(service.status(), { isReady: true, reason: "ready" });
  service.stop("SIGTERM");
  service.stop("SIGTERM again");
  await service.done;
  assert.deepEqual(service.status(), { isReady: false, reason: "stopped" });
  assert.deepEqual(messagesOf(lines), [
    "http listening",
    "trainer state changed: joining",
    "trainer state changed: running",
    "stop requested",
    "trainer state changed: stopping",
    "trainer state changed: stopped",
  ]);
});

test("work that ends by itself ends the service well", async (t) => {
  const { service, end } = startService(t);
  await until(() => service.state === "running");
  end();
  await service.done;
  assert.equal(service.state, "stopped");
});

describe("the pages", () => {
  test("tell metrics, health and readiness", async (t) => {
    let trouble: string | null = "joining the group";
    const { service, page } = startService(t, { trouble: () => trouble });
    await until(() => service.state === "running");
    assert.match((await page("/metrics"))[1], /^forecastnet_partitions_owned 3$/m);
    assert.deepEqual(await page("/healthz"), [200, "running\n"]);
    assert.deepEqual(await page("/readyz"), [503, "joining the group\n"]);
    trouble = null;
    assert.deepEqual(await page("/readyz"), [200, "ready\n"]);
  });

  test("of the work stand beside the service's own, or instead of them", async (t) => {
    const { service, page } = startService(t, {
      pages: { "/extra": () => text(200, "more"), "/healthz": () => text(503, "the engine broke") },
    });
    await until(() => service.state === "running");
    assert.deepEqual(await page("/extra"), [200, "more\n"]);
    assert.deepEqual(await page("/healthz"), [503, "the engine broke\n"]);
  });
});

describe("a start", () => {
  test("waits out a failure that passes, and says which meanwhile", async (t) => {
    let isUp = false;
    const { service, lines } = startService(t, {
      run: async (service, work) => {
        await service.retry(async () => {
          if (!isUp) throw new ForecastnetError("BROKER_UNREACHABLE", "k:1 does not answer");
        });
        await work();
      },
    });
    await until(() => service.status().reason === "k:1 does not answer");
    assert.ok(
      lines.some(({ message, code }) => /cannot start/.test(message) && code === "BROKER_UNREACHABLE"),
    );
    isUp = true;
    await until(() => service.state === "running");
  });

  test("is tried no more once the service is asked to stop", async (t) => {
    let tries = 0;
    const over = gate();
    const { service } = startService(t, {
      run: (service) =>
        service
          .retry(async () => {
            tries++;
            throw new ForecastnetError("BROKER_UNREACHABLE", "k:1 does not answer");
          })
          .finally(over.open),
    });
    await until(() => tries > 0);
    // Between two tries: the failure has been told, and the next try waits for its time.
    await until(() => service.status().reason === "k:1 does not answer");
    const before = tries;
    service.stop("SIGTERM");
    await service.done;
    await over.passed;
    assert.equal(tries, before);
  });

  test("that hangs does not hold up a stop", async (t) => {
    const { service } = startService(t, { run: () => new Promise(() => {}) });
    await until(() => service.port !== undefined);
    service.stop("SIGTERM");
    await service.done;
    assert.equal(service.state, "stopped");
  });

  test("that goes on after the stop can neither open anything nor move the service", async (t) => {
    const { passed, open } = gate();
    const outcome: string[] = [];
    const place = new Resource<string>((opened) => void outcome.push(`${opened} closed`));
    const { service } = startService(t, {
      run: async (service) => {
        await place.open(() => passed.then(() => "log")).catch(({ message }) => outcome.push(message));
        await place.open(() => assert.fail("opened")).catch(({ message }) => outcome.push(message));
        try {
          service.move("joining");
        } catch {
          outcome.push("not moved");
        }
      },
      closes: [place],
    });
    await until(() => service.port !== undefined);
    service.stop("SIGTERM");
    await service.done;
    open();
    await until(() => outcome.length === 4);
    assert.deepEqual(outcome, [
      "log closed",
      "it was opened after the end of the service and was closed again",
      "the service is ending and opens nothing more",
      "not moved",
    ]);
    assert.equal(service.state, "stopped");
  });
});

test("a member is ready once it has joined and as long as the log answers", () => {
  const cases = [
    [undefined, "joining the group"],
    [{ isJoined: false, outage: null }, "joining the group"],
    [{ isJoined: true, outage: "k:1 is gone" }, "the log does not answer: k:1 is gone"],
    [{ isJoined: true, outage: null }, null],
  ] as const;
  for (const [member, expected] of cases) assert.equal(memberTrouble(member), expected);
});
