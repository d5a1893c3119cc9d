// Shared by the tests of forgotten series: a fleet with two series, and what is left of them on the topics.

import type { TestContext } from "node:test";
import { Fleet, type FleetOptions } from "./fleet.ts";
import { hourly } from "./readings.ts";
import { eventsOf } from "./retraining.ts";

export const settings = { "series.forgetAfter": "P1D" };
export const ramp = (length: number) => Array.from({ length }, (_, i) => 5 + (i % 4));

/** The keys of a topic whose newest record has a value. */
export async function keysOn(fleet: Fleet, topic: string): Promise<readonly string[]> {
  const newest = new Map((await fleet.read(topic)).map(({ key, value }) => [String(key), value]));
  return [...newest].flatMap(([key, value]) => (value === null ? [] : [key])).sort();
}

export const stateOf = async (fleet: Fleet, seriesId: string) =>
  (await keysOn(fleet, "forecastnet.state")).filter((key) => key.startsWith(`${seriesId}#`));

export const forgottenLines = (fleet: Fleet) =>
  fleet.logged.filter(({ message }) => message === "series forgotten");

/** Resolves once the events topic says that the series was forgotten: its end is committed. */
export function untilForgotten(fleet: Fleet, seriesId: string, meanwhile = async () => {}): Promise<void> {
  return fleet.until(async () => {
    await meanwhile();
    return (await eventsOf(fleet, seriesId)).some(({ kind }) => kind === "FORGOTTEN");
  }, `the end of ${seriesId}`);
}

/** A fleet whose lanes have read long enough to sweep, and whose series a (partition 0) and b have state. */
export async function openFleet(t: TestContext, options: FleetOptions = {}): Promise<Fleet> {
  const fleet = Fleet.openFor(t, { settings, ...options });
  await fleet.play(...hourly("a", 0, ramp(80)), ...hourly("b", 0, ramp(80)), "settle", "turn", "turn");
  return fleet;
}
