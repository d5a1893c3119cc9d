// The configuration of the demo's worker. A step is a quarter of a second, so a day of 24 hourly steps passes in six
// seconds; training and probation are as short.

import { stepsPerDay } from "../simulated/sensor-kinds.ts";

export const demoHost = "127.0.0.1";
export const stepMs = 250;
export const horizon = stepsPerDay / 2;
/** Days of history sent before the live phase, so that there are seasons to learn from. */
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
    // As many as are done before the next turn, so that a stale model does not wait.
    "--retrain.perCycle=10",
    "--retrain.inFlight=2",
    // Reached when the back-fill is nearly done, so that the viewer sees models take over.
    `--retrain.minHistory=${(backfillDays - 1) * stepsPerDay}`,
    // Shorter than the defaults, but not below 36 steps: scores over fewer are mostly chance.
    `--retrain.evidenceSteps=${3 * horizon}`,
    `--retrain.rollingSteps=${3 * horizon}`,
    `--retrain.probationSteps=${3 * horizon}`,
    `--retrain.tailSteps=${2 * horizon}`,
    // Long enough for the worn sensor to produce the data that its new model needs.
    `--retrain.cooldownSteps=${12 * horizon}`,
  ];
}
