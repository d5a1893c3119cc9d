// Shows the simulation: on a terminal a screen that is redrawn in place, elsewhere plain lines at intervals.

import { systemClock } from "../../runtime/clock.ts";
import type { CommandIo } from "../command.ts";
import { horizon } from "./settings.ts";
import type { Simulation } from "./simulation.ts";
import { total } from "./summary.ts";
import {
  type DemoModel,
  mostNews,
  newsLine,
  plainLines,
  plainSteps,
  type ScreenSize,
  screenLines,
  seriesThatFit,
} from "./view.ts";

export interface Presenter {
  readonly everyMs: number;
  show(): void;
  close(): void;
}

const plainSeriesCount = 4;

export function presentPlainly(simulation: Simulation, io: CommandIo): Presenter {
  const model = createModeler(simulation);
  const { address, news } = simulation;
  io.out(`forecastnet demo: ${news.latest(1).map(({ text }) => text)}`);
  let { added } = news;
  io.out(`forecasts at ${address}/forecasts, metrics at ${address}/metrics; Ctrl-C stops`);
  return {
    everyMs: 2_000,
    show: () => {
      if (simulation.board.forecasts === 0) return;
      for (const item of news.since(added)) io.out(newsLine(item));
      added = news.added;
      for (const line of plainLines(model(plainSeriesCount, plainSteps))) io.out(line);
    },
    close: () => {},
  };
}

export function presentOnTerminal(
  simulation: Simulation,
  stream: NodeJS.WriteStream,
  isColoured: boolean,
): Presenter {
  const model = createModeler(simulation);
  const show = () => {
    const { size } = terminal;
    terminal.show(screenLines(model(seriesThatFit(size), size.columns), size, isColoured));
  };
  const terminal = new Terminal(stream, show);
  return { everyMs: 250, show, close: () => terminal.close() };
}

function createModeler(simulation: Simulation): (series: number, steps: number) => DemoModel {
  const { board, tally, news, scenario } = simulation;
  const observationRate = new Rate();
  const forecastRate = new Rate();
  return (series, steps) => {
    const { seconds, deadLetters } = simulation.outcome();
    const nowMs = systemClock.nowMs();
    return {
      state: simulation.state,
      seriesCount: board.size,
      elapsedSeconds: seconds,
      observationsPerSecond: observationRate.update(nowMs, total(tally.observationsByOutcome)),
      forecastsPerSecond: forecastRate.update(nowMs, board.forecasts),
      latency: board.latency(),
      deadLetters,
      coverage: board.coverage,
      horizon,
      address: simulation.address,
      modelled: board.modelled,
      stale: news.stale,
      headline: scenario.steps.at(-1)?.text ?? null,
      news: news.latest(mostNews),
      series: board.views(series, steps),
    };
  };
}

/** The growth of a counter over the last few seconds. */
class Rate {
  static readonly spanMs = 3_000;
  readonly #samples: { readonly timeMs: number; readonly count: number }[] = [];

  /** Adds a sample. Returns the growth per second. */
  update(timeMs: number, count: number): number {
    this.#samples.push({ timeMs, count });
    while (this.#samples.length > 2 && timeMs - this.#samples[1].timeMs >= Rate.spanMs) this.#samples.shift();
    const [oldest] = this.#samples;
    return timeMs === oldest.timeMs ? 0 : ((count - oldest.count) * 1000) / (timeMs - oldest.timeMs);
  }
}

const enter = "\u001b[?1049h\u001b[?25l";
const leave = "\u001b[?25h\u001b[?1049l";
const home = "\u001b[H";
const clearToLineEnd = "\u001b[K";
const clearBelow = "\u001b[J";

/** Uses the alternate screen without a cursor; `close` restores the terminal. */
class Terminal {
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
