// A small fleet on the embedded log, with hand-written records, and the models command on it.

import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { readCommandLine } from "../../../../src/cli/command.ts";
import { modelsCommand, runModels } from "../../../../src/cli/models/models.ts";
import { avroCodec } from "../../../../src/log/codec/avro.ts";
import { orderKey } from "../../../../src/log/codec/model-keys.ts";
import type {
  LiveStateRecord,
  ModelEventRecord,
  ModelOrderRecord,
  ModelRecord,
} from "../../../../src/log/codec/schemas.generated.ts";
import type { Log } from "../../../../src/log/log.ts";
import { createMemoryLog, type MemoryLog } from "../../../../src/log/memory-log.ts";
import { systemClock } from "../../../../src/runtime/clock.ts";
import { modelRecord } from "../../../rig/model-record.ts";
import { type RandomModelOptions, randomModel } from "../../../rig/random-model.ts";

export const nowMs = Date.UTC(2026, 0, 2, 3, 4, 5);
export const topics = { models: "m", state: "s", events: "e" };
const partitions = 3;

const codecs = {
  model: avroCodec("ModelRecord"),
  live: avroCodec("LiveState"),
  event: avroCodec("ModelEvent"),
  order: avroCodec("ModelOrder"),
};

export interface Printed {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export class ModelsFixture {
  readonly log: MemoryLog;
  #writtenMs = nowMs;
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
    // Every record has its own timestamp.
    this.log = createMemoryLog({ clock: { ...systemClock, nowMs: () => this.#writtenMs++ } });
  }

  static async open(t: TestContext, missing: readonly string[] = []): Promise<ModelsFixture> {
    const fixture = new ModelsFixture(mkdtempSync(join(tmpdir(), "models-")));
    t.after(async () => {
      await fixture.log.close();
      rmSync(fixture.folder, { recursive: true });
    });
    const specs = Object.values(topics).map((topic) => ({
      topic,
      partitions,
      compacted: topic !== topics.events,
    }));
    await fixture.log.createTopics(specs.filter(({ topic }) => !missing.includes(topic)));
    return fixture;
  }

  file(name: string): string {
    return join(this.folder, name);
  }

  /** Runs a command line; `log` replaces the fixture's own. */
  async run(argv: readonly string[], log: Log = this.log, signal?: AbortSignal): Promise<Printed> {
    const out: string[] = [];
    const err: string[] = [];
    const code = await runModels(readCommandLine(modelsCommand, argv), {
      log,
      topics,
      clock: { nowMs: () => nowMs },
      signal: signal ?? new AbortController().signal,
      io: { out: (line) => out.push(line), err: (line) => err.push(line) },
    });
    return { code, out: out.join("\n"), err: err.join("\n") };
  }

  async put(topic: string, partition: number, key: string, value: Buffer | null): Promise<void> {
    await this.log.append([{ topic, partition, key: Buffer.from(key), value }]);
  }

  async putModel(
    partition: number,
    model: RandomModelOptions,
    changes: Partial<ModelRecord> = {},
  ): Promise<Buffer> {
    const record = recordOf(model, changes);
    const value = codecs.model.encode(record);
    await this.put(topics.models, partition, record.modelKey, value);
    return value;
  }

  async putSeries(partition: number, seriesId: string, live: Partial<LiveStateRecord> = {}): Promise<void> {
    await this.put(topics.state, partition, `${seriesId}#0`, Buffer.from("a block"));
    await this.put(
      topics.state,
      partition,
      `${seriesId}#live`,
      codecs.live.encode(liveState(seriesId, live)),
    );
  }

  async putEvent(modelKey: string, event: Partial<ModelEventRecord>): Promise<void> {
    const value = codecs.event.encode({
      id: randomUUID(),
      modelKey,
      kind: "OTHER",
      fromVersion: null,
      toVersion: null,
      reason: "because",
      numbers: {},
      time: nowMs,
      ...event,
    });
    await this.put(topics.events, 1, modelKey, value);
  }

  /** Answers the next order as a worker would. Resolves with the order and its partition. */
  async answer(
    ...events: readonly Partial<ModelEventRecord>[]
  ): Promise<{ readonly partition: number; readonly order: ModelOrderRecord }> {
    const ended = new AbortController();
    for await (const { partition, records } of this.log.follow(topics.models, "latest", ended.signal)) {
      for (const { key, value } of records) {
        if (value === null || !key?.toString().includes("\u0000")) continue;
        const order = codecs.order.decode(value);
        if (key.toString() !== orderKey(order.modelKey)) continue;
        for (const event of events) await this.putEvent(order.modelKey, event);
        return { partition, order };
      }
    }
    throw new Error("the log ended before an order was sent");
  }
}

export function recordOf(model: RandomModelOptions, changes: Partial<ModelRecord> = {}): ModelRecord {
  return { ...modelRecord(randomModel(model)), requestId: null, previous: null, ...changes };
}

/** The sums of one scored step: weight, absolute error, pinball, CRPS and coverage. */
export function sumsOf(mase: number): Buffer {
  return Buffer.from(Float64Array.of(2, 2 * mase, 2 * mase, 1, 3, 1.5, 0, Number.POSITIVE_INFINITY).buffer);
}

function liveState(seriesId: string, changes: Partial<LiveStateRecord>): LiveStateRecord {
  return {
    seriesId,
    modelVersion: "v1",
    naiveErrors: [1],
    levels: [0.1, 0.5, 0.9],
    horizon: 3,
    newestSlot: 9,
    scoredSlots: 2,
    sums: sumsOf(0.5),
    learntSteps: 0,
    calibration: Buffer.alloc(0),
    phase: "CHAMPION" as const,
    phaseSince: nowMs - 60_000,
    restsUntil: 0,
    driftSince: null,
    requestId: null,
    probation: null,
    verdict: null,
    ...changes,
  } as LiveStateRecord;
}
