// Drives trainers of the product, each with a scripted ModelTrainer, on one embedded log with a clock moved by hand.

import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { avroCodec } from "../../../src/log/codec/avro.ts";
import { readModelKey } from "../../../src/log/codec/model-keys.ts";
import { fromDeadLetterHeaders } from "../../../src/log/dead-letter.ts";
import type { StoredRecord } from "../../../src/log/log.ts";
import { createMemoryLog, type MemoryLog } from "../../../src/log/memory-log.ts";
import { trainerTopics } from "../../../src/log/topic-check.ts";
import { storedFamilies } from "../../../src/models/families.ts";
import { ManualClock } from "../../../src/replay/manual-clock.ts";
import { loadConfig } from "../../../src/runtime/config/load.ts";
import { silentLogger } from "../../../src/runtime/logging.ts";
import type { Metrics } from "../../../src/runtime/metric-groups.ts";
import { createMetrics } from "../../../src/runtime/metrics.ts";
import { createRandom } from "../../../src/runtime/random.ts";
import { largestRecords } from "../../../src/service/pipeline-parts.ts";
import { Trainer } from "../../../src/service/trainer.ts";
import { decodeOutcome, type ReceivedOutcome } from "../../../src/training/outcome-codec.ts";
import { encodeRequest } from "../../../src/training/request-codec.ts";
import { trainingTask } from "../../rig/training-task.ts";
import { Connection } from "./connection.ts";
import { type Script, ScriptedTrainer, succeed } from "./scripted-trainer.ts";
import { turns } from "./turns.ts";

const attemptCodec = avroCodec("TrainingAttempt");

export interface TrainerFleetOptions {
  readonly partitions?: number;
  readonly attempts?: number;
  readonly metrics?: Metrics;
}

export interface Member {
  readonly trainer: Trainer;
  readonly connection: Connection;
  readonly scripted: ScriptedTrainer;
}

export interface PlacedOutcome extends ReceivedOutcome {
  readonly partition: number;
}

export class TrainerFleet {
  readonly clock = new ManualClock(Date.UTC(2024, 5, 1));
  readonly log: MemoryLog = createMemoryLog({ clock: this.clock, revokeMs: 0 });
  readonly metrics: Metrics;
  readonly partitions: number;
  readonly #members: Member[] = [];
  readonly #attempts: number;

  private constructor({
    partitions = 1,
    attempts = 3,
    metrics = createMetrics("test"),
  }: TrainerFleetOptions) {
    this.partitions = partitions;
    this.metrics = metrics;
    this.#attempts = attempts;
  }

  /** The topics, as a worker creates them, and no trainer yet. */
  static async open(options: TrainerFleetOptions = {}): Promise<TrainerFleet> {
    const fleet = new TrainerFleet(options);
    const config = loadConfig({ argv: [], env: {} });
    const { deadLetter } = largestRecords(config);
    await fleet.log.createTopics(trainerTopics(config.topics, fleet.partitions, deadLetter));
    return fleet;
  }

  static async openFor(t: TestContext, options: TrainerFleetOptions = {}): Promise<TrainerFleet> {
    const fleet = await TrainerFleet.open(options);
    t.after(() => fleet.close());
    return fleet;
  }

  start(script: Script = succeed): Member {
    const connection = new Connection(this.log);
    const scripted = new ScriptedTrainer(script);
    const argv = [
      ...["--worker.host=127.0.0.1", "--worker.port=0", "--worker.graceMs=1000"],
      `--retrain.attempts=${this.#attempts}`,
    ];
    const trainer = new Trainer({
      config: loadConfig({ argv, env: {} }),
      openLog: async () => connection,
      openTrainer: async () => scripted,
      clock: this.clock,
      random: createRandom(1).uniform,
      logger: silentLogger,
      metrics: this.metrics,
    });
    const member = { trainer, connection, scripted };
    this.#members.push(member);
    return member;
  }

  /** Requests a model for each key, in one write. */
  async ask(partition: number, ...modelKeys: readonly string[]): Promise<void> {
    await this.write(
      partition,
      modelKeys.map((modelKey) => encodeRequest(trainingTask({ modelKey }))),
    );
  }

  async write(partition: number, values: readonly (Buffer | null)[]): Promise<void> {
    const place = { topic: "forecastnet.training", partition, key: null };
    await this.log.append(values.map((value) => ({ ...place, value })));
  }

  async outcomes(): Promise<PlacedOutcome[]> {
    return (await this.#read("forecastnet.models")).map(({ partition, record }) => {
      const outcome = decodeOutcome(record.value as Buffer, storedFamilies);
      const { modelKey } = outcome;
      assert.deepEqual(readModelKey(String(record.key)), { modelKey, part: "outcome" });
      return { ...outcome, partition };
    });
  }

  async deadLetters() {
    const letters = await this.#read("forecastnet.dead-letters");
    return letters.map(({ record }) => ({ value: record.value, ...fromDeadLetterHeaders(record.headers) }));
  }

  /** By request; requests that were answered are not among them. */
  async attempts(): Promise<Readonly<Record<string, number>>> {
    const newest = new Map<string, number>();
    for (const { record } of await this.#read("forecastnet.attempts")) {
      if (record.value === null) newest.delete(String(record.key));
      else newest.set(String(record.key), attemptCodec.decode(record.value).attempts);
    }
    return Object.fromEntries(newest);
  }

  /** Waits until there are this many outcomes on the models topic. The clock moves by `tickMs` between two looks. */
  async untilAnswered(count: number, tickMs = 0): Promise<PlacedOutcome[]> {
    const deadlineMs = performance.now() + 30_000;
    for (;;) {
      const found = await this.outcomes();
      if (found.length >= count) return found;
      assert.ok(performance.now() < deadlineMs, `waited 30 s for ${count} outcomes, which did not arrive`);
      this.clock.moveBy(tickMs);
    }
  }

  /** Stops a trainer as asked, and lets time pass until it has stopped. */
  async stop({ trainer }: Member): Promise<void> {
    trainer.stop("the test says so");
    let isOver = false;
    const end = () => {
      isOver = true;
    };
    trainer.done.then(end, end);
    while (!isOver) {
      await turns(1);
      this.clock.moveBy(10);
    }
    await trainer.done;
  }

  async crash({ trainer, connection }: Member): Promise<void> {
    await connection.cut();
    trainer.stop("the test says so");
    await Promise.allSettled([trainer.done]);
  }

  async close(): Promise<void> {
    this.log.setOutage(null);
    for (const member of this.#members) await this.crash(member);
    await this.log.close();
  }

  async #read(topic: string): Promise<{ partition: number; record: StoredRecord }[]> {
    const found: { partition: number; record: StoredRecord }[] = [];
    for await (const { partition, records } of this.log.read(topic, new AbortController().signal)) {
      for (const record of records) found.push({ partition, record });
    }
    return found;
  }
}
