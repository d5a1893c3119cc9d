// Trains one net from its initial weights for a number of epochs, and ends early if the loss diverges. `fit.ts` drives it
// epoch by epoch, so that several nets can advance together.

import type { FitResult, FitTask } from "../models/forecastnet/engine.ts";
import { createRandom, type Random } from "../runtime/random.ts";
import type { AdamOptions, TrainingSession } from "./executor.ts";

const warmUpSteps = 20;

/** How far the training loss may rise above its first value, in units of 1 + that value, without any improvement. */
const MAX_GROWTH = 3;

interface BestWeights {
  readonly weights: Float32Array;
  readonly validationLoss: number;
  /** 0 for the initial weights. */
  readonly epoch: number;
}

export class FitRun {
  readonly task: FitTask;
  result: FitResult | null = null;
  readonly #net: number;
  readonly #session: TrainingSession;
  readonly #rows: RowStream;
  readonly #epochs: Float32Array[] = [];
  #best: BestWeights;
  #epoch = 0;
  /** Null unless the loss was not a number or grew without bound. */
  #failure: string | null = null;
  #firstLoss: number | null = null;
  /** Sum of the losses of this epoch's steps, each times its rows. */
  #lossSum = 0;
  #lossRows = 0;

  /** The session holds the task's initial weights; `startLoss` is their validation loss. */
  constructor(task: FitTask, net: number, session: TrainingSession, startLoss: number) {
    this.task = task;
    this.#net = net;
    this.#session = session;
    this.#rows = new RowStream(task.training.count, task.options.seed);
    this.#best = { weights: task.start, validationLoss: startLoss, epoch: 0 };
    if (!Number.isFinite(startLoss)) {
      this.result = {
        outcome: "diverged",
        reason: `the initial weights have a validation loss of ${startLoss}`,
      };
    }
  }

  /** Batches of an epoch. */
  get batches(): number {
    const { stepsPerEpoch, batchSize } = this.task.options;
    return stepsPerEpoch ?? Math.ceil(this.task.training.count / batchSize);
  }

  adamOf(batch: number): AdamOptions {
    const { learningRate, weightDecay, shortcutRate, schedule, maxEpochs } = this.task.options;
    const step = this.#epoch * this.batches + batch;
    const factor = schedule === "constant" ? 1 : cosineFactor(step, maxEpochs * this.batches);
    return { learningRate: factor * learningRate, weightDecay, shortcutRate };
  }

  beginEpoch(): void {
    this.#lossSum = 0;
    this.#lossRows = 0;
  }

  /** Rows of a batch, null when the net skips it. The last batch of a pass over all rows can be shorter. */
  rowsOf(batch: number): Int32Array | null {
    if (this.result !== null || this.#failure !== null || batch >= this.batches) return null;
    const { batchSize, stepsPerEpoch } = this.task.options;
    return this.#rows.take(batchSize, stepsPerEpoch === null);
  }

  /** Records the loss of one step over a number of rows. */
  noteStep(loss: number, rows: number): void {
    this.#firstLoss ??= loss;
    this.#lossSum += loss * rows;
    this.#lossRows += rows;
    if (!Number.isFinite(loss)) this.#fail(`the training loss was ${loss}`);
  }

  /** Records the validation loss after an epoch and decides whether to continue. */
  endEpoch(validationLoss: number): void {
    this.#epoch++;
    const weights = this.#session.weights(this.#net);
    this.#epochs.push(weights);
    if (this.#failure === null) this.#judge({ weights, validationLoss, epoch: this.#epoch });
    if (this.#failure !== null && this.#best.epoch === 0) {
      this.result = { outcome: "diverged", reason: this.#failure };
    } else if (this.#failure !== null || this.#epoch >= this.task.options.maxEpochs) {
      this.result = { outcome: "fitted", ...this.#best, epochs: this.#epochs };
    }
  }

  #judge(reached: BestWeights): void {
    const { validationLoss } = reached;
    const trainingLoss = this.#lossSum / this.#lossRows;
    const first = this.#firstLoss ?? 0;
    const hasGrown = trainingLoss > first + MAX_GROWTH * (1 + Math.abs(first));
    if (!Number.isFinite(validationLoss)) this.#fail(`the validation loss was ${validationLoss}`);
    else if (validationLoss < this.#best.validationLoss) this.#best = reached;
    else if (this.#best.epoch === 0 && hasGrown) {
      this.#fail(`the training loss grew from ${first} to ${trainingLoss}`);
    }
  }

  #fail(problem: string): void {
    const { learningRate } = this.task.options;
    this.#failure ??= `at learning rate ${learningRate}, epoch ${this.#epoch}, ${problem}`;
  }
}

/** Rises over the first steps, while Adam's moments are still inaccurate, and falls to zero at the last. */
function cosineFactor(step: number, steps: number): number {
  const fall = 0.5 * (1 + Math.cos((Math.PI * step) / steps));
  return fall * Math.min(1, (step + 1) / warmUpSteps);
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
