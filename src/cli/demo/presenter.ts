// Shows the simulation: on a terminal a screen redrawn in place, elsewhere plain lines now and then.

import { systemClock } from "../../runtime/clock.ts";
import type { CommandIo } from "../command.ts";
import { plainLines, plainSteps } from "./plain-view.ts";
import { Rate } from "./rate.ts";
import { horizon, type Simulation } from "./simulation.ts";
import { total } from "./tally.ts";
import { Terminal } from "./terminal.ts";
import { type DemoModel, screenLines, seriesThatFit } from "./view.ts";

export interface Presenter {
  readonly everyMs: number;
  show(): void;
  close(): void;
}

const plainSeries = 4;

export function presentPlainly(simulation: Simulation, io: CommandIo): Presenter {
  const model = createModeler(simulation);
  const { address, tally } = simulation;
  io.out(`forecastnet demo: ${tally.news}`);
  io.out(`forecasts at ${address}/forecasts, metrics at ${address}/metrics; Ctrl-C stops`);
  return {
    everyMs: 2_000,
    show: () => {
      if (simulation.board.forecasts === 0) return;
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
  const { board, tally } = simulation;
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
      news: tally.news,
      series: board.views(series, steps),
    };
  };
}
