// Single record batches written and read by librdkafka, record by record.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { clientFolder } from "./librdkafka.ts";
import { projectRoot } from "./project.ts";

export interface PlainRecord {
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: readonly { readonly key: string; readonly value: Buffer | null }[];
}

/** As the Python program has them: contents in base64. */
interface JsonRecord {
  readonly key: string | null;
  readonly value: string | null;
  readonly headers: readonly (readonly [string, string | null])[];
}

/** Writes the records to partition 0 of the topic, as one batch unless they are too many for one. */
export async function writeWithLibrdkafka(
  where: { readonly bootstrap: string; readonly topic: string },
  compression: string,
  records: readonly PlainRecord[],
): Promise<void> {
  await runClient({ do: "write", ...where, compression, records: records.map(toJson) });
}

/** The first `count` records of partition 0 of the topic. */
export async function readWithLibrdkafka(
  where: { readonly bootstrap: string; readonly topic: string },
  count: number,
): Promise<PlainRecord[]> {
  const printed = await runClient({ do: "read", ...where, count });
  return (JSON.parse(printed) as JsonRecord[]).map(({ key, value, headers }) => ({
    key: fromBase64(key),
    value: fromBase64(value),
    headers: headers.map(([name, content]) => ({ key: name, value: fromBase64(content) })),
  }));
}

function toJson({ key, value, headers }: PlainRecord): JsonRecord {
  return {
    key: toBase64(key),
    value: toBase64(value),
    headers: headers.map((header) => [header.key, toBase64(header.value)]),
  };
}

function toBase64(content: Buffer | null): string | null {
  return content === null ? null : content.toString("base64");
}

function fromBase64(content: string | null): Buffer | null {
  return content === null ? null : Buffer.from(content, "base64");
}

async function runClient(task: object): Promise<string> {
  const program = join(projectRoot, "test", "rig", "librdkafka", "records.py");
  const env = { ...process.env, PYTHONPATH: await clientFolder() };
  const child = spawn("python3", [program], { env, stdio: ["pipe", "pipe", "pipe"] });
  child.stdin.end(JSON.stringify(task));
  const [printed, complaints, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "exit"),
  ]);
  if (code !== 0) throw new Error(`the librdkafka client ended with ${code}:\n${complaints.slice(-10_000)}`);
  return printed;
}
