// Memory that all series of a book use by turns: scoring is synchronous, and a fleet has too many series for each to
// have its own.

import { Hindsight } from "../../models/hindsight.ts";
import { type ScoreRule, Tally } from "./step-scores.ts";

interface OutputScratch {
  /** One array per level, one number per channel and step. */
  readonly relative: readonly Float64Array[];
  /** Level after level. */
  readonly corrected: Float32Array;
}

export class Scratch {
  readonly rule: ScoreRule;
  readonly tally: Tally;
  readonly replacedTally: Tally;
  readonly hindsight = new Hindsight();
  readonly #byOutputs = new Map<number, OutputScratch>();

  constructor(rule: ScoreRule) {
    this.rule = rule;
    this.tally = new Tally(rule);
    this.replacedTally = new Tally(rule);
  }

  /** `outputs`: channels × horizon, of which a fleet has few different ones. */
  forOutputs(outputs: number): OutputScratch {
    let scratch = this.#byOutputs.get(outputs);
    if (scratch === undefined) {
      scratch = {
        relative: this.rule.levels.map(() => new Float64Array(outputs)),
        corrected: new Float32Array(this.rule.levels.length * outputs),
      };
      this.#byOutputs.set(outputs, scratch);
    }
    return scratch;
  }
}
