// y = f(b + W·x) in its general form, tile by tile as in `forward.ts`: convolutions at every position, dense layers
// over channels whose columns do not follow each other, sums added to what is there, and the positions layout.

import {
  activationLinear,
  atActivation,
  atChannels,
  atColumnStride,
  atColumns,
  atFirstColumn,
  atFlags,
  atKernel,
  atOutputs,
  atPositions,
  atTable,
  atX,
  atXBlock,
  atXRow,
  atXStep,
  atY,
  atYBlock,
  atYRow,
  atYStep,
  flagAccumulate,
  flagNoBias,
} from "../op-codes";
import { biasesOf, field, weightsOf } from "./record";
import { activate, product, rowBytes } from "./tile";
import { splat } from "./vector-math";

export function convQuads<Row>(op: usize, base: usize, blocks: i32): void {
  const outputs = field(op, atOutputs);
  const quads = outputs >> 2;
  const positions = field(op, atPositions);
  const channels = field(op, atChannels);
  const kernel = field(op, atKernel);
  const columns = field(op, atColumns);
  const xRow = field(op, atXRow) - kernel * <i32>rowBytes<Row>();
  const wRow = (field(op, atColumnStride) - kernel) << 4;
  const w0 = weightsOf(op, base) + (field(op, atFirstColumn) << 4);
  const biases = biasesOf(op, base);
  const isAdding = (field(op, atFlags) & flagAccumulate) != 0;
  const hasNoBias = (field(op, atFlags) & flagNoBias) != 0;
  const activation = field(op, atActivation);
  const table: usize = field(op, atTable);
  const yRow = field(op, atYRow);
  const xBlock = field(op, atXBlock);
  const yBlock = field(op, atYBlock);
  const xStep = field(op, atXStep);
  const yStep = field(op, atYStep);
  let xOfBlock: usize = field(op, atX);
  let yOfBlock: usize = field(op, atY);
  for (let block = 0; block < blocks; block++) {
    let xOfPosition = xOfBlock;
    let yOfPosition = yOfBlock;
    for (let position = 0; position < positions; position++) {
      let y0 = yOfPosition;
      let wOfQuad = w0;
      for (let quad = 0; quad < quads; quad++) {
        const y1 = y0 + yRow;
        const y2 = y1 + yRow;
        const y3 = y2 + yRow;
        let a0: v128, a1: v128, b0: v128, b1: v128, c0: v128, c1: v128, d0: v128, d1: v128;
        if (isAdding) {
          a0 = v128.load(y0);
          a1 = v128.load(y0, 16);
          b0 = v128.load(y1);
          b1 = v128.load(y1, 16);
          c0 = v128.load(y2);
          c1 = v128.load(y2, 16);
          d0 = v128.load(y3);
          d1 = v128.load(y3, 16);
        } else if (hasNoBias) {
          a0 = a1 = b0 = b1 = c0 = c1 = d0 = d1 = splat(0);
        } else {
          const b = biases + (quad << 4);
          a0 = a1 = v128.load_splat<f32>(b);
          b0 = b1 = v128.load_splat<f32>(b, 4);
          c0 = c1 = v128.load_splat<f32>(b, 8);
          d0 = d1 = v128.load_splat<f32>(b, 12);
        }
        let w = wOfQuad;
        let x = xOfPosition;
        if (table != 0) {
          let entry = table;
          for (let column = columns; column > 0; column--) {
            const xOfColumn: usize = x + load<u32>(entry);
            const x0 = v128.load(xOfColumn);
            const x1 = v128.load(xOfColumn, 16);
            let ws = v128.load_splat<f32>(w);
            a0 = product(a0, ws, x0);
            a1 = product(a1, ws, x1);
            ws = v128.load_splat<f32>(w, 4);
            b0 = product(b0, ws, x0);
            b1 = product(b1, ws, x1);
            ws = v128.load_splat<f32>(w, 8);
            c0 = product(c0, ws, x0);
            c1 = product(c1, ws, x1);
            ws = v128.load_splat<f32>(w, 12);
            d0 = product(d0, ws, x0);
            d1 = product(d1, ws, x1);
            w += 16;
            entry += 4;
          }
        } else {
          for (let channel = channels; channel > 0; channel--) {
            for (let k = kernel; k > 0; k--) {
              const x0 = v128.load(x);
              const x1 = v128.load(x, 16);
              let ws = v128.load_splat<f32>(w);
              a0 = product(a0, ws, x0);
              a1 = product(a1, ws, x1);
              ws = v128.load_splat<f32>(w, 4);
              b0 = product(b0, ws, x0);
              b1 = product(b1, ws, x1);
              ws = v128.load_splat<f32>(w, 8);
              c0 = product(c0, ws, x0);
              c1 = product(c1, ws, x1);
              ws = v128.load_splat<f32>(w, 12);
              d0 = product(d0, ws, x0);
              d1 = product(d1, ws, x1);
              w += 16;
              x += rowBytes<Row>();
            }
            w += wRow;
            x += xRow;
          }
        }
        if (activation != activationLinear) {
          a0 = activate(a0, activation);
          a1 = activate(a1, activation);
          b0 = activate(b0, activation);
          b1 = activate(b1, activation);
          c0 = activate(c0, activation);
          c1 = activate(c1, activation);
          d0 = activate(d0, activation);
          d1 = activate(d1, activation);
        }
        v128.store(y0, a0);
        v128.store(y0, a1, 16);
        v128.store(y1, b0);
        v128.store(y1, b1, 16);
        v128.store(y2, c0);
        v128.store(y2, c1, 16);
        v128.store(y3, d0);
        v128.store(y3, d1, 16);
        y0 = y3 + yRow;
        wOfQuad += columns << 4;
      }
      xOfPosition += xStep;
      yOfPosition += yStep;
    }
    xOfBlock += xBlock;
    yOfBlock += yBlock;
  }
}
