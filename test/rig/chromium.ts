// A real Chromium for tests of what people look at: found on the PATH, installed in CI and for root, and otherwise the reason for a
// loud skip. A page opened here records what it complains about and what it asks the network for.

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type Browser, type BrowserContextOptions, chromium, type Locator, type Page } from "playwright-core";
import { installPackages } from "./apt-packages.ts";
import { isCi } from "./ci.ts";

const names = ["chromium", "chromium-browser", "google-chrome"];
const flags = [
  ...["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"],
  ...["--disable-background-networking", "--disable-component-update"],
];

export interface NeedsChromium {
  readonly skip: string | false;
}

/** Skips where Chromium is not to be had; in CI, where no test may be skipped, it throws instead. */
export function needsChromium(): NeedsChromium {
  const missing = find() === null ? advice : null;
  if (missing !== null && isCi) throw new Error(missing);
  return { skip: missing ?? false };
}

const advice = "Chromium not found: for example apt-get install chromium";

/** Null when Chromium is there, after installing it where that may be done; otherwise what to install. */
export async function missingChromium(): Promise<string | null> {
  if (find() === null) installPackages(["chromium"]);
  return find() === null ? advice : null;
}

function find(): string | null {
  return names.find((name) => spawnSync(name, ["--version"]).status === 0) ?? null;
}

export async function openChromium(): Promise<Browser> {
  const name = find();
  if (name === null) throw new Error(advice);
  const executablePath = spawnSync("which", [name], { encoding: "utf8" }).stdout.trim();
  return chromium.launch({ executablePath, args: flags });
}

/** A page and what it has done. */
export interface WatchedPage {
  readonly page: Page;
  /** Errors and warnings of its console, and exceptions. */
  readonly complaints: readonly string[];
  /** Everything that it fetched but itself. */
  readonly requests: readonly string[];
}

export async function openPage(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<WatchedPage> {
  const page = await (await browser.newContext(options)).newPage();
  const complaints: string[] = [];
  const requests: string[] = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("request", (request) => {
    if (request.url() !== url) requests.push(request.url());
  });
  await page.goto(url);
  return { page, complaints, requests };
}

interface AxeFinding {
  readonly id: string;
  readonly impact: string | null;
  readonly nodes: readonly { readonly html: string }[];
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What axe-core finds serious or critical, one line each. */
export async function seriousFindings(page: Page): Promise<readonly string[]> {
  await page.evaluate(axeSource);
  const found = (await page.evaluate(
    "axe.run().then(({ violations }) => violations)",
  )) as readonly AxeFinding[];
  return found
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(" | ")}`);
}

// As text, because it runs in the page, whose types are not those of Node.
const inkScript = (png: string) => `(async () => {
  const image = new Image();
  image.src = "data:image/png;base64,${png}";
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = image.width;
  canvas.height = image.height;
  const context = canvas.getContext("2d");
  context.drawImage(image, 0, 0);
  const pixels = new Uint32Array(context.getImageData(0, 0, image.width, image.height).data.buffer);
  return pixels.filter((pixel) => pixel !== pixels[0]).length / pixels.length;
})()`;

/** Share of the pixels of an element that differ from its first one. */
export async function inkOf(element: Locator): Promise<number> {
  const png = (await element.screenshot()).toString("base64");
  return (await element.page().evaluate(inkScript(png))) as number;
}
