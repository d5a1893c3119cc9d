// Runs compiled test files, each in a process of its own, prints one report for all of them and keeps the score.
// A file that crashes, hangs or holds no test counts as a failure.

import { relative } from "node:path";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { compiledTests } from "./project.ts";

export interface SuiteOptions {
  /** After this long a file is ended and counts as failed. */
  readonly fileTimeoutMs: number;
}

interface Timing {
  readonly title: string;
  readonly durationMs: number;
}

/** The part we read of node's report on a test, a suite or, under its path, a file without tests to report. */
interface TestReport {
  readonly name: string;
  readonly skip?: string | boolean | undefined;
  readonly todo?: string | boolean | undefined;
  readonly details: {
    readonly duration_ms: number;
    readonly type?: string | undefined;
    readonly error?: { readonly failureType?: string };
  };
}

/** Totals node prints for each call of `run`; ours cover them all. */
const runnerTotal = /^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+$/;

export class TestSuite {
  #passed = 0;
  #failed = 0;
  #skipped = 0;
  readonly #timings: Timing[] = [];
  readonly #problems: string[] = [];
  readonly #options: SuiteOptions;
  readonly #report = new spec();

  constructor(options: SuiteOptions) {
    this.#options = options;
    this.#report.pipe(process.stdout, { end: false });
  }

  async runFiles(files: readonly string[], concurrency: number): Promise<void> {
    const waiting = [...files];
    const runOneByOne = async () => {
      for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) await this.#runFile(file);
    };
    await Promise.all(Array.from({ length: concurrency }, runOneByOne));
  }

  /** Ends the file by a signal: from Node 22 on, `timeout` is that of a test, and no longer that of a file. */
  async #runFile(file: string): Promise<void> {
    const events = [];
    const signal = AbortSignal.timeout(this.#options.fileTimeoutMs);
    // Shown at its end, so that files that run side by side do not mix.
    for await (const event of run({ files: [file], signal })) events.push(event);
    for (const event of events) {
      const { type, data } = event;
      if (type === "test:diagnostic" && runnerTotal.test(data.message)) continue;
      if (type === "test:pass" || type === "test:fail") this.#count(type === "test:pass", data, [file]);
      this.#report.write(event);
    }
  }

  /** Counts a check that is no test file, such as the linter. */
  addCheck(name: string, problem: string | null): void {
    if (problem === null) this.#passed += 1;
    else this.addProblem(`${name}: ${problem}`);
  }

  /** Counts as one failure and is shown again at the end. */
  addProblem(problem: string): void {
    this.#failed += 1;
    this.#problems.push(problem);
  }

  /** Counts test files that were not run. */
  addSkipped(files: number): void {
    this.#skipped += files;
  }

  /** Prints what remains to be said, the totals last, and tells whether all is well. */
  async finish(notes: readonly string[]): Promise<boolean> {
    await new Promise<void>((resolve) => {
      this.#report.once("end", resolve).end();
    });
    const ran = this.#passed + this.#failed;
    if (ran === 0) this.addProblem("no test ran: none has that name, or all were skipped");
    this.#printSlowest();
    for (const problem of this.#problems) print(`\n✖ ${problem}`);
    for (const note of notes) print(`\n${boxed(note)}`);
    print(`\n${this.#passed} passed, ${this.#failed} failed, ${this.#skipped} skipped`);
    return this.#failed === 0;
  }

  #printSlowest(): void {
    const slow = this.#timings.filter(({ durationMs }) => durationMs > 100);
    if (slow.length === 0) return;
    print("\nSlowest tests:");
    for (const { title, durationMs } of slow.sort((a, b) => b.durationMs - a.durationMs).slice(0, 10)) {
      print(`  ${durationMs.toFixed(0).padStart(7)} ms  ${title}`);
    }
  }

  #count(isPass: boolean, test: TestReport, files: readonly string[]): void {
    if (files.includes(test.name)) {
      const source = relative(compiledTests, test.name).replace(/\.js$/, ".ts");
      this.addProblem(`test/${source} ${isPass ? "holds no test" : "crashed or ran out of time"}`);
    } else if (isSet(test.skip) || isSet(test.todo)) {
      this.#skipped += 1;
    } else if (test.details.type === "suite") {
      // Its tests have been counted; its own hooks and body have not.
      if (!isPass && test.details.error?.failureType !== "subtestsFailed") this.#failed += 1;
    } else {
      if (isPass) this.#passed += 1;
      else this.#failed += 1;
      this.#timings.push({ title: test.name, durationMs: test.details.duration_ms });
    }
  }
}

/** Node marks a skipped test with true or with the reason, which may be empty. */
function isSet(mark: string | boolean | undefined): boolean {
  return mark !== undefined && mark !== false;
}

function boxed(note: string): string {
  const line = "═".repeat(note.length + 2);
  return `╔${line}╗\n║ ${note} ║\n╚${line}╝`;
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
