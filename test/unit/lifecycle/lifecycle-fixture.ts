// A partition lifecycle on a real score store and a real model store, the rest by hand, with what it counted and logged.

import type { History, Outgoing, SeriesSettings } from "../../../src/domain.ts";
import { ModelStore } from "../../../src/forecast/model-store.ts";
import type { Decision } from "../../../src/lifecycle/decision.ts";
import { PartitionLifecycle } from "../../../src/lifecycle/partition-lifecycle.ts";
import type {
  LifecycleTopics,
  PartitionView,
  SeriesTimes,
  StoredSeriesSet,
} from "../../../src/lifecycle/partition-view.ts";
import type { RetrainRules } from "../../../src/lifecycle/rules.ts";
import { avroCodec } from "../../../src/log/codec/avro.ts";
import type {
  ModelEventRecord,
  ModelOrderRecord,
  ModelRecord,
} from "../../../src/log/codec/schemas.generated.ts";
import { storedFamilies } from "../../../src/models/families.ts";
import type { Life } from "../../../src/models/life.ts";
import { systemClock } from "../../../src/runtime/clock.ts";
import type { Logger } from "../../../src/runtime/logging.ts";
import type { RetrainMetrics } from "../../../src/runtime/metric-groups.ts";
import type { ScoreStore } from "../../../src/score/score-store.ts";
import { modelRecord } from "../../rig/model-record.ts";
import { randomModel } from "../../rig/random-model.ts";
import { forecastAt, placementAt, scoreStoreOf, settings } from "../score/fixtures.ts";

export const hourMs = 3_600_000;
export const dawnMs = Date.UTC(2024, 0, 1);

export const rules: RetrainRules = {
  ...{ horizon: 3, season: 4, driftRatio: 2, driftBound: 0, coverageBand: 1, release: 0.75, margin: 0.02 },
  ...{ evidenceSteps: 5, rollingSteps: 10, tailSteps: 9, probationSteps: 6, cooldownSteps: 10 },
  ...{ firstFamily: "forecastnet", minHistory: 40, bestFamily: "forecastnet", bestHistory: 40 },
  ...{ refreshSteps: 4, maxAgeMs: Number.POSITIVE_INFINITY },
};

/** Counts by what is counted: "decided refused", "unreadable horizon", "failed". */
export class Counts implements RetrainMetrics {
  readonly byName = new Map<string, number>();
  decided = (kind: string) => this.#count(`decided ${kind}`);
  evaluated = (series: number, needs: number) => this.#count(`evaluated ${series} needs ${needs}`);
  trained = (outcome: string) => this.#count(`trained ${outcome}`);
  spent = () => this.#count("spent");
  unreadable = (reason: string) => this.#count(`unreadable ${reason}`);
  failed = () => this.#count("failed");
  forgot = (reason: string) => this.#count(`forgot ${reason}`);

  of(name: string): number {
    return this.byName.get(name) ?? 0;
  }

  #count(name: string): void {
    this.byName.set(name, this.of(name) + 1);
  }
}

export interface LifecycleOptions {
  readonly partition?: number;
  readonly partitions?: number;
  readonly settings?: (seriesId: string) => Partial<SeriesSettings>;
  readonly rules?: Partial<RetrainRules>;
  readonly readRecord?: PartitionView["readRecord"];
  readonly limits?: Partial<Pick<LifecycleTopics, "modelBytes" | "trainingBytes">>;
  /** Read when asked, so that a test may move it. */
  readonly now?: { ms: number };
  readonly counts?: Counts;
}

export class LifecycleFixture {
  readonly lifecycle: PartitionLifecycle;
  readonly scoreStore: ScoreStore;
  readonly models: ModelStore;
  readonly counts: Counts;
  readonly lost = new AbortController();
  readonly told: string[] = [];
  /** By series; those that are not here have no grid. */
  readonly times = new Map<string, SeriesTimes>();
  readonly histories = new Map<string, History>();
  readonly now: { ms: number };
  /** Series whose seasons were to be decided anew. */
  readonly reconsidered: string[] = [];
  /** Input that waits to be read. */
  unread: number | null = 0;
  /** By id, when the series ends. */
  readonly endMsById = new Map<string, number>();
  readonly series: StoredSeriesSet = {
    ids: () => this.times.keys(),
    factsOf: (seriesId) => {
      const times = this.times.get(seriesId);
      if (times === undefined) return null;
      const endsAtMs = this.endMsById.get(seriesId) ?? null;
      const about = { interval: "PT1H", channels: 1, points: times.steps, lastTimeMs: times.newestMs };
      return { ...about, seenMs: dawnMs, endsAtMs };
    },
    silent: () => [...this.endMsById].map(([id, endMs]) => (endMs <= this.now.ms ? id : null)),
    endsAtMs: (seriesId) => this.endMsById.get(seriesId) ?? null,
    forget: (seriesId) => (this.endMsById.delete(seriesId) ? [`${seriesId}#0`, `${seriesId}#1`] : []),
  };

  constructor(options: LifecycleOptions = {}) {
    const { partition = 0, partitions = 3, now = { ms: dawnMs }, counts = new Counts() } = options;
    const settingsOf = (seriesId: string) => ({ ...settings, ...options.settings?.(seriesId) });
    this.now = now;
    this.counts = counts;
    this.scoreStore = scoreStoreOf({ settingsOf });
    this.models = new ModelStore({ settingsOf, families: storedFamilies });
    this.lifecycle = new PartitionLifecycle(
      {
        ...{
          partition,
          partitions,
          lost: this.lost.signal,
          scoreStore: this.scoreStore,
          models: this.models,
          settingsOf,
        },
        rulesOf: () => ({ ...rules, ...options.rules }),
        timesOf: (seriesId) => this.times.get(seriesId) ?? null,
        historyOf: (seriesId) => this.histories.get(seriesId) ?? null,
        reconsiderSeasons: (seriesId) => void this.reconsidered.push(seriesId),
        ...{ series: this.series, unread: () => this.unread },
        readRecord: options.readRecord ?? (async () => null),
        topics: {
          ...{ state: "state", models: "models", events: "events", eventPartitions: 2, training: "training" },
          ...{ modelBytes: 16 * 2 ** 20, trainingBytes: 16 * 2 ** 20, ...options.limits },
        },
        ...{ clock: { ...systemClock, nowMs: () => now.ms }, logger: this.#logger(), metrics: counts },
      },
      storedFamilies,
    );
  }

  /** Puts a model on the models, as if it had always been there. */
  serve(key: string, version = "v1", changes: Partial<ModelRecord> = {}): void {
    const refusal = this.models.put(recordOf(key, version, changes));
    if (refusal !== null) throw new Error(refusal.detail);
  }

  live(seriesId: string, life: Partial<Life> = {}): void {
    const live = this.scoreStore.of(seriesId);
    live.life = { ...live.life, ...life };
  }

  /** A series on a grid of hours that ends `hours` after dawn, with so many steps kept. */
  place(seriesId: string, hours = 50, steps = 50): void {
    this.times.set(seriesId, { newestMs: dawnMs + hours * hourMs, stepMs: hourMs, steps });
    const values = Float64Array.from({ length: steps }, (_, t) => 10 + 3 * Math.sin(t));
    const firstTimeMs = dawnMs + (hours - steps + 1) * hourMs;
    const history = { seriesId, interval: "PT1H", firstTimeMs, channels: 1, values, filled: null };
    this.histories.set(seriesId, history);
  }

  /** Forecasts of the version that were wrong by this many naive errors, at so many slots. */
  score(seriesId: string, version: string, mase: number, slots = 8): void {
    const live = this.scoreStore.of(seriesId);
    const validationMase = this.models.of(seriesId)?.facts.validation.mase ?? null;
    const serving = {
      modelKey: seriesId,
      version,
      naiveErrors: [1],
      validationMase,
      trainedAtMs: 0,
      trainedToMs: 0,
    };
    for (let slot = 0; slot < slots; slot++) {
      live.publish(forecastAt(slot, [-1, 0, 1], version), serving);
      live.score(placementAt(slot + 1, [mase]));
    }
  }

  life(seriesId: string): Life {
    return this.scoreStore.of(seriesId).life;
  }

  #logger(): Logger {
    const at = (level: string) => (_: unknown, message: string) =>
      void this.told.push(`${level}: ${message}`);
    return { debug: () => {}, info: at("info"), warn: at("warn"), error: at("error") };
  }
}

/** A record that can serve where the horizon is 3. */
export function recordOf(key: string, version = "v1", changes: Partial<ModelRecord> = {}): ModelRecord {
  return { ...modelRecord(randomModel({ key, version })), ...changes };
}

const codecs = {
  event: avroCodec("ModelEvent"),
  model: avroCodec("ModelRecord"),
  order: avroCodec("ModelOrder"),
};

export const encodeRecord = (record: ModelRecord): Buffer => codecs.model.encode(record);

export function orderOf(modelKey: string, changes: Partial<ModelOrderRecord> = {}): ModelOrderRecord {
  const plain = { id: "o1", modelKey, kind: "ROLL_BACK", record: null, skipsGate: false } as const;
  return { ...plain, askedAt: 0, ...changes };
}

export const encodeOrder = (order: ModelOrderRecord): Buffer => codecs.order.encode(order);

export function eventsIn(records: readonly Outgoing[]): readonly ModelEventRecord[] {
  return records
    .filter(({ topic }) => topic === "events")
    .map(({ value }) => ({ ...codecs.event.decode(value as Buffer) }));
}

/** What is written beside events: "models/0 a v1", "models/0 a\0order" when it is deleted. */
export function writtenIn(records: readonly Outgoing[]): readonly string[] {
  return records
    .filter(({ topic }) => topic !== "events")
    .map(({ topic, partition, key, value }) => {
      const place = `${topic}/${partition} ${key}`;
      if (value === null) return `${place} deleted`;
      return topic === "models" ? `${place} ${codecs.model.decode(value).version}` : place;
    });
}

/** A decision of each kind about a model, which served as `fromVersion` when it was decided. */
export function decisionOf(kind: Decision["kind"], changes: Partial<Decision> = {}): Decision {
  const { modelKey = "a", fromVersion = null } = changes;
  const about = { modelKey, fromVersion, reason: "because", numbers: { mase: 0.5 } };
  const given: Readonly<Record<Decision["kind"], object>> = {
    drifted: { sinceMs: dawnMs },
    recovered: {},
    requested: { requestId: "r1", task: null },
    failed: {},
    refused: { toVersion: null },
    promoted: { record: recordOf(modelKey, "v2"), predecessorMase: null },
    confirmed: {},
    "rolled-back": { record: null },
    retired: {},
  };
  return { ...about, kind, ...given[kind], ...changes } as Decision;
}
