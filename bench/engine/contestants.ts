// Who takes part: our executors, and PyTorch where there is a Python that has it.

import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { projectRoot } from "../../test/rig/project.ts";
import { ContestantProcess } from "./contestant.ts";
import type { Contestant } from "./duel.ts";
import type { ExecutorName } from "./executors.ts";
import type { Greeting, Peak, Work } from "./protocol.ts";

export interface Field {
  readonly oracle: Contestant;
  readonly contestants: readonly Contestant[];
  /** Those who cannot take part, by the title of their row, and why. */
  readonly absences: ReadonlyMap<string, string>;
  /** What each runs on, by title. */
  readonly aboutByTitle: ReadonlyMap<string, string>;
  load(work: Work): Promise<void>;
  /** GFLOP/s of 128-bit arithmetic, measured now, on the core that everyone is pinned to. */
  measurePeak(): Promise<number>;
  close(): void;
}

export interface FieldOptions {
  /** A Python to look for PyTorch in. */
  readonly python: string;
  /** A checkout of the authors' repository, to run their own modules from; null runs our restatement of them. */
  readonly authors: string | null;
}

export const titles = {
  simd: "simd (ours)",
  tensorflow: "tensorflow, native CPU",
  wasm: "tfjs, wasm backend",
  cpu: "tfjs, cpu backend",
  published: "PyTorch, as published",
  authors: "PyTorch, the authors' files",
  stacked: "PyTorch, stacked bmm",
  stackedOnce: "PyTorch, stacked bmm, window once",
} as const;

export async function openField({ python, authors }: FieldOptions): Promise<Field> {
  const processes: ContestantProcess[] = [];
  const contestants: Contestant[] = [];
  const absences = new Map<string, string>();
  const aboutByTitle = new Map<string, string>();
  const open = async (command: readonly string[], titleByRival: Readonly<Record<string, string>>) => {
    const process = new ContestantProcess(command);
    try {
      const { about } = await process.ask<Greeting>({ do: "hello" });
      processes.push(process);
      for (const [rival, title] of Object.entries(titleByRival)) {
        contestants.push({ title, process, rival });
        aboutByTitle.set(title, about);
      }
    } catch (error) {
      for (const title of Object.values(titleByRival)) absences.set(title, (error as Error).message);
    }
    return process;
  };
  const executor = (name: ExecutorName, title: string) => open([...hostCommand, name], { [name]: title });
  const oracle = new ContestantProcess([...hostCommand, "reference"]);
  processes.push(oracle);
  await executor("simd", titles.simd);
  await executor("tensorflow", titles.tensorflow);
  await executor("tfjs-wasm", titles.wasm);
  await executor("tfjs-cpu", titles.cpu);
  const ofPython = rivalsInPython(authors);
  if (hasTorch(python)) {
    const script = join(projectRoot, "bench", "rivals", "torch_rivals.py");
    await open([python, script, ...(authors === null ? [] : ["--authors", authors])], ofPython);
  } else {
    for (const title of Object.values(ofPython)) absences.set(title, "no PyTorch; pip install torch");
  }
  return {
    oracle: { title: "reference", process: oracle, rival: "reference" },
    contestants,
    absences,
    aboutByTitle,
    load: async (work) => {
      for (const process of processes) await process.ask({ do: "load", ...work });
    },
    measurePeak: async () => (await oracle.ask<Peak>({ do: "peak" })).gigaflops,
    close: () => {
      for (const process of processes) process.close();
    },
  };
}

const hostCommand: readonly string[] = [
  process.execPath,
  fileURLToPath(new URL("./executor-contestant.js", import.meta.url)),
];

function rivalsInPython(authors: string | null): Readonly<Record<string, string>> {
  const { published, stacked, stackedOnce } = titles;
  const ofAuthors = authors === null ? {} : { authors: titles.authors };
  return { published, ...ofAuthors, stacked, "stacked-once": stackedOnce };
}

function hasTorch(python: string): boolean {
  try {
    execFileSync(python, ["-c", "import torch"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
