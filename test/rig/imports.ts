// Reads a TypeScript source as the architecture check needs it: its imports, its code without comments, and the
// line of a place in it. Patterns are enough here: the compiler has already accepted the file.

import { posix } from "node:path";

export interface SourceFile {
  /** From the repository's root, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

export interface Import {
  readonly specifier: string;
  /** The path of the imported file for a relative import, null for a package. */
  readonly target: string | null;
  readonly line: number;
}

// A string, which is kept, or a comment. Strings first, so that "http://…" does not begin a comment.
const stringOrComment =
  /("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)|\/\/.*|\/\*[\s\S]*?\*\//g;

/** The text with its comments blanked out and every line where it was. */
export function codeOf(text: string): string {
  return text.replace(stringOrComment, (match, string?: string) => string ?? match.replace(/[^\n]/g, " "));
}

const importForms = [
  /\b(?:import|export)\b[^;"'`()=]*?\bfrom\s*["']([^"']+)["']/g,
  /(?<=(?:^|;)\s*)import\s*["']([^"']+)["']/gm, // a statement, not the word in a string
  /\bimport\s*\(\s*["'`]([^"'`]+)["'`]/g,
];

export function importsOf(file: SourceFile): Import[] {
  const code = codeOf(file.text);
  return importForms
    .flatMap((form) => [...code.matchAll(form)])
    .sort((a, b) => a.index - b.index)
    .map((match) => {
      const specifier = match[1] as string;
      const isRelative = specifier.startsWith(".");
      const target = isRelative ? posix.join(posix.dirname(file.path), specifier) : null;
      return { specifier, target, line: lineAt(code, match.index) };
    });
}

export function lineAt(text: string, index: number): number {
  return text.slice(0, index).split("\n").length;
}
