import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLogger } from "../../../src/runtime/logging.ts";
import { Lifecycle, type ServiceState } from "../../../src/service/service.ts";

const states: readonly ServiceState[] = ["starting", "joining", "running", "stopping", "stopped", "failed"];
const wayTo: Readonly<Record<ServiceState, readonly ServiceState[]>> = {
  starting: [],
  joining: ["joining"],
  running: ["joining", "running"],
  stopping: ["stopping"],
  stopped: ["stopping", "stopped"],
  failed: ["failed"],
};
const legal = new Set([
  ...["starting>joining", "starting>stopping", "starting>failed"],
  ...["joining>running", "joining>stopping", "joining>failed"],
  ...["running>stopping", "running>failed", "stopping>stopped", "stopping>failed"],
]);

for (const from of states) {
  test(`a worker that is ${from} makes the moves of the table and no other`, () => {
    for (const to of states) {
      const moves: string[] = [];
      const lifecycle = new Lifecycle("worker", silentLogger, (a, b) => moves.push(`${a}>${b}`));
      for (const step of wayTo[from]) lifecycle.move(step);
      if (legal.has(`${from}>${to}`)) {
        lifecycle.move(to);
        assert.deepEqual([lifecycle.state, moves.at(-1)], [to, `${from}>${to}`]);
      } else {
        assert.throws(() => lifecycle.move(to), new RegExp(`that is ${from} cannot become ${to}`));
        assert.equal(lifecycle.state, from);
      }
    }
  });
}

for (const role of ["worker", "trainer"] as const) {
  test(`each move of a ${role} is logged under its name, with what the caller knows of it`, () => {
    const lines: unknown[] = [];
    const logger = {
      ...silentLogger,
      info: (facts: object, message: string) => lines.push([message, facts]),
    };
    new Lifecycle(role, logger, () => {}).move("failed", { reason: "no broker" });
    assert.deepEqual(lines, [
      [`${role} state changed`, { from: "starting", to: "failed", reason: "no broker" }],
    ]);
  });
}
