// The nets on which executors are compared: the paper's four forms, small and of the paper's size, and every option of a
// spec that changes the arithmetic.

import type { CellSpec } from "../../../src/models/forecastnet/cells.ts";
import { type ForecastNetSpec, type Form, forms, specOf } from "../../../src/models/forecastnet/spec.ts";
import { authorsConvCell } from "./golden-case.ts";

interface NetCase {
  readonly name: string;
  readonly spec: ForecastNetSpec;
}

/** Sizes that are not multiples of a vector register. */
const smallDense: CellSpec = { kind: "dense", units: [5, 3], activation: "relu" };
const strided: CellSpec = {
  kind: "conv",
  stages: [
    { filters: 3, kernel: 3, padding: 1, pool: { size: 3, stride: 2 } },
    { filters: 5, kernel: 2, padding: 0, pool: null },
  ],
  units: 7,
  activation: "relu",
};

const everyForm = (Object.keys(forms) as Form[]).flatMap((form): NetCase[] => [
  { name: `${form}, τ 4`, spec: specOf(form, 4) },
  { name: `${form}, τ 20 as in the paper`, spec: specOf(form, 20) },
]);

const variants: readonly NetCase[] = [
  { name: "a single cell", spec: specOf("FN", 1, { inputLength: 3, cell: smallDense }) },
  { name: "odd sizes", spec: specOf("FN", 5, { inputLength: 7, cell: smallDense }) },
  {
    name: "one dense layer",
    spec: specOf("FN2", 3, { cell: { kind: "dense", units: [9], activation: "relu" } }),
  },
  {
    name: "three dense layers",
    spec: specOf("FN", 3, { cell: { kind: "dense", units: [9, 6, 4], activation: "relu" } }),
  },
  {
    name: "sigmoid neurons",
    spec: specOf("FN2", 6, { cell: { kind: "dense", units: [6], activation: "sigmoid" } }),
  },
  {
    name: "linear neurons",
    spec: specOf("FN", 3, { cell: { kind: "dense", units: [6, 4], activation: "linear" } }),
  },
  { name: "sigmoid convolutions", spec: specOf("cFN", 3, { cell: { ...strided, activation: "sigmoid" } }) },
  { name: "the authors' convolutional cell", spec: specOf("cFN", 3, { cell: authorsConvCell(24) }) },
  { name: "padding, strided pools and odd sizes", spec: specOf("cFN2", 5, { cell: strided }) },
  { name: "a linear shortcut, Gaussian", spec: specOf("FN", 6, { shortcut: "linear" }) },
  { name: "a linear shortcut around convolutions", spec: specOf("cFN2", 4, { shortcut: "linear" }) },
  { name: "three channels, all targets", spec: specOf("FN", 4, { channels: 3, targets: [0, 1, 2] }) },
  { name: "three channels, two targets", spec: specOf("FN2", 4, { channels: 3, targets: [0, 2] }) },
  { name: "two channels through convolutions", spec: specOf("cFN", 4, { channels: 2, targets: [1] }) },
  {
    name: "a shortcut with many targets",
    spec: specOf("FN", 3, { channels: 2, targets: [0, 1], shortcut: "linear", cell: smallDense }),
  },
  { name: "the CRPS as loss", spec: specOf("FN", 6, { loss: "crps" }) },
  { name: "the CRPS around convolutions", spec: specOf("cFN", 4, { loss: "crps", cell: strided }) },
  { name: "the CRPS and a linear shortcut", spec: specOf("FN", 6, { loss: "crps", shortcut: "linear" }) },
  {
    name: "the CRPS and a shortcut with many targets",
    spec: specOf("FN", 5, {
      loss: "crps",
      shortcut: "linear",
      cell: smallDense,
      inputLength: 7,
      channels: 3,
      targets: [0, 2],
    }),
  },
  {
    name: "cells that differ",
    spec: specOf("FN", 5, {
      overrides: { 0: smallDense, 2: strided, 4: { ...smallDense, activation: "sigmoid" } },
    }),
  },
  {
    name: "cells that differ, linear output and shortcut",
    spec: specOf("cFN2", 4, { overrides: { 1: smallDense, 3: strided }, shortcut: "linear" }),
  },
  {
    // Executors get framed windows: the framing of the spec must not change their results.
    name: "a spec with framing",
    spec: specOf("FN", 4, { framing: { level: "mean", scale: "deviation" } }),
  },
];

export const netCases: readonly NetCase[] = [...everyForm, ...variants];
