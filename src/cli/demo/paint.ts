// Text with inks, and its way to the screen: cut to the width first, coloured last, so that escape codes
// never count as characters.

/** What a piece of text means; the palette decides how it looks. */
export type Ink = "observed" | "forecast" | "band" | "title" | "good" | "bad" | "faint";

export interface Span {
  readonly text: string;
  readonly ink?: Ink;
  /** Ink of the background. */
  readonly ground?: Ink;
}

export type Line = readonly Span[];

/** Numbers of the 256-colour palette, chosen to read on dark and light terminals alike. */
const colourByInk: Readonly<Record<Ink, number>> = {
  observed: 37,
  forecast: 98,
  band: 183,
  title: 37,
  good: 35,
  bad: 167,
  faint: 245,
};

/** The text of a line, no wider than asked. */
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

/** Columns a line takes. Every character the demo uses is one column wide. */
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
