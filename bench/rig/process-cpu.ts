// What another process uses, from the kernel's own books: processor time, which on a shared machine says more than a clock does,
// and memory.

import { readFileSync } from "node:fs";

const tickMs = 10;

/** User and system time so far, all threads; NaN where there is no /proc. */
export function cpuMsOf(pid: number): number {
  if (process.platform !== "linux") return Number.NaN;
  // The name of the program, in brackets, may itself hold spaces; the numbers come after it.
  const numbers = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /s, "")
    .split(" ");
  const [userTicks, systemTicks] = numbers.slice(11, 13);
  return tickMs * (Number(userTicks) + Number(systemTicks));
}

/** Resident memory in bytes; NaN where there is no /proc. */
export function memoryOf(pid: number): number {
  if (process.platform !== "linux") return Number.NaN;
  return 1024 * Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
}
