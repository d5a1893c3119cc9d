// The contestants: our executors, and PyTorch if a Python has it. Each is a process that answers questions, pinned to one
// core if the system allows. Only one is asked at a time, so no two compute at the same time.

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import { fileURLToPath } from "node:url";
import { projectRoot } from "../../test/rig/project.ts";
import type { ExecutorName } from "./executor-contestant.ts";
import type { Answer, Greeting, Peak, Question, Work } from "./protocol.ts";

/** One row of the tables. */
export interface Contestant {
  readonly title: string;
  readonly process: ContestantProcess;
  /** Its name within the process. */
  readonly rival: string;
}

interface Field {
  readonly oracle: Contestant;
  readonly contestants: readonly Contestant[];
  /** Reasons of those that cannot take part, by the title of their row. */
  readonly absences: ReadonlyMap<string, string>;
  /** Libraries and versions, by title. */
  readonly aboutByTitle: ReadonlyMap<string, string>;
  load(work: Work): Promise<void>;
  /** GFLOP/s of 128-bit arithmetic, measured now on the core of all contestants. */
  measurePeak(): Promise<number>;
  close(): void;
}

interface FieldOptions {
  /** The Python that may have PyTorch. */
  readonly python: string;
  /** A checkout of the authors' repository, to run their modules from; null runs our restatement of them only. */
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

class ContestantProcess {
  readonly #child: ChildProcess;
  readonly #lines: Interface;
  readonly #errors: string[] = [];
  #settle: ((answer: Answer<unknown>) => void) | undefined;

  constructor(command: readonly string[], environment: Readonly<Record<string, string>> = {}) {
    const [program, ...args] = [...pinning, ...command];
    this.#child = spawn(program, args, {
      stdio: ["pipe", "pipe", "pipe"],
      env: { ...process.env, ...environment },
    });
    const { stdout, stderr } = this.#child;
    if (stdout === null || stderr === null) throw new Error("a contestant was started without pipes");
    this.#lines = createInterface(stdout);
    // Libraries print to standard output, too; only JSON lines are answers.
    this.#lines.on("line", (line) => line.startsWith("{") && this.#settle?.(JSON.parse(line)));
    stderr.on("data", (chunk) => this.#errors.push(String(chunk)));
    const onEnd = (): void => this.#settle?.({ error: `ended: ${this.#errors.join("").trim().slice(-400)}` });
    this.#child.once("error", (error) => this.#settle?.({ error: error.message }));
    this.#child.once("close", onEnd);
    // A write to a process that has ended fails; its end is the answer.
    this.#child.stdin?.on("error", () => {});
  }

  /** Rejects with the error that the contestant reports. */
  async ask<Result>(question: Question): Promise<Result> {
    if (this.#child.exitCode !== null) throw new Error("the contestant has ended");
    const answer = await new Promise<Answer<Result>>((resolve) => {
      this.#settle = (given) => resolve(given as Answer<Result>);
      this.#child.stdin?.write(`${JSON.stringify(question)}\n`);
    });
    this.#settle = undefined;
    if (typeof answer === "object" && answer !== null && "error" in answer) throw new Error(answer.error);
    return answer as Result;
  }

  close(): void {
    this.#child.stdin?.end();
  }
}

/** The prefix of a command that pins it to one core; empty if the system has none. */
const pinning: readonly string[] = findPinning();

export const isPinned = pinning.length > 0;

function findPinning(): readonly string[] {
  // The last core: systems tend to handle interrupts on the first.
  const command = ["taskset", "-c", String(availableParallelism() - 1)];
  try {
    execFileSync(command[0], [...command.slice(1), "true"], { stdio: "ignore" });
    return command;
  } catch {
    return [];
  }
}
