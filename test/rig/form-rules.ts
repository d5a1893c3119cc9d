// The house style that a pattern can check in one file: size, names, exports, the comment at the top.

import type { Rule } from "./direction-rules.ts";
import { codeOf, lineAt } from "./imports.ts";

const longestFile = 400;

export const filesAreShort: Rule = (files) =>
  files.flatMap(({ path, text }) => {
    const lines = text.trimEnd().split("\n").length;
    if (lines <= longestFile) return [];
    return [`${path}:${longestFile + 1}: the file has ${lines} lines; split it before ${longestFile}`];
  });

const emptyNames = new Set(["util", "utils", "helper", "helpers", "common", "manager", "impl", "misc"]);

export const filesAreNamedForOneThing: Rule = (files) =>
  files.flatMap(({ path }) => {
    const fileName = path.split("/").at(-1) as string;
    if (!/^[a-z0-9]+(-[a-z0-9]+)*(\.test|\.generated)?\.ts$/.test(fileName)) {
      return [`${path}:1: file names are kebab-case`];
    }
    const word = path.split(/[/.-]/).find((part) => emptyNames.has(part));
    return word === undefined
      ? []
      : [`${path}:1: "${word}" says nothing; name the file for the one thing it does`];
  });

export const noDefaultExports: Rule = (files) =>
  files.flatMap(({ path, text }) => {
    const code = codeOf(text);
    return [...code.matchAll(/\bexport\s+default\b|\bexport\s*\{[^}]*\bas\s+default\b/g)].map(
      (match) => `${path}:${lineAt(code, match.index)}: default export; export it by name`,
    );
  });

const reExport = /\bexport\s+(?:type\s+)?(?:\*(?:\s+as\s+\w+)?|\{[^}]*\})\s*(?:from\s*["'][^"']+["'])?\s*;?/g;
const plainImport = /\bimport\b[^;"'`()=]*?\bfrom\s*["'][^"']+["']\s*;?/g;

export const noBarrels: Rule = (files) =>
  files.flatMap(({ path, text }) => {
    const code = codeOf(text);
    const isBarrel =
      code.search(reExport) >= 0 && code.replace(reExport, "").replace(plainImport, "").trim() === "";
    return isBarrel
      ? [`${path}:1: only passes on the exports of others; import from where a thing is made`]
      : [];
  });

export const filesBeginWithTheirDuty: Rule = (files) =>
  files.flatMap(({ path, text }) =>
    /^(#!.*\n)?(\/\/ |\/\*)/.test(text) ? [] : [`${path}:1: begins without a comment that gives its duty`],
  );
