// One plan for all models of equal specs. Every forecast looks its plan up, and a stacked engine runs nets together when
// they have the same plan object.

import { type NetPlan, planNet } from "./plan.ts";
import type { ForecastNetSpec } from "./spec.ts";

const planBySpec = new WeakMap<ForecastNetSpec, NetPlan>();
const planByContent = new Map<string, NetPlan>();

/** A fleet has a handful of specs. The limit is for a search over many of them. */
const MAX_CACHED = 256;

export function sharedPlan(spec: ForecastNetSpec): NetPlan {
  let plan = planBySpec.get(spec);
  if (plan !== undefined) return plan;
  const content = JSON.stringify(spec);
  plan = planByContent.get(content);
  if (plan === undefined) {
    plan = planNet(spec);
    const oldest = planByContent.keys().next();
    if (planByContent.size >= MAX_CACHED && !oldest.done) planByContent.delete(oldest.value);
    planByContent.set(content, plan);
  }
  planBySpec.set(spec, plan);
  return plan;
}
