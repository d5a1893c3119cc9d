// The nets that are on the device, each under its array of weights. A net is replaced by asking for another array
// and releasing the old one; nothing else moves. Under a budget of bytes the net that was not used for longest goes
// first, and comes back when it is asked for again.

import type { TensorFlow } from "./native-binding.ts";
import { type PanelLayout, toPanel } from "./panel-layout.ts";
import type { Tensor2D } from "./tensor-types.ts";

interface Resident {
  readonly layout: PanelLayout;
  /** [rows, columns] each, in the order of the layout. */
  readonly panels: readonly Tensor2D[];
  readonly bytes: number;
}

export class ResidentNets {
  readonly #tf: TensorFlow;
  readonly #budgetBytes: number;
  /** From the one not used for longest to the newest: a map keeps the order of insertion. */
  readonly #residentByWeights = new Map<Float32Array, Resident>();
  #bytes = 0;

  constructor(tf: TensorFlow, budgetBytes: number) {
    this.#tf = tf;
    this.#budgetBytes = budgetBytes;
  }

  get count(): number {
    return this.#residentByWeights.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** How many nets of one layout the budget has room for; one is always let in. */
  roomFor({ plan }: PanelLayout): number {
    return Math.max(1, Math.floor(this.#budgetBytes / (plan.weightCount * 4)));
  }

  /**
   * The panels of each net, put on the device where they are not there yet. Ask for no more nets than there is
   * room for: older ones make way, and these may be used until the next call.
   */
  acquire(layout: PanelLayout, nets: readonly Float32Array[]): (readonly Tensor2D[])[] {
    // First those that are here, so that none of them makes way for another of the same call.
    for (const weights of nets) this.#touch(weights, layout);
    return nets.map((weights) => (this.#touch(weights, layout) ?? this.#upload(layout, weights)).panels);
  }

  release(weights: Float32Array): void {
    const resident = this.#residentByWeights.get(weights);
    if (resident === undefined) return;
    this.#residentByWeights.delete(weights);
    this.#bytes -= resident.bytes;
    for (const panel of resident.panels) panel.dispose();
  }

  close(): void {
    for (const weights of this.#residentByWeights.keys()) this.release(weights);
  }

  /** Makes a net the newest, if it is here and laid out so. */
  #touch(weights: Float32Array, layout: PanelLayout): Resident | null {
    const resident = this.#residentByWeights.get(weights);
    if (resident === undefined) return null;
    if (resident.layout !== layout) {
      this.release(weights);
      return null;
    }
    this.#residentByWeights.delete(weights);
    this.#residentByWeights.set(weights, resident);
    return resident;
  }

  #upload(layout: PanelLayout, weights: Float32Array): Resident {
    const bytes = weights.byteLength;
    for (const oldest of this.#residentByWeights.keys()) {
      if (this.#bytes + bytes <= this.#budgetBytes) break;
      this.release(oldest);
    }
    const panels = layout.panels.map((panel) =>
      this.#tf.keep(this.#tf.tensor2d(toPanel(panel, [weights]), [panel.rows, panel.columns])),
    );
    const resident = { layout, panels, bytes };
    this.#residentByWeights.set(weights, resident);
    this.#bytes += bytes;
    return resident;
  }
}
