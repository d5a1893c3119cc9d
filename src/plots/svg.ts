// SVG as text: elements, paths and the look that all plots share. Colours follow the reader's light or dark scheme, and print.

type Attributes = Readonly<Record<string, string | number>>;

export function element(name: string, attributes: Attributes, ...content: readonly string[]): string {
  const given = Object.entries(attributes).map(([key, value]) => ` ${key}="${escapeText(numberOr(value))}"`);
  return content.length === 0
    ? `<${name}${given.join("")}/>`
    : `<${name}${given.join("")}>${content.join("")}</${name}>`;
}

export function escapeText(text: string): string {
  return (
    text
      .replaceAll("&", "&amp;")
      .replaceAll("<", "&lt;")
      .replaceAll(">", "&gt;")
      .replaceAll('"', "&quot;")
      // XML has no place for other control characters.
      .replace(/[^\P{Cc}\t\n\r]|[\ufffe\uffff]/gu, "\ufffd")
  );
}

/** A tenth of a pixel is as fine as anybody sees. */
function numberOr(value: string | number): string {
  return typeof value === "string" ? value : String(Math.round(value * 10) / 10);
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** Lines through the points, interrupted where a coordinate is not finite. */
export function linePath(points: readonly Point[]): string {
  let path = "";
  let isOpen = false;
  for (const { x, y } of points) {
    const isKnown = Number.isFinite(x) && Number.isFinite(y);
    if (isKnown) path += `${isOpen ? "L" : "M"}${numberOr(x)} ${numberOr(y)}`;
    isOpen = isKnown;
  }
  return path;
}

/** The area between two lines. */
export function bandPath(upper: readonly Point[], lower: readonly Point[]): string {
  const outline = linePath([...upper, ...lower.toReversed()]);
  return outline === "" ? "" : `${outline}Z`;
}

/** Told apart by people with any kind of colour vision, on light and dark ground (Okabe and Ito). */
const seriesColours = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];

/** The class of the n-th thing that is compared. */
export function colourClass(n: number): string {
  return `s${n % seriesColours.length}`;
}

/** Classes of everything that is drawn. */
export const plotStyle = `
.plot { font: 12px system-ui, sans-serif; --ink: #1f2937; --faint: #6b7280; --rule: #e5e7eb; --ground: #ffffff; --observed: #1f2937; --forecast: #6d28d9; }
@media (prefers-color-scheme: dark) {
  .plot { --ink: #e5e7eb; --faint: #9ca3af; --rule: #374151; --ground: #111827; --observed: #e5e7eb; --forecast: #a78bfa; }
}
@media print {
  .plot { --ink: #000000; --faint: #444444; --rule: #cccccc; --ground: #ffffff; --observed: #000000; --forecast: #6d28d9; }
}
.plot .ground { fill: var(--ground); }
.plot .title { fill: var(--ink); font-weight: 600; font-size: 14px; }
.plot .note, .plot .tick { fill: var(--faint); }
.plot .rule { stroke: var(--rule); fill: none; }
.plot .now { stroke: var(--faint); stroke-dasharray: 3 3; fill: none; }
.plot .observed { stroke: var(--observed); stroke-width: 1.5; stroke-linejoin: round; fill: none; }
.plot .median { stroke: var(--forecast); stroke-width: 2; stroke-linejoin: round; fill: none; }
.plot .band { fill: var(--forecast); fill-opacity: 0.18; stroke: none; }
.plot .line { stroke-width: 2; stroke-linejoin: round; fill: none; }
.plot .box { stroke-width: 1.5; fill-opacity: 0.25; }
${seriesColours.map((colour, i) => `.plot .line.s${i}, .plot .box.s${i} { stroke: ${colour}; }\n.plot .dot.s${i}, .plot .box.s${i} { fill: ${colour}; }`).join("\n")}
`.trim();

/** A drawing that stands alone. `name` is read out in its place. */
export function svgDocument(
  size: { readonly width: number; readonly height: number },
  name: string,
  content: string,
): string {
  const { width, height } = size;
  return element(
    "svg",
    {
      xmlns: "http://www.w3.org/2000/svg",
      class: "plot",
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: "img",
      "aria-label": name,
    },
    element("style", {}, plotStyle),
    element("rect", { class: "ground", width, height }),
    content,
  );
}
