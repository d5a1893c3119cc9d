// Whether this run may leave anything out.

/** True where a test may not be skipped for want of a part. */
export const isCi = process.env.CI === "true";
