// Trains models on threads of this process, so that the event loop only sends histories and receives models. Tasks wait
// in one queue for a thread that has nothing to do; a thread that broke is replaced before the next task.
//
// The first thread starts at once, and shows whether the engine can be had; the others when there is work for them.

import { availableParallelism } from "node:os";
import type { ExecutorSetup } from "../../engine/threads/protocol.ts";
import { WorkQueue } from "../../engine/threads/work-queue.ts";
import { ForecastnetError } from "../../runtime/errors.ts";
import type { ModelTrainer, TrainingResult, TrainingTask } from "../training-task.ts";
import { TrainingThread } from "./training-thread.ts";

export interface TrainingThreadsOptions {
  readonly setup: ExecutorSetup;
  /** At most; 0 leaves one core to the others. TensorFlow has one: it spreads its work by itself. */
  readonly threads: number;
}

/** Rejects with ENGINE_FAILED when the engine cannot be had. */
export async function openTrainingThreads(options: TrainingThreadsOptions): Promise<ModelTrainer> {
  const trainer = new TrainingThreads(options);
  await trainer.open();
  return trainer;
}

/** The place of one thread, and of whichever follows it. */
class Seat {
  readonly #setup: ExecutorSetup;
  #thread: TrainingThread | null = null;

  constructor(setup: ExecutorSetup) {
    this.#setup = setup;
  }

  get thread(): TrainingThread {
    if (this.#thread === null || this.#thread.isGone) this.#thread = new TrainingThread(this.#setup);
    return this.#thread;
  }

  async close(): Promise<void> {
    if (this.#thread !== null && !this.#thread.isGone) await this.#thread.close();
  }
}

class TrainingThreads implements ModelTrainer {
  readonly #setup: ExecutorSetup;
  readonly #mostSeats: number;
  readonly #seats: Seat[] = [];
  readonly #queue: WorkQueue<Seat>;

  constructor({ setup, threads }: TrainingThreadsOptions) {
    this.#setup = setup;
    const wanted = threads === 0 ? Math.max(1, availableParallelism() - 1) : threads;
    this.#mostSeats = setup.kind === "tensorflow" ? 1 : wanted;
    this.#queue = new WorkQueue({ perWorker: 1, addWorker: () => this.#addSeat() });
  }

  async open(): Promise<void> {
    const first = this.#addSeat() as Seat;
    this.#queue.include(first);
    await first.thread.ready;
  }

  async train(tasks: readonly TrainingTask[], signal: AbortSignal): Promise<readonly TrainingResult[]> {
    if (tasks.length === 0) return [];
    // Stacked arithmetic pays by the size of the stack; otherwise every task goes to whoever is free first.
    const groups = this.#setup.kind === "tensorflow" ? [tasks] : tasks.map((task) => [task]);
    // All are waited for, whatever becomes of one: nothing is left running when this rejects.
    const settled = await Promise.allSettled(groups.map((group) => this.#trainGroup(group, signal)));
    return settled.flatMap((one) => {
      if (one.status === "rejected") throw one.reason;
      return one.value;
    });
  }

  async close(): Promise<void> {
    this.#queue.refuse(new ForecastnetError("ENGINE_FAILED", "the trainer was closed"));
    await Promise.all(this.#seats.splice(0).map((seat) => seat.close()));
  }

  #trainGroup(tasks: readonly TrainingTask[], signal: AbortSignal): Promise<readonly TrainingResult[]> {
    const cancelled = () => tasks.map((): TrainingResult => ({ outcome: "cancelled" }));
    return new Promise((resolve, reject) => {
      // Answers at once while the tasks still wait for a thread; under way, the thread answers.
      const giveUp = () => resolve(cancelled());
      const stopWaiting = () => signal.removeEventListener("abort", giveUp);
      signal.addEventListener("abort", giveUp, { once: true });
      this.#queue
        .add(tasks.length, async (seat) => {
          stopWaiting();
          return signal.aborted ? cancelled() : seat.thread.train(tasks, signal);
        })
        .finally(stopWaiting)
        .then(resolve, reject);
    });
  }

  /** Null when there are as many as may be. */
  #addSeat(): Seat | null {
    if (this.#seats.length >= this.#mostSeats) return null;
    const seat = new Seat(this.#setup);
    this.#seats.push(seat);
    return seat;
  }
}
