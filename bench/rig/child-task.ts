// Work in a process of its own, by question and answer, so that what is measured shares neither event loop nor
// heap with what measures it.

import { type ChildProcess, fork } from "node:child_process";

type Answer = { readonly result: unknown } | { readonly error: string };

export class ChildTask<Question, Result> {
  readonly #child: ChildProcess;

  /** `file` is the compiled module of the child, which calls `answerParent`. */
  constructor(file: URL) {
    this.#child = fork(file, { execArgv: ["--enable-source-maps"] });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  async ask(question: Question): Promise<Result> {
    const answer = await new Promise<Answer>((resolve, reject) => {
      const onExit = () => reject(new Error(`the child process ended with code ${this.#child.exitCode}`));
      this.#child.once("exit", onExit);
      this.#child.once("message", (message) => {
        this.#child.off("exit", onExit);
        resolve(message as Answer);
      });
      this.#child.send(question as object);
    });
    if ("error" in answer) throw new Error(answer.error);
    return answer.result as Result;
  }

  close(): void {
    if (this.#child.connected) this.#child.disconnect();
  }
}

/** In the child: answers every question until the parent is gone. */
export function answerParent<Question, Result>(answer: (question: Question) => Promise<Result>): void {
  process.on("message", (question) => {
    answer(question as Question).then(
      (result) => process.send?.({ result }),
      (error: unknown) => process.send?.({ error: error instanceof Error ? error.stack : String(error) }),
    );
  });
  process.once("disconnect", () => process.exit(0));
}
