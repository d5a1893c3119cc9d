// What follows from a task's id: the seed of its training, and with the weights the version of its model. The same
// training gives the same version, on whatever machine and whenever it is repeated.

import { createHash } from "node:crypto";
import type { ForecastNetModel } from "../../models/forecastnet/model.ts";

export function seedOf(taskId: string): number {
  return createHash("sha256").update(taskId).digest().readUInt32LE();
}

/** The newest time learnt from, so that versions sort by age, and a digest: 20240601T120000Z-1f2e3d4c. */
export function versionOf(
  { members }: Pick<ForecastNetModel, "members">,
  taskId: string,
  basis: string,
  trainedToMs: number,
): string {
  const hash = createHash("sha256").update(JSON.stringify([taskId, basis]));
  for (const { weights } of members) {
    hash.update(new Uint8Array(weights.buffer, weights.byteOffset, weights.byteLength));
  }
  const time = new Date(trainedToMs).toISOString().replace(/[-:]|\.\d{3}/g, "");
  return `${time}-${hash.digest("hex").slice(0, 8)}`;
}
