// The training of one net from its first weights to a result: the search for a learning rate, then training with the
// winner until nothing improves. Driven from outside, epoch by epoch, so that several nets can go in step.
//
//   searching ──every rate tried──► training ──patience or epochs used up──► done
//       └──────every rate failed─────────────────────────────────────────────► done
// With a single rate there is nothing to search for.

import type { FitProgress, FitResult, FitTask } from "./engine.ts";
import type { AdamOptions, TrainingSession } from "./executor.ts";
import { FitAttempt } from "./fit-attempt.ts";
import { RowStream } from "./row-stream.ts";

const warmUpSteps = 20;

export class FitRun {
  readonly task: FitTask;
  result: FitResult | null = null;
  readonly #net: number;
  readonly #session: TrainingSession;
  readonly #startLoss: number;
  readonly #attempts: FitAttempt[] = [];
  readonly #epochs: Float32Array[] = [];
  #attempt: FitAttempt;
  #isSearching: boolean;
  #rows: RowStream;

  /** The session holds the task's first weights, whose validation loss is known. */
  constructor(task: FitTask, net: number, session: TrainingSession, startLoss: number) {
    this.task = task;
    this.#net = net;
    this.#session = session;
    this.#startLoss = startLoss;
    this.#rows = new RowStream(task.training.count, task.options.seed);
    this.#isSearching = task.options.learningRates.length > 1;
    this.#attempt = this.#tryNextRate();
    if (!Number.isFinite(startLoss)) this.#giveUp(`the first weights have a validation loss of ${startLoss}`);
  }

  /** Batches that an epoch has. */
  get batches(): number {
    const { stepsPerEpoch, batchSize } = this.task.options;
    return stepsPerEpoch ?? Math.ceil(this.task.training.count / batchSize);
  }

  adamOf(batch: number): AdamOptions {
    const { weightDecay, shortcutRate, schedule, maxEpochs } = this.task.options;
    const step = this.#attempt.epoch * this.batches + batch;
    const factor = schedule === "constant" ? 1 : cosineFactor(step, maxEpochs * this.batches);
    return { learningRate: factor * this.#attempt.learningRate, weightDecay, shortcutRate };
  }

  beginEpoch(): void {
    this.#attempt.beginEpoch();
  }

  /** Rows of a batch, the last one of a round through all rows being shorter; null when the net rests. */
  rowsOf(batch: number): Int32Array | null {
    if (this.result !== null || this.#attempt.failure !== null || batch >= this.batches) return null;
    const { batchSize, stepsPerEpoch } = this.task.options;
    return this.#rows.take(batchSize, stepsPerEpoch === null);
  }

  noteStep(loss: number, rows: number): void {
    this.#attempt.noteStep(loss, rows);
  }

  /** Takes in the validation loss after an epoch and decides how to go on. */
  endEpoch(validationLoss: number): FitProgress {
    const attempt = this.#attempt;
    attempt.endEpoch(validationLoss, () => this.#session.weights(this.#net));
    const { epoch, trainingLoss } = attempt;
    if (this.task.options.keepsEpochs && !this.#isSearching) {
      this.#epochs.push(this.#session.weights(this.#net));
    }
    if (this.#isSearching) this.#goOnSearching();
    else this.#goOnTraining();
    return { task: this.#net, epoch, trainingLoss, validationLoss };
  }

  #goOnSearching(): void {
    const { searchEpochs, maxEpochs, learningRates } = this.task.options;
    if (this.#attempt.failure === null && this.#attempt.epoch < Math.min(searchEpochs, maxEpochs)) return;
    if (this.#attempts.length < learningRates.length) {
      this.#attempt = this.#tryNextRate();
      this.#session.reset(this.#net, this.task.start);
      return;
    }
    this.#isSearching = false;
    this.#attempt = this.#winner();
    this.#session.reset(this.#net, this.#attempt.rewind());
    this.#goOnTraining();
  }

  #goOnTraining(): void {
    const { maxEpochs, patience } = this.task.options;
    const { failure, epoch, best, learningRate, isUsable } = this.#attempt;
    if (!isUsable) this.#giveUp(this.#attempts.map((attempt) => attempt.failure).join("; "));
    else if (failure !== null || epoch >= maxEpochs || epoch - best.epoch >= patience) {
      this.result = { outcome: "fitted", learningRate, ...best, epochs: this.#epochs };
    }
  }

  /** Every rate meets the same start and the same shuffles. */
  #tryNextRate(): FitAttempt {
    const { learningRates, seed } = this.task.options;
    const start = { weights: this.task.start, validationLoss: this.#startLoss, epoch: 0 };
    const attempt = new FitAttempt(learningRates[this.#attempts.length], start);
    this.#attempts.push(attempt);
    this.#rows = new RowStream(this.task.training.count, seed);
    return attempt;
  }

  /** The lowest validation loss among the rates that did not fail; a failed one only when all did. */
  #winner(): FitAttempt {
    const rank = (attempt: FitAttempt) => (attempt.failure === null ? 0 : attempt.isUsable ? 1 : 2);
    return this.#attempts.reduce((best, attempt) => {
      const isBetter = attempt.best.validationLoss < best.best.validationLoss;
      return rank(attempt) < rank(best) || (rank(attempt) === rank(best) && isBetter) ? attempt : best;
    });
  }

  #giveUp(reason: string): void {
    this.result = { outcome: "diverged", reason };
  }
}

/** Rises over the first steps, while the moments know little, and falls to zero at the last. */
function cosineFactor(step: number, steps: number): number {
  const fall = 0.5 * (1 + Math.cos((Math.PI * step) / steps));
  return fall * Math.min(1, (step + 1) / warmUpSteps);
}
