// Observations sent step by step, when the story says so. What was sent is remembered, in order.

import type { Observation } from "../../../src/domain.ts";
import { knownObservation, toRecord } from "./load.ts";
import type { Story } from "./story.ts";

/** Two in each partition. */
export const series = 8;

export class Steps {
  readonly sent: Observation[] = [];
  readonly #story: Story;
  #next = 0;

  constructor(story: Story) {
    this.#story = story;
  }

  /** The next steps of all series, or of some, without sending them. */
  make(steps: number, isMeant: (index: number) => boolean = () => true): Observation[] {
    const made: Observation[] = [];
    for (let left = steps; left > 0; left--, this.#next++)
      for (let index = 0; index < series; index++)
        if (isMeant(index)) made.push(knownObservation(index, this.#next));
    return made;
  }

  async send(steps: number, isMeant?: (index: number) => boolean): Promise<readonly Observation[]> {
    const made = this.make(steps, isMeant);
    await this.#story.log.append(made.map((observation) => toRecord(this.#story.input, observation)));
    this.sent.push(...made);
    return made;
  }

  /** Nothing is sent by itself. */
  async stop(): Promise<void> {}
}
