// The outputs of a cell: draws the next input of each sample path, and computes the loss with its derivatives.
//
// Legend: s the deviation layer's sum, σ = softplus(s), y the target, z = (y − μ)/σ.
//   likelihood  L = ln σ + z²/2,  ∂L/∂μ = −z/σ,  ∂L/∂s = (1 − z²)·σ′(s)/σ with σ′(s) = sigmoid(s)
//   crps        L = (y − μ)(2Φ(z) − 1) + σ(2φ(z) − 1/√π),  ∂L/∂μ = 1 − 2Φ(z),  ∂L/∂s = (2φ(z) − 1/√π)·σ′(s)
//   squares     L = (y − μ)²,  ∂L/∂μ = 2(μ − y)
// Rows are [target][lane]: the lanes of a target are contiguous.

import {
  atB,
  atBRow,
  atFlags,
  atOutputs,
  atW,
  atX,
  atXRow,
  atY,
  atYBlock,
  atYRow,
  flagCrps,
  flagGaussian,
  flagLossOnly,
} from "../op-codes";
import { field } from "./operation";
import { bellOf, cdfOf, log4, sigmoid4, softplus4, splat } from "./vector-math";

/** x = μ, b = s → σ in place, w = noise; y receives μ + σ·noise as rows of the next cell's input. */
export function draw(op: usize, noise: usize, blocks: i32): void {
  const isGaussian = (field(op, atFlags) & flagGaussian) != 0;
  const yBlock = field(op, atYBlock);
  for (let target = 0; target < field(op, atOutputs); target++) {
    const mean: usize = field(op, atX) + target * field(op, atXRow);
    const deviation: usize = field(op, atB) + target * field(op, atBRow);
    const z: usize = noise + field(op, atW) + target * field(op, atXRow);
    const y: usize = field(op, atY) + target * field(op, atYRow);
    for (let block = 0; block < blocks; block++) {
      const at = block << 5;
      let low = v128.load(mean + at);
      let high = v128.load(mean + at, 16);
      if (isGaussian) {
        // Two at a time: V8 reloads the constants of a softplus for every block of code.
        const lowDeviation = softplus4(v128.load(deviation + at));
        const highDeviation = softplus4(v128.load(deviation + at, 16));
        v128.store(deviation + at, lowDeviation);
        v128.store(deviation + at, highDeviation, 16);
        low = f32x4.add(low, f32x4.mul(lowDeviation, v128.load(z + at)));
        high = f32x4.add(high, f32x4.mul(highDeviation, v128.load(z + at, 16)));
      }
      // The last cell feeds no other.
      if (field(op, atY) == 0) continue;
      v128.store(y + block * yBlock, low);
      v128.store(y + block * yBlock, high, 16);
    }
  }
}

/**
 * x = μ, b = s, w = targets; y receives ∂L/∂μ and, `yBlock` bytes further, ∂L/∂s, both times `scale`. Lanes from
 * `lanes` on are padding and have no loss and no derivative. Returns the sum of the losses.
 */
export function loss(op: usize, lanes: i32, scale: f32): f64 {
  const isGaussian = (field(op, atFlags) & flagGaussian) != 0;
  const isCrps = (field(op, atFlags) & flagCrps) != 0;
  const isLossOnly = (field(op, atFlags) & flagLossOnly) != 0;
  let total: f64 = 0;
  for (let target = 0; target < field(op, atOutputs); target++) {
    const row = target * field(op, atXRow);
    const mean: usize = field(op, atX) + row;
    const sums: usize = field(op, atB) + row;
    const truth: usize = field(op, atW) + row;
    const byMean: usize = field(op, atY) + row;
    const bySum: usize = byMean + field(op, atYBlock);
    // Whole blocks of 8, so that the padding of the last block is set to zero.
    for (let half = 0; half < ((lanes + 7) >> 3) << 1; half++) {
      const at = half << 4;
      const present = i32x4.lt_s(i32x4.add(i32x4.splat(half << 2), i32x4(0, 1, 2, 3)), i32x4.splat(lanes));
      const difference = f32x4.sub(v128.load(truth + at), v128.load(mean + at));
      let losses: v128;
      let slope: v128;
      let slopeBySum = splat(0);
      if (!isGaussian) {
        losses = f32x4.mul(difference, difference);
        slope = f32x4.mul(difference, splat(-2));
      } else {
        const s = v128.load(sums + at);
        const sigma = softplus4(s);
        const z = f32x4.div(difference, sigma);
        if (isCrps) {
          const bell = bellOf(z);
          const excess = f32x4.sub(f32x4.mul(cdfOf(z, bell), splat(2)), splat(1));
          const bySigma = f32x4.sub(f32x4.mul(bell, splat(2)), splat(0.564189584));
          losses = f32x4.add(f32x4.mul(difference, excess), f32x4.mul(sigma, bySigma));
          slope = f32x4.neg(excess);
          slopeBySum = f32x4.mul(bySigma, sigmoid4(s));
        } else {
          const z2 = f32x4.mul(z, z);
          losses = f32x4.add(logOfDeviation(s, sigma), f32x4.mul(z2, splat(0.5)));
          slope = f32x4.neg(f32x4.div(z, sigma));
          slopeBySum = f32x4.mul(f32x4.sub(splat(1), z2), f32x4.div(sigmoid4(s), sigma));
        }
      }
      if (!isLossOnly) {
        storeScaled(byMean + at, slope, scale, present);
        if (isGaussian) storeScaled(bySum + at, slopeBySum, scale, present);
      }
      total += sumInDouble(v128.and(losses, present));
    }
  }
  return total;
}

/** ln softplus(s). Below −17 it equals s in single precision, even where σ underflows. */
function logOfDeviation(s: v128, sigma: v128): v128 {
  return v128.bitselect(s, log4(sigma), f32x4.lt(s, splat(-17)));
}

@inline
function storeScaled(at: usize, value: v128, scale: f32, present: v128): void {
  v128.store(at, v128.and(f32x4.mul(value, splat(scale)), present));
}

@inline
function sumInDouble(v: v128): f64 {
  return (
    <f64>f32x4.extract_lane(v, 0) +
    <f64>f32x4.extract_lane(v, 1) +
    (<f64>f32x4.extract_lane(v, 2) + <f64>f32x4.extract_lane(v, 3))
  );
}
