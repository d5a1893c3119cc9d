// A training plan as the JSON that a request carries, and back. What is read may come from anybody: every field is
// checked, and one that is not known is named, since a misspelled wish must not be dropped in silence.

import { choiceProblems, countProblems, isRecord, shown } from "../../models/forecastnet/field-problems.ts";
import type { TrainingPlan } from "../training-task.ts";

const forms: readonly TrainingPlan["form"][] = ["auto", "FN", "cFN", "FN2", "cFN2"];
const efforts: readonly TrainingPlan["effort"][] = ["quick", "normal", "thorough"];

type Field = keyof TrainingPlan;

const problemsByField: Readonly<Record<Field, (value: unknown) => string[]>> = {
  horizon: (value) => countProblems("horizon", value),
  season: (value) => countProblems("season", value),
  form: (value) => choiceProblems("form", value, forms),
  effort: (value) => choiceProblems("effort", value, efforts),
  members: (value) => countProblems("members", value),
  holdBack: (value) => countProblems("holdBack", value, { least: 0 }),
  recentFromMs: (value) =>
    value === null || Number.isFinite(value)
      ? []
      : [`recentFromMs: ${shown(value)}; give a time in milliseconds or null`],
};

const fields = Object.keys(problemsByField) as readonly Field[];

export function encodePlan(plan: TrainingPlan): string {
  return JSON.stringify(plan, [...fields]);
}

/** The plan, or all that is wrong with it. */
export function decodePlan(text: string): TrainingPlan | readonly string[] {
  const value = parseJson(text);
  if (!isRecord(value)) return [`spec: ${shown(text)}; give a JSON object`];
  const unknown = Object.keys(value).filter((name) => !Object.hasOwn(problemsByField, name));
  const problems = [
    ...unknown.map((name) => `${shown(name)} is no field of a spec; give ${fields.join(", ")}`),
    ...fields.flatMap((field) =>
      Object.hasOwn(value, field) ? problemsByField[field](value[field]) : [`${field} is missing`],
    ),
  ];
  return problems.length > 0 ? problems : (value as unknown as TrainingPlan);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // The caller says that it is no JSON object, and shows it.
  }
}
