// One learning rate tried on one net: how its losses went, the best weights on the way, and why it failed if it did.

export interface BestWeights {
  readonly weights: Float32Array;
  readonly validationLoss: number;
  /** 0 for the weights that the attempt started from. */
  readonly epoch: number;
}

/** By how much the training loss may outgrow its first value, in units of 1 + that value, before anything improved. */
const MAX_GROWTH = 3;

export class FitAttempt {
  readonly learningRate: number;
  best: BestWeights;
  epoch = 0;
  /** Null while all is well. */
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

  /** The loss of one step over so many rows. */
  noteStep(loss: number, rows: number): void {
    this.#firstLoss ??= loss;
    this.#lossSum += loss * rows;
    this.#rows += rows;
    if (!Number.isFinite(loss)) this.#fail(`the training loss was ${loss}`);
  }

  get trainingLoss(): number {
    return this.#lossSum / this.#rows;
  }

  /** `takeWeights` is called only when they are worth keeping. */
  endEpoch(validationLoss: number, takeWeights: () => Float32Array): void {
    this.epoch++;
    if (this.failure !== null) return;
    if (!Number.isFinite(validationLoss)) this.#fail(`the validation loss was ${validationLoss}`);
    else if (validationLoss < this.best.validationLoss) {
      this.best = { weights: takeWeights(), validationLoss, epoch: this.epoch };
    } else if (this.best.epoch === 0 && this.#hasOutgrown()) {
      this.#fail(`the training loss grew from ${this.#firstLoss} to ${this.trainingLoss}`);
    }
  }

  /** Back to the best weights so far; the caller puts them in place. */
  rewind(): Float32Array {
    this.epoch = this.best.epoch;
    return this.best.weights;
  }

  /** Whether its best weights are of its own making, or at least it did no harm. */
  get isUsable(): boolean {
    return this.failure === null || this.best.epoch > 0;
  }

  #hasOutgrown(): boolean {
    const first = this.#firstLoss ?? 0;
    return this.trainingLoss > first + MAX_GROWTH * (1 + Math.abs(first));
  }

  #fail(problem: string): void {
    this.failure ??= `at learning rate ${this.learningRate}, epoch ${this.epoch}, ${problem}`;
  }
}
