// Text with colours. A line is cut to the width first and coloured last, so that escape codes never count as characters.

/** The role of a piece of text; the palette decides how it looks. */
export type Ink = "observed" | "forecast" | "band" | "title" | "good" | "bad" | "faint";

export interface Span {
  readonly text: string;
  readonly ink?: Ink;
  /** Ink of the background. */
  readonly ground?: Ink;
}

export type Line = readonly Span[];

/** Numbers of the 256-colour palette, legible on dark and light terminals. */
const colourByInk: Readonly<Record<Ink, number>> = {
  observed: 37,
  forecast: 98,
  band: 183,
  title: 37,
  good: 35,
  bad: 167,
  faint: 245,
};

/** The text of a line, at most `width` columns wide. */
export function paint(line: Line, width: number, isColoured: boolean): string {
  let room = width;
  let painted = "";
  for (const { text, ink, ground } of line) {
    const shown = [...text].slice(0, room).join("");
    if (shown === "") continue;
    room -= [...shown].length;
    painted += isColoured ? colour(shown, ink, ground) : shown;
  }
  return painted;
}

/** The width in columns. Every character that we draw with is one column wide. */
export function widthOf(line: Line): number {
  return line.reduce((sum, { text }) => sum + [...text].length, 0);
}

function colour(text: string, ink: Ink | undefined, ground: Ink | undefined): string {
  if (ink === undefined && ground === undefined) return text;
  const codes = [
    ...(ink === "title" ? ["1"] : []),
    ...(ink === undefined ? [] : [`38;5;${colourByInk[ink]}`]),
    ...(ground === undefined ? [] : [`48;5;${colourByInk[ground]}`]),
  ];
  return `\u001b[${codes.join(";")}m${text}\u001b[0m`;
}
