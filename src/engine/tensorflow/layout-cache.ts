// Finds the layout of a plan. Plans that differ only in what no forecast sees, as their framing or loss, share a
// layout: nets of one layout run as one stack, whatever models they come from.

import type { NetPlan } from "../../models/forecastnet/plan.ts";
import { layOut, type PanelLayout } from "./panel-layout.ts";

export class LayoutCache {
  readonly #layoutByPlan = new WeakMap<NetPlan, PanelLayout>();
  readonly #layoutByShape = new Map<string, PanelLayout>();

  of(plan: NetPlan): PanelLayout {
    const known = this.#layoutByPlan.get(plan);
    if (known !== undefined) return known;
    const shape = JSON.stringify([plan.windowSize, plan.targets, plan.cells]);
    const layout = this.#layoutByShape.get(shape) ?? layOut(plan);
    this.#layoutByShape.set(shape, layout);
    this.#layoutByPlan.set(plan, layout);
    return layout;
  }
}
