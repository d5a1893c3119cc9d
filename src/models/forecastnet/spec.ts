// A ForecastNet as data: everything but the weights. A spec is stored as JSON with its model, and read back through
// `parse-spec.ts`, which refuses specs that no engine can run.

import type { CellSpec } from "./cells.ts";

/** Grows when the meaning of a field changes; readers refuse versions they do not know. */
export const specVersion = 1;

export type OutputKind = "gaussian" | "linear";

/**
 * What training minimises: for Gaussian outputs the negative log-likelihood of the paper or the continuous ranked
 * probability score, which is less sensitive to outliers; for linear outputs the squared error.
 */
export type Loss = "likelihood" | "crps" | "squares";

/** How a window is converted into the net's units, after the scaler and before the first cell. */
export interface Framing {
  /** Subtracted from inputs and targets: nothing, the mean of the window, or its last value. */
  readonly level: "none" | "mean" | "last";
  /** Divides inputs and targets: nothing, or the standard deviation of the window. */
  readonly scale: "none" | "deviation";
}

export interface ForecastNetSpec {
  readonly version: typeof specVersion;
  /** τ: cells, and steps ahead. */
  readonly horizon: number;
  /** Steps of the past that the net sees; 2τ in the paper. */
  readonly inputLength: number;
  /** Channels of the window, all of them inputs. */
  readonly channels: number;
  /** The channels that are forecast, ascending. */
  readonly targets: readonly number[];
  readonly cell: CellSpec;
  /** Cells that differ from `cell`, by index: the paper's cells may be heterogeneous. */
  readonly overrides: Readonly<Record<string, CellSpec>>;
  readonly output: OutputKind;
  readonly loss: Loss;
  /** "linear": the mean layer also sees the cell's input, so that a linear forecast needs no neurons. */
  readonly shortcut: "none" | "linear";
  readonly framing: Framing;
}

export const plainFraming: Framing = { level: "none", scale: "none" };

const denseOfPaper: CellSpec = { kind: "dense", units: [24, 24], activation: "relu" };
const stageOfPaper = { filters: 24, kernel: 2, padding: 0, pool: { size: 2, stride: 1 } };
const convOfPaper: CellSpec = {
  kind: "conv",
  stages: [stageOfPaper, stageOfPaper],
  units: 24,
  activation: "relu",
};

/** The four forms of the paper. */
export const forms = {
  FN: { cell: denseOfPaper, output: "gaussian", loss: "likelihood" },
  cFN: { cell: convOfPaper, output: "gaussian", loss: "likelihood" },
  FN2: { cell: denseOfPaper, output: "linear", loss: "squares" },
  cFN2: { cell: convOfPaper, output: "linear", loss: "squares" },
} as const satisfies Record<string, Pick<ForecastNetSpec, "cell" | "output" | "loss">>;

export type Form = keyof typeof forms;

/** A form of the paper at a horizon, with one channel and 2τ inputs unless `changes` says otherwise. */
export function specOf(form: Form, horizon: number, changes: Partial<ForecastNetSpec> = {}): ForecastNetSpec {
  return {
    version: specVersion,
    horizon,
    inputLength: 2 * horizon,
    channels: 1,
    targets: [0],
    overrides: {},
    shortcut: "none",
    framing: plainFraming,
    ...forms[form],
    ...changes,
  };
}

export function cellAt(spec: ForecastNetSpec, cell: number): CellSpec {
  return spec.overrides[cell] ?? spec.cell;
}
