// Reads the cells of a pending forecast as their schema describes them, with nothing of the code that writes them.

import type { RowShape } from "../../../src/score/cell-codes.ts";

/** `numbers` is [level][channel · horizon + step]; `unit` has one number per channel. */
export function cellsOf(bytes: Buffer, { horizon, channels, levels, median }: RowShape) {
  const numbers = Array.from({ length: levels }, () => new Array<number>(channels * horizon));
  const heads = Array.from({ length: channels }, (_, c) => {
    const power = bytes.readInt16LE(8 * c + 6);
    return {
      low: bytes.readFloatLE(8 * c),
      top: bytes.readUInt16LE(8 * c + 4),
      unit: power === -32_768 ? 0 : 2 ** power,
    };
  });
  let at = 8 * channels;
  for (let h = 0; h < horizon; h++) {
    for (const [c, { low, top, unit }] of heads.entries()) {
      const centre = bytes.readUInt16LE(at);
      const shifts = bytes[at + 2];
      at += 3;
      for (let l = 0; l < levels; l++) {
        let code = centre;
        if (l !== median) {
          const offset = bytes[at++];
          const side = l < median ? -1 : 1;
          const shift = l < median ? shifts % 16 : Math.floor(shifts / 16);
          const outermost = l < median ? 0 : top;
          code = offset === 255 ? outermost : Math.max(0, Math.min(top, centre + side * offset * 2 ** shift));
        }
        numbers[l][c * horizon + h] = low + unit * code;
      }
    }
  }
  return { numbers, unit: heads.map(({ unit }) => unit) };
}
