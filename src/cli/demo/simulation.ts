// What the demo shows: sensors, the embedded log, the real worker, and a subscriber that reads forecasts and
// decisions back from their topics. They meet in the log alone; only the truth to hold forecasts against is told aside.

import { setTimeout as delay } from "node:timers/promises";
import { avroCodec } from "../../log/codec/avro.ts";
import { decodeForecast } from "../../log/codec/forecast-codec.ts";
import { encodeAsAvro } from "../../log/codec/observation-encoders.ts";
import type { ModelEventRecord } from "../../log/codec/schemas.generated.ts";
import type { StoredRecord } from "../../log/log.ts";
import { EmbeddedWorkers } from "../../replay/embedded-workers.ts";
import { systemClock } from "../../runtime/clock.ts";
import { loadConfig } from "../../runtime/config/load.ts";
import type { AppConfig } from "../../runtime/config/schema.ts";
import { createMetrics } from "../../runtime/metrics.ts";
import type { Worker } from "../../service/worker.ts";
import { Fleet } from "../simulated/fleet.ts";
import { stepsPerDay, wornPump } from "../simulated/sensor-kinds.ts";
import { productVersion } from "../version.ts";
import { ForecastBoard, forecastRoutes } from "./forecast-board.ts";
import { NewsFeed, type Tone } from "./news.ts";
import { backfillDays, demoHost, demoSettings, stepMs } from "./settings.ts";
import {
  createTally,
  type DemoResult,
  isSettled,
  newsLogger,
  type Sent,
  type Tally,
  tallied,
} from "./summary.ts";
import { WearScenario } from "./wear-scenario.ts";

const inputTopic = "sensors";
const partitions = 4;
/** How many readings go out at once during the back-fill. */
const portionReadings = 4_000;
/** Time for the last forecasts to come back once the sensors are silent. */
const settleMs = 3_000;
/** The sensor that the scenario is about. */
const heroIndex = 0;

const eventCodec = avroCodec("ModelEvent");
const modelCodec = avroCodec("ModelRecord");

export class Simulation {
  readonly board: ForecastBoard;
  readonly tally: Tally = createTally();
  readonly news = new NewsFeed();
  readonly scenario: WearScenario;
  readonly #startedMs = systemClock.nowMs();
  readonly #firstReadingMs = stepMs * (Math.floor(this.#startedMs / stepMs) - backfillDays * stepsPerDay);
  readonly #config: AppConfig;
  readonly #fleet: Fleet;
  // Small topics: the demo may run for days, and a back-fill waits for its readers.
  readonly #workers = new EmbeddedWorkers({
    ...{ clock: systemClock, random: Math.random, retainRecords: 20_000 },
    topics: [{ topic: inputTopic, partitions, compacted: false }],
  });
  readonly #sent: Sent = { observations: 0, malformed: 0 };
  readonly #worker: Worker;
  #deadLetters = 0;
  #isBackfilled = false;

  constructor({ series, port }: { readonly series: number; readonly port: number }) {
    this.#config = loadConfig({ argv: demoSettings(port), env: {} });
    this.#fleet = new Fleet({
      ...{ count: series, stepMs, startMs: this.#firstReadingMs, topic: inputTopic, partitions },
      ...{ encode: encodeAsAvro, sendsMalformed: true },
    });
    this.board = new ForecastBoard(this.#fleet.sensors);
    const { driftRatio } = this.#config.series;
    this.scenario = new WearScenario(this.#fleet.sensors[heroIndex].seriesId, driftRatio);
    this.#worker = this.#workers.start({
      config: this.#config,
      logger: newsLogger((text) => this.tell(text, "bad")),
      metrics: tallied(createMetrics(productVersion()), this.tally),
      routes: forecastRoutes(this.board),
    });
  }

  get address(): string {
    return `http://${demoHost}:${this.#worker.port}`;
  }

  get state(): string {
    const { isReady, reason } = this.#worker.status();
    return isReady && !this.#isBackfilled ? "reading history" : reason;
  }

  outcome(): DemoResult {
    const { board, tally, news, scenario } = this;
    const seconds = this.#secondsAt(systemClock.nowMs());
    return { seconds, sent: this.#sent, tally, deadLetters: this.#deadLetters, board, news, scenario };
  }

  tell(text: string, tone: Tone): void {
    this.news.add({ seconds: this.#secondsAt(systemClock.nowMs()), text, tone });
  }

  /** Waits until the worker is ready. */
  async start(): Promise<void> {
    while (!this.#worker.status().isReady) await Promise.race([this.#worker.done, delay(10)]);
  }

  /** Reads forecasts, decisions and dead letters off their topics; ends with the simulation, throws when it fails. */
  async subscribe(): Promise<void> {
    const { forecasts, deadLetters, events, models } = this.#config.topics;
    await Promise.all([
      this.#worker.done,
      this.#follow(forecasts, ({ value }) => {
        if (value !== null) this.board.receive(decodeForecast(value), systemClock.nowMs());
      }),
      this.#follow(deadLetters, () => this.#deadLetters++),
      this.#follow(events, ({ value }) => {
        if (value !== null) this.#hear(eventCodec.decode(value));
      }),
      this.#follow(models, ({ key, value }) => {
        if (value !== null && key?.toString() === this.scenario.seriesId)
          this.scenario.receiveModel(modelCodec.decode(value).validation.mase);
      }),
    ]);
  }

  /** Sends the history up to now, in portions and no faster than it is read. */
  async backfill(signal: AbortSignal): Promise<void> {
    const portionMs = stepMs * Math.ceil(portionReadings / this.board.size);
    for (let untilMs = this.#firstReadingMs; !signal.aborted && !this.#isBackfilled; untilMs += portionMs) {
      const nowMs = systemClock.nowMs();
      await this.#send(Math.min(untilMs, nowMs), null);
      await this.#settle(signal);
      this.#isBackfilled = untilMs >= nowMs;
    }
  }

  /** Sends what the sensors have measured by now. */
  async send(): Promise<void> {
    const nowMs = systemClock.nowMs();
    if (this.scenario.isDue) {
      this.#fleet.change(heroIndex, wornPump);
      this.tell(this.scenario.begin(this.#secondsAt(nowMs)).text, "bad");
    }
    await this.#send(nowMs, nowMs);
  }

  /** Lets the worker settle what it was sent, then stops it. */
  async stop(): Promise<void> {
    await this.#settle(AbortSignal.timeout(settleMs));
    await this.#workers.close("the demo is over");
  }

  #secondsAt(ms: number): number {
    return Math.max(0, Math.floor((ms - this.#startedMs) / 1000));
  }

  #hear(event: ModelEventRecord): void {
    const seconds = this.#secondsAt(event.time);
    this.news.receive(event, seconds);
    const step = this.scenario.receive(event, seconds);
    // The decisions themselves report the steps before.
    if (step?.kind === "recovered") this.news.add({ ...step, tone: "good" });
  }

  async #send(untilMs: number, sentMs: number | null): Promise<void> {
    const transmissions = this.#fleet.advanceTo(untilMs);
    for (const { reading } of transmissions) {
      if (reading === null) {
        this.#sent.malformed++;
      } else {
        this.#sent.observations++;
        this.board.expect(reading, sentMs);
      }
    }
    await this.#workers.log.append(transmissions.map(({ record }) => record));
  }

  /** Resolves once all that was sent has been counted and read back, or the signal fires. */
  async #settle(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !isSettled(this.outcome())) await delay(2);
  }

  async #follow(topic: string, read: (record: StoredRecord) => void): Promise<void> {
    // The log is closed after the worker, which ends the reading.
    const never = new AbortController().signal;
    for await (const { records } of this.#workers.log.follow(topic, "earliest", never)) records.forEach(read);
  }
}
