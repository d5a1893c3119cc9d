// Our Prometheus rules as data, and the same rules at another pace: every duration divided, nothing else changed, so that
// a test can wait for an alert that takes a quarter of an hour.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { projectRoot } from "./project.ts";

export interface Rule {
  readonly record?: string;
  readonly alert?: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface RuleFile {
  readonly groups: readonly { readonly name: string; readonly rules: readonly Rule[] }[];
}

export function readRules(): RuleFile {
  return parse(readFileSync(join(projectRoot, "deploy/prometheus/rules.yaml"), "utf8"));
}

const msByUnit: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Windows, offsets and `for`; numbers in seconds inside an expression stay as they are. */
export function quickened({ groups }: RuleFile, factor: number): RuleFile {
  const quick = (duration: string): string => {
    const [, count, unit] = /^(\d+)([smhd])$/.exec(duration) ?? [];
    if (unit === undefined) throw new Error(`${duration} is not a number and one of s, m, h, d`);
    return `${Math.round((Number(count) * msByUnit[unit]) / factor)}ms`;
  };
  return {
    groups: groups.map(({ name, rules }) => ({
      name,
      rules: rules.map((rule) => ({
        ...rule,
        expr: rule.expr.replace(/(?<=\[)\w+(?=\])|(?<=\boffset )\w+/g, quick),
        ...(rule.for !== undefined && { for: quick(rule.for) }),
      })),
    })),
  };
}
