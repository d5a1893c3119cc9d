// The program of a pass over rows of a set: forward and, where derivatives are wanted, back again.

import type { NetPlan } from "../../models/forecastnet/plan.ts";
import { writeBackward } from "./backward-program.ts";
import { ForwardCompiler, type Pass, type Places } from "./forward-program.ts";
import type { ProgramWriter } from "./program.ts";

export interface TrainingProgram extends Places {
  readonly writer: ProgramWriter;
  readonly maxLanes: number;
}

/** More rows than this go through in several runs: beyond it, nothing is gained and caches overflow. */
const MAX_BLOCKS = 8;
const MAX_TRACE_BYTES = 12 * 2 ** 20;

export function writeTrainingProgram(plan: NetPlan, pass: Pass): TrainingProgram {
  const one = compile(plan, pass, 1);
  const fitting = Math.floor(MAX_TRACE_BYTES / one.writer.size);
  const blocks = Math.min(MAX_BLOCKS, Math.max(1, fitting));
  return blocks === 1 ? one : compile(plan, pass, blocks);
}

function compile(plan: NetPlan, pass: Pass, maxBlocks: number): TrainingProgram {
  const forward = new ForwardCompiler(plan, pass, maxBlocks);
  const traces = forward.compile();
  if (pass.gradient) writeBackward(forward, traces);
  return { ...forward.places, writer: forward.writer, maxLanes: maxBlocks * 8 };
}
