// Where the resident memory of a process lies, from the kernel's list of its mappings. Linux only.

import { readFileSync } from "node:fs";

export interface MemoryMap {
  readonly rss: number;
  /** Program and libraries. */
  readonly files: number;
  /** The allocator's: buffers of all sizes, in use or not given back. */
  readonly malloc: number;
  /** V8's heaps of all threads, large buffers, WebAssembly memories, stacks. */
  readonly other: number;
}

interface Mapping {
  readonly start: number;
  readonly name: string;
  readonly bytes: number;
}

/** The allocator aligns the arenas of threads to their size. */
const arenaBytes = 64 * 2 ** 20;

/** In bytes. */
export function memoryMapOf(pid: number): MemoryMap {
  const mappings = readMappings(readFileSync(`/proc/${pid}/smaps`, "utf8"));
  const sumOf = (isIncluded: (mapping: Mapping) => boolean) =>
    mappings.filter(isIncluded).reduce((sum, { bytes }) => sum + bytes, 0);
  const rss = sumOf(() => true);
  const files = sumOf(({ name }) => name.startsWith("/"));
  const malloc = sumOf(({ name, start }) => name === "[heap]" || (name === "" && start % arenaBytes === 0));
  return { rss, files, malloc, other: rss - files - malloc };
}

function readMappings(smaps: string): Mapping[] {
  const mappings: Mapping[] = [];
  let head = { start: 0, name: "" };
  for (const line of smaps.split("\n")) {
    const [, start, name = ""] = /^([0-9a-f]+)-[0-9a-f]+ \S+ \S+ \S+ \S+\s*(.*)$/.exec(line) ?? [];
    const [, kilobytes] = /^Rss:\s+(\d+) kB/.exec(line) ?? [];
    if (start !== undefined) head = { start: Number.parseInt(start, 16), name };
    else if (kilobytes !== undefined) mappings.push({ ...head, bytes: 1024 * Number(kilobytes) });
  }
  return mappings;
}
