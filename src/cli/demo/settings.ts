// The configuration of the demo's worker: a true one, whose models live fast. A step is a quarter of a second, so what
// takes a plant a day of hours takes the viewer six seconds.

import { stepsPerDay } from "../simulated/sensor-kinds.ts";

export const demoHost = "127.0.0.1";
export const stepMs = 250;
export const horizon = stepsPerDay / 2;
/** Sent before the live phase, so that there are seasons to learn from. */
export const backfillDays = 16;

/** As flags of the worker's own command line. */
export function demoSettings(port: number): readonly string[] {
  return [
    `--worker.host=${demoHost}`,
    `--worker.port=${port}`,
    "--worker.graceMs=5000",
    `--series.interval=PT${stepMs / 1000}S`,
    `--series.horizon=${horizon}`,
    `--series.season=${stepsPerDay}`,
    "--output.levels=0.1,0.25,0.5,0.75,0.9",
    "--retrain.where=worker",
    "--retrain.effort=quick",
    "--retrain.members=1",
    "--retrain.schedule=*/2 * * * * *",
    "--retrain.jitterMs=0",
    // Few at a time, so that a stale model need not wait for all of those that come before it.
    "--retrain.perCycle=3",
    "--retrain.inFlight=2",
    // When the back-fill is nearly through: whoever watches sees the models come.
    `--retrain.minHistory=${(backfillDays - 1) * stepsPerDay}`,
    // Less than by default, so that nobody waits long; but 36 steps, below which scores are mostly chance.
    `--retrain.evidenceSteps=${3 * horizon}`,
    `--retrain.rollingSteps=${3 * horizon}`,
    `--retrain.probationSteps=${3 * horizon}`,
    `--retrain.tailSteps=${2 * horizon}`,
    // The sensor that changes has then shown enough of what it is now: sooner it would be learnt by half.
    `--retrain.cooldownSteps=${12 * horizon}`,
  ];
}
