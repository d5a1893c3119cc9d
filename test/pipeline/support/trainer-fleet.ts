// Drives true trainers, each with a scripted ModelTrainer, on one embedded log.

import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { avroCodec } from "../../../src/log/codec/avro.ts";
import { fromDeadLetterHeaders } from "../../../src/log/codec/dead-letter.ts";
import type { StoredRecord } from "../../../src/log/log.ts";
import { createMemoryLog, type MemoryLog } from "../../../src/log/memory-log.ts";
import { trainerTopics } from "../../../src/log/own-topics.ts";
import { readModelKey } from "../../../src/retrain/requests/model-keys.ts";
import { decodeOutcome, type ReceivedOutcome } from "../../../src/retrain/requests/outcome-codec.ts";
import { encodeRequest } from "../../../src/retrain/requests/request-codec.ts";
import { loadConfig } from "../../../src/runtime/config/load.ts";
import { silentLogger } from "../../../src/runtime/logging.ts";
import type { Metrics } from "../../../src/runtime/metric-groups.ts";
import { createMetrics } from "../../../src/runtime/metrics.ts";
import { Trainer } from "../../../src/trainer.ts";
import { trainingTask } from "../../rig/training-task.ts";
import { Connection } from "./connection.ts";
import { type Script, ScriptedTrainer, succeed } from "./scripted-trainer.ts";
import { until } from "./turns.ts";

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
  readonly log: MemoryLog = createMemoryLog({ revokeMs: 5 });
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

  /** The topics, as a worker makes them, and no trainer yet. */
  static async open(options: TrainerFleetOptions = {}): Promise<TrainerFleet> {
    const fleet = new TrainerFleet(options);
    const { topics } = loadConfig({ argv: [], env: {} });
    await fleet.log.createTopics(trainerTopics(topics, fleet.partitions));
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
      clock: { nowMs: () => Date.UTC(2024, 5, 1) },
      logger: silentLogger,
      metrics: this.metrics,
    });
    const member = { trainer, connection, scripted };
    this.#members.push(member);
    return member;
  }

  /** Asks for a model of each key, all in one go. */
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
      const outcome = decodeOutcome(record.value as Buffer);
      const { modelKey } = outcome;
      assert.deepEqual(readModelKey(String(record.key)), { modelKey, part: "outcome" });
      return { ...outcome, partition };
    });
  }

  async deadLetters() {
    const letters = await this.#read("forecastnet.dead-letters");
    return letters.map(({ record }) => ({ value: record.value, ...fromDeadLetterHeaders(record.headers) }));
  }

  /** By request; those that are over and done with are not among them. */
  async attempts(): Promise<Readonly<Record<string, number>>> {
    const newest = new Map<string, number>();
    for (const { record } of await this.#read("forecastnet.attempts")) {
      if (record.value === null) newest.delete(String(record.key));
      else newest.set(String(record.key), attemptCodec.decode(record.value).attempts);
    }
    return Object.fromEntries(newest);
  }

  /** Waits until so many outcomes lie on the models topic, then for everybody to be idle. */
  async untilAnswered(count: number): Promise<PlacedOutcome[]> {
    let found: PlacedOutcome[] = [];
    let isEnough = false;
    const look = async () => {
      while (!isEnough) {
        found = await this.outcomes();
        isEnough ||= found.length >= count;
      }
    };
    const looking = look();
    try {
      await until(() => isEnough, `${count} outcomes`);
    } finally {
      isEnough = true;
      await looking;
    }
    return found;
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
