// For stages whose times no test looks at.

import type { StageTimer } from "../../src/runtime/metric-groups.ts";

export const untimed: StageTimer = {
  begin: () => () => {},
  turns: () => ({ resume: () => {}, pause: () => {}, end: () => {} }),
};
