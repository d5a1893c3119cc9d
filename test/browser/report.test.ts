// The report of a backtest in a real browser: every chart is drawn, light and dark, nothing is fetched, nothing is complained about,
// and nobody is locked out.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import type { Browser } from "playwright-core";
import { runBacktestCommand } from "../../src/cli/backtest/backtest.ts";
import { inkOf, needsChromium, openChromium, openPage, seriousFindings } from "../rig/chromium.ts";
import { projectRoot } from "../rig/project.ts";

/** Of all pixels of a chart: less would be axes without anything on them. */
const leastInk = 0.01;

describe("the report in a browser", needsChromium(), () => {
  const folder = mkdtempSync(join(tmpdir(), "report-"));
  const path = join(folder, "report.html");
  let browser: Browser;

  before(async () => {
    const io = { out: () => undefined, err: () => undefined, env: {} };
    const samples = ["lake", "river"].map((name) => join(projectRoot, "samples", `${name}.csv`));
    const flags = ["--systems=linear,cold", "--test=0.2", "--series.horizon=6", `--report=${path}`];
    assert.equal(await runBacktestCommand([...samples, ...flags], io), 0);
    browser = await openChromium();
  });
  after(async () => {
    await browser.close();
    rmSync(folder, { recursive: true });
  });

  for (const colorScheme of ["light", "dark"] as const) {
    test(`draws every chart where the scheme is ${colorScheme}`, async () => {
      const { page, complaints, requests } = await openPage(browser, pathToFileURL(path).href, {
        colorScheme,
      });
      const charts = await page.locator("svg").all();
      assert.equal(charts.length, 6);
      for (const chart of charts) {
        const ink = await inkOf(chart);
        assert.ok(
          ink > leastInk,
          `${await chart.getAttribute("aria-label")}: ${ink} of its pixels are drawn`,
        );
      }
      assert.deepEqual(complaints, []);
      assert.deepEqual(requests, []);
      assert.deepEqual(await seriousFindings(page), []);
    });
  }

  test("fits a phone", async () => {
    const { page } = await openPage(browser, pathToFileURL(path).href, {
      viewport: { width: 380, height: 800 },
    });
    const width = await page.evaluate("document.documentElement.scrollWidth");
    assert.ok(Number(width) <= 380, `the page is ${width} pixels wide`);
  });
});
