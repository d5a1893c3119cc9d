// A Dockerfile as a list of instructions, for tests that ask what an image is like without building it.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { projectRoot } from "./project.ts";

export interface Instruction {
  /** In capitals: FROM, RUN, COPY. */
  readonly word: string;
  /** What follows, on one line. */
  readonly rest: string;
}

export function readDockerfile(path: string): readonly Instruction[] {
  const text = readFileSync(join(projectRoot, path), "utf8");
  return text
    .split("\n")
    .filter((line) => !line.trimStart().startsWith("#"))
    .join("\n")
    .replaceAll(/\\\n\s*/g, " ")
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => {
      const [, word = "", rest = ""] = /^(\w+)\s+(.*)$/.exec(line) ?? [];
      return { word, rest };
    });
}

/** The instructions of the last stage, which makes the image. */
export function lastStage(instructions: readonly Instruction[]): readonly Instruction[] {
  return instructions.slice(instructions.map(({ word }) => word).lastIndexOf("FROM"));
}

export function restOf(instructions: readonly Instruction[], word: string): readonly string[] {
  return instructions.filter((instruction) => instruction.word === word).map(({ rest }) => rest);
}
