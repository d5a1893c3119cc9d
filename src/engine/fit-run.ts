// Trains one net from its initial weights to a result: searches for a learning rate, then trains with the best until
// the validation loss stops improving. `fit.ts` drives it epoch by epoch, so that several nets can advance together.
//
//   searching ──every rate tried──► training ──patience or epochs used up──► done
//       └──────every rate failed─────────────────────────────────────────────► done
// A single rate skips the search.

import type { FitProgress, FitResult, FitTask } from "../models/forecastnet/engine.ts";
import { createRandom, type Random } from "../runtime/random.ts";
import type { AdamOptions, TrainingSession } from "./executor.ts";

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

  /** The session holds the task's initial weights; `startLoss` is their validation loss. */
  constructor(task: FitTask, net: number, session: TrainingSession, startLoss: number) {
    this.task = task;
    this.#net = net;
    this.#session = session;
    this.#startLoss = startLoss;
    this.#rows = new RowStream(task.training.count, task.options.seed);
    this.#isSearching = task.options.learningRates.length > 1;
    this.#attempt = this.#tryNextRate();
    if (!Number.isFinite(startLoss))
      this.#giveUp(`the initial weights have a validation loss of ${startLoss}`);
  }

  /** Batches of an epoch. */
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

  /** Rows of a batch, null when the net skips it. The last batch of a pass over all rows can be shorter. */
  rowsOf(batch: number): Int32Array | null {
    if (this.result !== null || this.#attempt.failure !== null || batch >= this.batches) return null;
    const { batchSize, stepsPerEpoch } = this.task.options;
    return this.#rows.take(batchSize, stepsPerEpoch === null);
  }

  noteStep(loss: number, rows: number): void {
    this.#attempt.noteStep(loss, rows);
  }

  /** Records the validation loss after an epoch and decides how to continue. */
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

  /** Every rate starts from the same weights and the same shuffles. */
  #tryNextRate(): FitAttempt {
    const { learningRates, seed } = this.task.options;
    const start = { weights: this.task.start, validationLoss: this.#startLoss, epoch: 0 };
    const attempt = new FitAttempt(learningRates[this.#attempts.length], start);
    this.#attempts.push(attempt);
    this.#rows = new RowStream(this.task.training.count, seed);
    return attempt;
  }

  /** The lowest validation loss among the rates that did not fail, or among all if every rate failed. */
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

/** Rises over the first steps, while Adam's moments are still inaccurate, and falls to zero at the last. */
function cosineFactor(step: number, steps: number): number {
  const fall = 0.5 * (1 + Math.cos((Math.PI * step) / steps));
  return fall * Math.min(1, (step + 1) / warmUpSteps);
}

interface BestWeights {
  readonly weights: Float32Array;
  readonly validationLoss: number;
  /** 0 for the initial weights. */
  readonly epoch: number;
}

/** How far the training loss may rise above its first value, in units of 1 + that value, without any improvement. */
const MAX_GROWTH = 3;

/** One learning rate tried on one net: its losses, its best weights, and why it failed if it did. */
class FitAttempt {
  readonly learningRate: number;
  best: BestWeights;
  epoch = 0;
  /** Null unless the attempt has failed. */
  failure: string | null = null;
  #firstLoss: number | null = null;
  #lossSum = 0;
  #rows = 0;

  constructor(learningRate: number, start: BestWeights) {
    this.learningRate = learningRate;
    this.best = start;
  }

  beginEpoch(): void {
    this.#lossSum = 0;
    this.#rows = 0;
  }

  /** Records the loss of one step over a number of rows. */
  noteStep(loss: number, rows: number): void {
    this.#firstLoss ??= loss;
    this.#lossSum += loss * rows;
    this.#rows += rows;
    if (!Number.isFinite(loss)) this.#fail(`the training loss was ${loss}`);
  }

  get trainingLoss(): number {
    return this.#lossSum / this.#rows;
  }

  /** Calls `takeWeights` only if they are the best so far. */
  endEpoch(validationLoss: number, takeWeights: () => Float32Array): void {
    this.epoch++;
    if (this.failure !== null) return;
    if (!Number.isFinite(validationLoss)) this.#fail(`the validation loss was ${validationLoss}`);
    else if (validationLoss < this.best.validationLoss) {
      this.best = { weights: takeWeights(), validationLoss, epoch: this.epoch };
    } else if (this.best.epoch === 0 && this.#hasDiverged()) {
      this.#fail(`the training loss grew from ${this.#firstLoss} to ${this.trainingLoss}`);
    }
  }

  /** Returns to the epoch of the best weights; the caller resets the session to them. */
  rewind(): Float32Array {
    this.epoch = this.best.epoch;
    return this.best.weights;
  }

  /** Whether it improved on the initial weights, or at least did not fail. */
  get isUsable(): boolean {
    return this.failure === null || this.best.epoch > 0;
  }

  #hasDiverged(): boolean {
    const first = this.#firstLoss ?? 0;
    return this.trainingLoss > first + MAX_GROWTH * (1 + Math.abs(first));
  }

  #fail(problem: string): void {
    this.failure ??= `at learning rate ${this.learningRate}, epoch ${this.epoch}, ${problem}`;
  }
}

/** The order in which a net sees its training rows: reshuffled from the seed after every pass over all rows. */
class RowStream {
  readonly #order: Int32Array;
  readonly #random: Random;
  #next: number;

  constructor(count: number, seed: number) {
    this.#order = Int32Array.from({ length: count }, (_, row) => row);
    this.#random = createRandom(seed);
    this.#next = count;
  }

  /** The next `count` rows, or fewer when `isBounded` and the pass over all rows ends. */
  take(count: number, isBounded: boolean): Int32Array {
    const rows = new Int32Array(count);
    for (let i = 0; i < count; i++) {
      if (this.#next === this.#order.length) {
        if (isBounded && i > 0) return rows.subarray(0, i);
        this.#shuffle();
      }
      rows[i] = this.#order[this.#next++];
    }
    return rows;
  }

  #shuffle(): void {
    const order = this.#order;
    for (let i = order.length - 1; i > 0; i--) {
      const j = Math.floor(this.#random.uniform() * (i + 1));
      [order[i], order[j]] = [order[j], order[i]];
    }
    this.#next = 0;
  }
}
