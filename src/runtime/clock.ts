// The only reader of the wall clock. Everything that needs the time of day takes a Clock, so that a test
// can move it by hand.

export interface Clock {
  nowMs(): number;
}

export const systemClock: Clock = { nowMs: () => Date.now() };
