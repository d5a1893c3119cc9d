// The effective configuration as YAML, each value with its source in a comment. What is printed can be loaded
// again; of a secret it shows the file's path, never the contents.
import { Document, isMap, isSeq, type Node } from "yaml";
import type { LoadedConfig } from "./load.ts";
import { mask } from "./secret.ts";
import { isSecretFile, settings } from "./settings.ts";

export function printConfig({ given, sourceOf }: LoadedConfig): string {
  const document = new Document(given);
  for (const key of settings.keys()) {
    const path = key.split(".");
    const node = document.getIn(path, true) as Node;
    const isSecret = isSecretFile(key) && document.getIn(path) !== "";
    annotate(node, ` ${sourceOf(key)}${isSecret ? `, contents ${mask}` : ""}`);
  }
  return document.toString({ lineWidth: 0 });
}

/** Behind a value on one line; above the items of a list that needs several. */
function annotate(node: Node, comment: string): void {
  if (isSeq(node) && node.items.some(isMap)) {
    for (const item of node.items.filter(isMap)) item.flow = true;
    node.commentBefore = comment;
    return;
  }
  if (isSeq(node)) {
    node.flow = true;
  }
  node.comment = comment;
}
