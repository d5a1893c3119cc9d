import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { GroupPulse } from "../../../../src/log/kafka/group-pulse.ts";

const sessionTimeoutMs = 1_000;

function pulseAt(startMs: number) {
  const clock = { ms: startMs, nowMs: () => clock.ms };
  return { clock, pulse: new GroupPulse(clock, sessionTimeoutMs) };
}

describe("the pulse of a group", () => {
  test("shows an outage once the group has been silent for longer than a session, until it answers", () => {
    const { clock, pulse } = pulseAt(0);
    clock.ms = sessionTimeoutMs;
    assert.equal(pulse.outage, null);
    clock.ms = sessionTimeoutMs + 1;
    assert.equal(pulse.outage, "no heartbeat for 1001 ms");
    pulse.answered();
    assert.equal(pulse.outage, null);
  });

  test("shows trouble at once, until the group answers", () => {
    const { pulse } = pulseAt(0);
    pulse.troubled("connection refused");
    assert.equal(pulse.outage, "connection refused");
    pulse.answered();
    assert.equal(pulse.outage, null);
  });

  test("confirms only with an answer that comes after the question", async () => {
    const { pulse } = pulseAt(0);
    pulse.answered();
    let isConfirmed = false;
    const confirmation = pulse.nextAnswer().then(() => {
      isConfirmed = true;
    });
    await Promise.resolve();
    assert.equal(isConfirmed, false);
    pulse.answered();
    await confirmation;
    assert.equal(isConfirmed, true);
  });

  test("is stuck when the client has done nothing for many sessions, not when it tries in vain", () => {
    const { clock, pulse } = pulseAt(0);
    for (clock.ms = 0; clock.ms < 60 * sessionTimeoutMs; clock.ms += 5 * sessionTimeoutMs) {
      assert.equal(pulse.isStuck, false);
      pulse.troubled("no broker");
      pulse.stirred();
    }
    clock.ms += 20 * sessionTimeoutMs;
    assert.equal(pulse.isStuck, true);
  });
});
