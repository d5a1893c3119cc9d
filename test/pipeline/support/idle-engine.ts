// An engine for fleets without models: it does nothing, and a test that asks it for work fails.

import type { Engine } from "../../../src/engine/engine.ts";

export async function openIdleEngine(): Promise<Engine> {
  const refuse = async () => {
    throw new Error("this fleet was to have no models");
  };
  return {
    description: { name: "reference", device: "cpu", threads: 1, detail: "idle" },
    status: () => ({
      ...{ trouble: null, residentModels: 0, residentBytes: 0, waitingForecasts: 0, waitingFits: 0 },
    }),
    forecast: refuse,
    fit: refuse,
    differentiate: refuse,
    release: () => {},
    close: async () => {},
  };
}
