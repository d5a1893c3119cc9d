// Measures how good few sample paths are: trained ForecastNet models on the test parts of real series, with a few paths against so many
// that more change nothing.

import { join } from "node:path";
import { openInProcessEngine } from "../../src/engine/in-process-engine.ts";
import { createFamilies, type Families } from "../../src/models/families.ts";
import type { Distribution, Model } from "../../src/models/family.ts";
import { projectRoot } from "../../test/rig/project.ts";
import { trainOn } from "../accuracy/forecasters.ts";
import { histories, originsOf, pastOf } from "../accuracy/protocol.ts";
import { readSamples, type SampleSeries } from "../accuracy/sample-series.ts";
import { quantile, type Section } from "../rig/report.ts";
import { levels } from "./engine-questions.ts";

const manyPaths = 4_096;
const pathCounts = [16, 24, 32, 48, 64, 100];
const mostOrigins = 12;
const [tenth, ninetieth] = [levels.indexOf(0.1), levels.indexOf(0.9)];

/** What was found with one number of paths. */
interface Findings {
  /** Errors of quantiles, in widths of the 80 % interval. */
  readonly quantiles: number[];
  /** Relative errors of deviations. */
  readonly deviations: number[];
  /** Relative change of the mean pinball loss, one number per series. */
  readonly losses: number[];
  /** Change of the coverage of the 80 % interval, one number per series. */
  readonly coverages: number[];
}

export async function measurePaths({ isQuick }: { readonly isQuick: boolean }): Promise<Section> {
  const engine = await openInProcessEngine({ kind: "simd" });
  const families = createFamilies(engine);
  const folders = isQuick ? ["samples"] : ["samples", "samples/more"];
  const all = folders.flatMap((folder) => readSamples(join(projectRoot, folder), null));
  const rows: string[][] = [];
  for (const [title, members] of [
    ["one net", 1],
    ["up to four nets", 4],
  ] as const) {
    const findings = pathCounts.map(
      (): Findings => ({ quantiles: [], deviations: [], losses: [], coverages: [] }),
    );
    for (const series of all) {
      const recipe = { name: title, family: "forecastnet", effort: "normal", members } as const;
      const trained = await trainOn(families, pastOf(series, histories[0]), recipe, series);
      if (trained !== null) await compare(families, trained.model, series, findings);
    }
    rows.push(...pathCounts.map((paths, i) => [`${title}, ${paths} paths`, ...rowOf(findings[i])]));
  }
  await engine.close();
  return {
    title: "How good few sample paths are",
    method:
      `ForecastNet models of ${all.length} series of samples, trained with normal effort on the default history, asked at up to ${mostOrigins} origins of each test part, with a few paths and with ` +
      `${manyPaths.toLocaleString("en")}. Errors are those of the ${levels.length} quantiles, in widths of the 80 % interval, over all series, origins, steps and levels; and of the deviation, relative. ` +
      "The mean pinball loss and the coverage of the 80 % interval are compared per series: the mean of all series, and the largest change of one.",
    columns: [
      "",
      "quantiles: median",
      "99 %",
      "deviation: median",
      "pinball loss: mean",
      "largest",
      "coverage: largest",
    ],
    rows,
  };
}

async function compare(
  families: Families,
  model: Model,
  { values, season, horizon, ...series }: SampleSeries,
  findings: readonly Findings[],
): Promise<void> {
  const { inputSteps } = families.of(model).shapeOf(model);
  const every = originsOf({ values, season, horizon, ...series });
  const stride = Math.ceil(every.length / mostOrigins);
  const origins = every.filter((_, i) => i % stride === 0);
  const tasks = origins.map((origin) => ({
    model,
    input: {
      values: values.slice(origin - inputSteps, origin),
      channels: 1,
      originStep: origin - 1,
      settings: { horizon, season },
      seasonalErrors: null,
    },
  }));
  const ask = async (paths: number): Promise<readonly Distribution[]> =>
    (await families.forecast(tasks, { paths, levels })).map((answer) => {
      if (answer instanceof Error) throw answer;
      return answer;
    });
  const truths = origins.map((origin) => values.subarray(origin, origin + horizon));
  const exact = await ask(manyPaths);
  const expected = scoresOf(exact, truths);
  for (const [i, paths] of pathCounts.entries()) {
    const found = await ask(paths);
    found.forEach((one, k) => {
      addErrors(findings[i], one, exact[k]);
    });
    const { loss, coverage } = scoresOf(found, truths);
    findings[i].losses.push(loss / expected.loss - 1);
    findings[i].coverages.push(coverage - expected.coverage);
  }
}

function addErrors({ quantiles, deviations }: Findings, found: Distribution, exact: Distribution): void {
  for (let h = 0; h < exact.mean.length; h++) {
    const width = exact.quantiles[ninetieth][h] - exact.quantiles[tenth][h];
    if (!(width > 0)) continue;
    for (let l = 0; l < levels.length; l++)
      quantiles.push(Math.abs(found.quantiles[l][h] - exact.quantiles[l][h]) / width);
    deviations.push(Math.abs(found.standardDeviation[h] / exact.standardDeviation[h] - 1));
  }
}

function scoresOf(forecasts: readonly Distribution[], truths: readonly Float64Array[]) {
  let loss = 0;
  let inside = 0;
  let count = 0;
  for (const [i, { quantiles }] of forecasts.entries()) {
    for (const [h, truth] of truths[i].entries()) {
      for (let l = 0; l < levels.length; l++) {
        const miss = truth - quantiles[l][h];
        loss += miss >= 0 ? levels[l] * miss : (levels[l] - 1) * miss;
      }
      if (truth >= quantiles[tenth][h] && truth <= quantiles[ninetieth][h]) inside++;
      count++;
    }
  }
  return { loss: loss / count, coverage: inside / count };
}

function rowOf({ quantiles, deviations, losses, coverages }: Findings): readonly string[] {
  const percent = (share: number, digits: number) => `${(100 * share).toFixed(digits)} %`;
  const mean = losses.reduce((sum, loss) => sum + loss, 0) / losses.length;
  return [
    percent(quantile(quantiles, 0.5), 2),
    percent(quantile(quantiles, 0.99), 1),
    percent(quantile(deviations, 0.5), 2),
    percent(mean, 2),
    percent(largest(losses), 2),
    `${(100 * largest(coverages)).toFixed(1)} points`,
  ];
}

function largest(changes: readonly number[]): number {
  return changes.reduce((most, change) => (Math.abs(change) > Math.abs(most) ? change : most), 0);
}
