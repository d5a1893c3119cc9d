// Raw windows to framed ones and back.

/** Framed windows and what came after them. */
export interface TrainingSet {
  readonly count: number;
  /** [row][windowSize] */
  readonly windows: Float32Array;
  /** [row][step][target] */
  readonly targets: Float32Array;
}
