// What a page in the text format of Prometheus exposes: sample names, their labels, and the values of those.

export type ValuesByLabel = ReadonlyMap<string, ReadonlySet<string>>;

/** By name of the sample, such as `…_bucket`. */
export function readExposition(text: string): ReadonlyMap<string, ValuesByLabel> {
  const found = new Map<string, Map<string, Set<string>>>();
  for (const line of text.split("\n")) {
    const [, name, labels = ""] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? /.exec(line) ?? [];
    if (name === undefined) continue;
    const valuesByLabel = found.get(name) ?? new Map<string, Set<string>>();
    found.set(name, valuesByLabel);
    for (const [, label = "", value = ""] of labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) {
      valuesByLabel.set(label, (valuesByLabel.get(label) ?? new Set()).add(value));
    }
  }
  return found;
}
