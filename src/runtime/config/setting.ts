// What the schema says of one setting.

import type { Format } from "./formats.ts";

export interface Setting<T> {
  readonly doc: string;
  readonly format: Format<T>;
  readonly default: T;
}

export function setting<T>(doc: string, format: Format<T>, fallback: NoInfer<T>): Setting<T> {
  return { doc, format, default: fallback };
}
