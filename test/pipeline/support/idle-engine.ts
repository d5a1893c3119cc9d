// An engine for fleets without models: a test that gives it work fails.

import type { Engine } from "../../../src/models/forecastnet/engine.ts";

export async function openIdleEngine(): Promise<Engine> {
  const refuse = async () => {
    throw new Error("the idle engine was given work: this fleet must have no models");
  };
  return {
    description: { name: "reference", device: "cpu", threads: 1, detail: "idle" },
    status: () => ({
      ...{ trouble: null, residentModels: 0, residentBytes: 0, waitingForecasts: 0 },
    }),
    forecast: refuse,
    fit: refuse,
    release: () => {},
    close: async () => {},
  };
}
