// The standard normal draws that drive the sample paths.

/** Standard normal draws that drive the sample paths, [step][target][path]. */
export interface PathNoise {
  readonly paths: number;
  readonly values: Float32Array;
}
