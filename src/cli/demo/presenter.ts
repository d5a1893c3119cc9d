// Shows the simulation: on a terminal a screen redrawn in place, elsewhere plain lines now and then.

import { systemClock } from "../../runtime/clock.ts";
import type { CommandIo } from "../command.ts";
import { newsLine, plainLines, plainSteps } from "./plain-view.ts";
import { Rate } from "./rate.ts";
import { horizon } from "./settings.ts";
import type { Simulation } from "./simulation.ts";
import { total } from "./tally.ts";
import { Terminal } from "./terminal.ts";
import { type DemoModel, mostNews, screenLines, seriesThatFit } from "./view.ts";

export interface Presenter {
  readonly everyMs: number;
  show(): void;
  close(): void;
}

const plainSeries = 4;

export function presentPlainly(simulation: Simulation, io: CommandIo): Presenter {
  const model = createModeler(simulation);
  const { address, newsroom } = simulation;
  io.out(`forecastnet demo: ${newsroom.latest(1).map(({ text }) => text)}`);
  let { told } = newsroom;
  io.out(`forecasts at ${address}/forecasts, metrics at ${address}/metrics; Ctrl-C stops`);
  return {
    everyMs: 2_000,
    show: () => {
      if (simulation.board.forecasts === 0) return;
      for (const item of newsroom.since(told)) io.out(newsLine(item));
      told = newsroom.told;
      for (const line of plainLines(model(plainSeries, plainSteps))) io.out(line);
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
  const { board, tally, newsroom, story } = simulation;
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
      stale: newsroom.stale,
      headline: story.chapters.at(-1)?.text ?? null,
      news: newsroom.latest(mostNews),
      series: board.views(series, steps),
    };
  };
}
