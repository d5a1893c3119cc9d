// One plan for all models of equal specs: a plan is looked up at every forecast, and a stacked engine tells by its
// identity which nets may run together.

import { type NetPlan, planNet } from "./plan.ts";
import type { ForecastNetSpec } from "./spec.ts";

const planBySpec = new WeakMap<ForecastNetSpec, NetPlan>();
const planByContent = new Map<string, NetPlan>();

/** A fleet has a handful of specs; a search over many of them must not keep them all. */
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
