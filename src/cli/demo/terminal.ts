// The terminal while the live view is on: an alternate screen without a cursor, given back as it was found.

import type { ScreenSize } from "./view.ts";

const enter = "\u001b[?1049h\u001b[?25l";
const leave = "\u001b[?25h\u001b[?1049l";
const home = "\u001b[H";
const clearToLineEnd = "\u001b[K";
const clearBelow = "\u001b[J";

export class Terminal {
  readonly #stream: NodeJS.WriteStream;
  readonly #redraw: () => void;

  constructor(stream: NodeJS.WriteStream, redraw: () => void) {
    this.#stream = stream;
    this.#redraw = redraw;
    stream.on("resize", redraw);
    stream.write(enter);
  }

  get size(): ScreenSize {
    return { columns: this.#stream.columns ?? 80, rows: this.#stream.rows ?? 24 };
  }

  show(lines: readonly string[]): void {
    const body = lines.map((line) => line + clearToLineEnd).join("\r\n");
    this.#stream.write(home + body + clearBelow);
  }

  close(): void {
    this.#stream.off("resize", this.#redraw);
    this.#stream.write(leave);
  }
}
