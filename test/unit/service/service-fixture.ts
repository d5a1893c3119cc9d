// A service whose work is scripted. It ends with its test, and keeps every line that it logs.

import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { setImmediate } from "node:timers/promises";
import { systemClock } from "../../../src/runtime/clock.ts";
import { silentLogger } from "../../../src/runtime/logging.ts";
import { createMetrics } from "../../../src/runtime/metrics.ts";
import { Resource } from "../../../src/service/resource.ts";
import { Service, type Work } from "../../../src/service/service.ts";

export interface Line {
  readonly message: string;
  readonly [fact: string]: unknown;
}

export interface Script extends Partial<Omit<Work, "run">> {
  /** By default the service joins, runs, and works until it is closed or `end` is called. */
  readonly run?: (service: Service, work: () => Promise<void>) => Promise<void>;
  readonly graceMs?: number;
}

export interface Rig {
  readonly service: Service;
  readonly lines: readonly Line[];
  /** Ends the work; with an error, it fails. */
  readonly end: (error?: Error) => void;
  page(path: string): Promise<readonly [number, string]>;
}

export function startService(t: TestContext, script: Script = {}): Rig {
  const { run = (_, work) => work(), graceMs = 5_000, closes = [], ...changes } = script;
  const lines: Line[] = [];
  const tell = (facts: object, message: string) => void lines.push({ message, ...facts });
  const { passed, open } = gate();
  const work = async () => {
    service.move("joining");
    service.move("running");
    await passed;
  };
  const service: Service = new Service({
    role: "trainer",
    settings: { host: "127.0.0.1", port: 0, graceMs },
    clock: systemClock,
    random: Math.random,
    logger: { ...silentLogger, info: tell, warn: tell },
    metrics: createMetrics("test"),
    work: {
      run: () => run(service, work),
      trouble: () => null,
      facts: () => ({
        ...{ state: service.state, partitions: 3, series: 0, lag: 0, bufferedBatches: 0, models: 0 },
        ...{
          training: { inFlight: 0, waiting: 0, budgetSeconds: 60 },
          phases: {},
          restoring: 0,
          waiting: 0,
          quality: [],
          engine: null,
        },
      }),
      pages: {},
      closes: [...closes, openResource(() => open())],
      ...changes,
    },
  });
  t.after(async () => {
    service.stop("the test is over");
    await Promise.allSettled([service.done]);
  });
  const page = async (path: string) => {
    const answer = await fetch(`http://127.0.0.1:${service.port}${path}`);
    return [answer.status, await answer.text()] as const;
  };
  return { service, lines, end: open, page };
}

/** Something that is open already, and is closed so. */
export function openResource(close: (gentleMs: number) => void | Promise<void>): Resource<string> {
  const resource = new Resource<string>((_, gentleMs) => close(gentleMs));
  void resource.open(() => "open");
  return resource;
}

/** Passed once it is opened; opened with an error, it rejects. */
export function gate(): { readonly passed: Promise<void>; open(error?: Error): void } {
  let open = (_?: Error) => {};
  const passed = new Promise<void>((resolve, reject) => {
    open = (error) => (error === undefined ? resolve() : reject(error));
  });
  passed.catch(() => undefined); // A gate that nobody waits at any more may fail.
  return { passed, open: (error) => open(error) };
}

export async function until(isSo: () => boolean): Promise<void> {
  const deadlineMs = performance.now() + 5_000;
  while (!isSo()) {
    assert.ok(performance.now() < deadlineMs, "waited 5 s in vain");
    await setImmediate();
  }
}
