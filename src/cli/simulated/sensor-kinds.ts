// The kinds of simulated sensors. A simulated day has 24 steps, so a step is called an hour here.

export const stepsPerDay = 24;

export interface SensorKind {
  readonly name: string;
  readonly unit: string;
  /** Period in hours; a day by default. */
  readonly cycle?: number;
  /** The value at an hour of the cycle; `noise` has mean 0 and standard deviation 1. */
  readonly valueAt: (hour: number, noise: number) => number;
}

export const sensorKinds: readonly SensorKind[] = [
  {
    name: "pump-vibration",
    unit: "mm/s",
    valueAt: (hour, noise) => 2.8 + 0.7 * wave(hour, 8) + 0.2 * wave(hour, 24) + 0.3 * noise,
  },
  {
    name: "office-power",
    unit: "kW",
    valueAt: (hour, noise) => 42 + 110 * during(hour, 7, 18) - 22 * peak(hour, 12.5, 0.8) + 5 * noise,
  },
  {
    name: "river-level",
    unit: "m",
    valueAt: (hour, noise) => 2.6 + 0.9 * wave(hour, 12) + 0.25 * wave(hour, 24) + 0.08 * noise,
  },
  {
    name: "road-traffic",
    unit: "/min",
    valueAt: (hour, noise) =>
      (5 + 44 * peak(hour, 8, 1.4) + 36 * peak(hour, 17.5, 2) + 12 * peak(hour, 13, 3)) * (1 + 0.09 * noise),
  },
  {
    name: "solar-output",
    unit: "kW",
    valueAt: (hour, noise) => 78 * Math.max(0, wave(hour - 12, 24)) * Math.min(1, 0.85 + 0.12 * noise),
  },
  {
    name: "tank-temp",
    unit: "°C",
    valueAt: (hour, noise) => 56 + 11 * heating(hour % 8) + 0.35 * noise,
  },
  {
    name: "press-current",
    unit: "A",
    valueAt: (hour, noise) => (hour % 6 < 4 ? 18 : 3.5) + 0.7 * noise,
  },
  {
    name: "web-requests",
    unit: "/s",
    valueAt: (hour, noise) => 130 + 80 * wave(hour - 15, 24) + 45 * peak(hour, 20, 1.5) + 9 * noise,
  },
];

/** A worn-out pump: wider and slower swings, out of step with the day. */
export const wornPump: SensorKind = {
  name: "pump-vibration",
  unit: "mm/s",
  cycle: 11,
  valueAt: (hour, noise) => 4 + 2.1 * wave(hour, 11) + 0.3 * noise,
};

function wave(hour: number, period: number): number {
  return Math.cos((2 * Math.PI * hour) / period);
}

function peak(hour: number, at: number, width: number): number {
  return Math.exp(-0.5 * ((hour - at) / width) ** 2);
}

/** 1 between the two hours, 0 outside, with an hour of transition. */
function during(hour: number, from: number, to: number): number {
  return 1 / (1 + Math.exp(-2.5 * (hour - from))) / (1 + Math.exp(2.5 * (hour - to)));
}

/** A thermostat's cycle: two hours of heating from 0 to 1, six of cooling. */
function heating(hour: number): number {
  return hour < 2 ? (hour + 1) / 3 : Math.exp(-0.45 * (hour - 2));
}
