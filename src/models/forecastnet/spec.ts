// What a ForecastNet is, as data: everything but the weights. A spec is stored with its model as JSON and is
// read back through `parse-spec.ts`, which refuses what no engine could run.

import type { CellSpec } from "./cells/cell-kinds.ts";

/** Grows when the meaning of a field changes; a reader refuses versions it does not know. */
export const specVersion = 1;

export type OutputKind = "gaussian" | "linear";

/**
 * What training makes small: for Gaussian outputs the negative log-likelihood of the paper or the continuous ranked
 * probability score, which is kinder to outliers; for linear outputs the squared error.
 */
export type Loss = "likelihood" | "crps" | "squares";

/** How a window is brought into the net's units, after the scaler and before the first cell. */
export interface Framing {
  /** Subtracted from inputs and targets: nothing, the mean of the window, of its last season, or its last value. */
  readonly level: "none" | "mean" | "season" | "last";
  /** What inputs and targets are divided by: nothing, or the standard deviation of the window. */
  readonly scale: "none" | "deviation";
  /** Seasonal shortcut: the net forecasts the difference to the value this many steps before; null switches it off. */
  readonly season: number | null;
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
  /** Cells that differ from `cell`, by their number from 0: the paper's cells may be heterogeneous. */
  readonly overrides: Readonly<Record<string, CellSpec>>;
  readonly output: OutputKind;
  readonly loss: Loss;
  /** "linear": the mean also sees the cell's own input, so that a linear forecast needs no neuron. */
  readonly shortcut: "none" | "linear";
  readonly framing: Framing;
}

export const plainFraming: Framing = { level: "none", scale: "none", season: null };

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

/** A form of the paper at a horizon, one channel and 2τ inputs unless told otherwise. */
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
