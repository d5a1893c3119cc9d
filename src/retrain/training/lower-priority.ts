// Lets a thread that trains stand back behind those that forecast.

import { constants, platform, setPriority } from "node:os";

/**
 * On Linux priorities belong to threads, and zero means the calling one. Elsewhere it means the whole process, and
 * forecasts would be lowered with the training: there the thread keeps its priority.
 */
export function lowerOwnPriority(): void {
  if (platform() === "linux") setPriority(0, constants.priority.PRIORITY_LOW);
}
