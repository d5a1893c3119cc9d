// All that happens to the models of one partition beside forecasting. Decisions are handed in at any time and take
// effect at the beginning of the next batch: models change hands, the series' lives move on, and the records that
// tell of it are committed with the batch. So only the owner of a series ever changes its model, and never twice.
//
// It also holds what others have laid on the models topic for this partition: outcomes of trainings, orders by hand,
// and models of cohorts.

import type { Outgoing, SeriesSettings } from "../domain.ts";
import { avroCodec } from "../log/codec/avro.ts";
import type { ModelOrderRecord, ModelRecord } from "../log/codec/schemas.generated.ts";
import type { StoredRecord } from "../log/log.ts";
import { isCohortKey } from "../models/cohort.ts";
import type { Clock } from "../runtime/clock.ts";
import { ForecastnetError } from "../runtime/errors.ts";
import type { Logger } from "../runtime/logging.ts";
import type { RetrainMetrics } from "../runtime/metric-groups.ts";
import { isAtHome } from "./cohort-home.ts";
import type { Decision, Waiting } from "./decision.ts";
import { toEvent, toVersionOf } from "./event-record.ts";
import { lifeAfter } from "./life-after.ts";
import type { LiveBook } from "./live/live-book.ts";
import { orderKey, outcomeKey, readModelKey } from "./requests/model-keys.ts";
import { decodeOutcome, type ReceivedOutcome } from "./requests/outcome-codec.ts";
import { encodeRequest } from "./requests/request-codec.ts";
import type { RetrainRules } from "./rules.ts";
import type { ModelShelf } from "./shelf.ts";
import type { History } from "./training-task.ts";
import { type TopicLimits, withinLimits } from "./within-limits.ts";

/** Where a series is on its grid. */
export interface SeriesTimes {
  readonly newestMs: number;
  readonly stepMs: number;
  /** Steps from the oldest kept observation to the newest. */
  readonly steps: number;
}

/** What the desk is told of series and of its surroundings. */
export interface LaneDeskParts {
  readonly partition: number;
  /** Partitions of the input: a cohort's model is written to all of them. */
  readonly partitions: number;
  /** Fires when the partition is lost. */
  readonly lost: AbortSignal;
  readonly book: LiveBook;
  readonly shelf: ModelShelf;
  readonly settingsOf: (seriesId: string) => SeriesSettings;
  readonly rulesOf: (settings: SeriesSettings) => RetrainRules;
  readonly timesOf: (seriesId: string) => SeriesTimes | null;
  readonly historyOf: (seriesId: string) => History | null;
  /** Reads the record of a model from its topic. */
  readonly readRecord: (modelKey: string) => Promise<ModelRecord | null>;
  readonly topics: TopicLimits & {
    readonly models: string;
    readonly events: string;
    readonly eventPartitions: number;
    readonly training: string;
  };
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: RetrainMetrics;
}

/** A cohort has no grid of its own to count steps on. */
const cohortRestMs = 3_600_000;

const modelCodec = avroCodec("ModelRecord");
const eventCodec = avroCodec("ModelEvent");
const orderCodec = avroCodec("ModelOrder");

export class LaneDesk {
  readonly parts: LaneDeskParts;
  /** By model key; they wait to be judged. */
  readonly outcomes = new Map<string, ReceivedOutcome>();
  readonly orders = new Map<string, ModelOrderRecord>();
  /** Called when something waits that did not before. */
  onNews: () => void = () => {};
  /** Called when there is something for the next batch to take along. */
  onWaiting: () => void = () => {};
  readonly #docket: Decision[] = [];
  readonly #docketKeys = new Set<string>();
  readonly #tombstones: Outgoing[] = [];

  constructor(parts: LaneDeskParts) {
    this.parts = parts;
  }

  /** True when the next batch has something to take along. */
  get isWaiting(): boolean {
    return this.#docket.length > 0 || this.#tombstones.length > 0;
  }

  /** True between a decision about the model and its effect: until then nothing else should be decided about it. */
  isDecided(modelKey: string): boolean {
    return this.#docketKeys.has(modelKey);
  }

  decide(decision: Decision): void {
    this.#docket.push(decision);
    this.#docketKeys.add(decision.modelKey);
    this.onWaiting();
    for (const part of decision.settles ?? []) this.#take(decision.modelKey, part);
  }

  /** What waits there is of no use: it goes without a decision. */
  dismiss(modelKey: string, part: Waiting): void {
    this.#take(modelKey, part);
    this.#tombstones.push(this.#toModels(keyOf(modelKey, part), null));
    this.onWaiting();
  }

  /** Takes an order that was not laid on the topic. */
  accept(order: ModelOrderRecord): void {
    this.orders.set(order.modelKey, order);
    this.onNews();
  }

  /** Records of the models topic, in their order: those found when the lane began, or as they are written. */
  hear(records: readonly Pick<StoredRecord, "key" | "value">[]): void {
    for (const { key, value } of records) {
      if (key === null) continue;
      const { modelKey, part } = readModelKey(key.toString());
      if (part === "champion") this.#hearModel(modelKey, value);
      else if (value !== null) this.#hearWaiting(modelKey, part, value);
    }
    this.onNews();
  }

  /** Lets all decisions take effect. Returns what must be committed with them. */
  enact(): readonly Outgoing[] {
    const records = this.#tombstones.splice(0);
    this.#docketKeys.clear();
    for (const decision of this.#docket.splice(0)) {
      for (const part of decision.settles ?? [])
        records.push(this.#toModels(keyOf(decision.modelKey, part), null));
      records.push(...this.#enactOne(decision));
    }
    return records;
  }

  #enactOne(decided: Decision): readonly Outgoing[] {
    const decision = withinLimits(decided, this.parts.topics);
    if (typeof decision === "string") return this.#enactRefusal(decided, decision);
    const { modelKey, kind, fromVersion, reason, numbers } = decision;
    const { shelf, clock, logger, metrics, book, topics } = this.parts;
    const present = this.#servingVersion(modelKey);
    if (present !== fromVersion) return this.#enactLate(decision, present);
    const record = kind === "promoted" || kind === "rolled-back" ? decision.record : null;
    const problem = record === null ? null : shelf.put(record);
    if (problem !== null) return this.#enactRefusal(decision, `it cannot serve: ${problem.detail}`);
    const nowMs = clock.nowMs();
    const live = book.of(modelKey);
    live.life = lifeAfter(decision, live.life, {
      nowMs,
      newestMs: this.parts.timesOf(modelKey)?.newestMs ?? nowMs,
      restMs: this.#restMs(modelKey),
      isCohort: isCohortKey(modelKey),
      hasModel: shelf.get(modelKey) !== undefined,
    });
    const event = toEvent(decision, nowMs);
    metrics.decided(kind);
    const facts = { modelKey, fromVersion, toVersion: event.toVersion, reason, ...numbers };
    logger.info(facts, `model ${kind.replace("-", " ")}`);
    return [
      ...this.#effectOf(decision),
      {
        topic: topics.events,
        partition: this.parts.partition % topics.eventPartitions,
        key: Buffer.from(modelKey),
        value: eventCodec.encode(event),
      },
    ];
  }

  /** Another model serves than the one it was decided about. */
  #enactLate(decision: Decision, present: string | null): readonly Outgoing[] {
    const { modelKey, kind, fromVersion } = decision;
    const endsSomething =
      kind !== "drifted" && kind !== "recovered" && kind !== "confirmed" && kind !== "requested";
    if (endsSomething) {
      const about = `decided about ${fromVersion ?? "no model"}, and ${present ?? "none"} serves`;
      return this.#enactRefusal(decision, `it comes too late: ${about}`);
    }
    const facts = { modelKey, decision: kind, decidedAbout: fromVersion, present };
    this.parts.logger.warn(facts, "decision comes too late");
    return [];
  }

  /** Instead of the decision, which cannot take effect. */
  #enactRefusal(decision: Decision, reason: string): readonly Outgoing[] {
    const { modelKey, numbers, isByHand = false } = decision;
    const about = { modelKey, fromVersion: this.#servingVersion(modelKey), numbers, isByHand };
    return this.#enactOne({ ...about, kind: "refused", toVersion: toVersionOf(decision), reason });
  }

  /** The models that change, and what tells others of it. */
  #effectOf(decision: Decision): readonly Outgoing[] {
    const { shelf, topics, partition } = this.parts;
    const { modelKey } = decision;
    switch (decision.kind) {
      case "promoted":
        return this.#writeModel(modelKey, modelCodec.encode(decision.record));
      case "rolled-back":
        if (decision.record === null) shelf.remove(modelKey);
        return this.#writeModel(modelKey, decision.record && modelCodec.encode(decision.record));
      case "retired":
        shelf.remove(modelKey);
        return this.#writeModel(modelKey, null);
      case "confirmed":
        shelf.forgetPrevious(modelKey);
        return [];
      case "requested": {
        const { task } = decision;
        if (task === null) return [];
        const value = encodeRequest(task);
        return [{ topic: topics.training, partition, key: Buffer.from(modelKey), value }];
      }
      default:
        return [];
    }
  }

  #writeModel(modelKey: string, value: Buffer | null): readonly Outgoing[] {
    if (!isCohortKey(modelKey)) return [this.#toModels(modelKey, value)];
    // So that a new member is served at once wherever it turns up, and no worker reads outside its own partitions.
    return Array.from({ length: this.parts.partitions }, (_, partition) => ({
      ...this.#toModels(modelKey, value),
      partition,
    }));
  }

  #toModels(key: string, value: Buffer | null): Outgoing {
    return { topic: this.parts.topics.models, partition: this.parts.partition, key: Buffer.from(key), value };
  }

  #servingVersion(modelKey: string): string | null {
    return this.parts.shelf.of(modelKey)?.facts.version ?? null;
  }

  #restMs(modelKey: string): number {
    const { settingsOf, rulesOf, timesOf } = this.parts;
    if (isCohortKey(modelKey)) return cohortRestMs;
    return rulesOf(settingsOf(modelKey)).cooldownSteps * (timesOf(modelKey)?.stepMs ?? 0);
  }

  #take(modelKey: string, part: Waiting): void {
    if (part === "order") this.orders.delete(modelKey);
    else this.outcomes.delete(modelKey);
  }

  /** What this lane decides about changes hands in `enact` only; what comes back from the topic is our own writing. */
  #hearModel(modelKey: string, value: Buffer | null): void {
    const { shelf, logger, metrics } = this.parts;
    if (isAtHome(modelKey, this.parts)) return;
    if (value === null) {
      shelf.remove(modelKey);
      return;
    }
    const record = this.#decode(modelKey, () => modelCodec.decode(value));
    if (record === null || shelf.get(modelKey)?.facts.version === record.version) return;
    const problem = shelf.put(record);
    if (problem === null) return;
    metrics.unreadable(problem.reason);
    logger.warn({ modelKey, ...problem }, "model of a cohort cannot serve, the one before goes on");
  }

  #hearWaiting(modelKey: string, part: Waiting, value: Buffer): void {
    if (part === "order") {
      const order = this.#decode(modelKey, () => orderCodec.decode(value));
      if (order !== null && isAtHome(modelKey, this.parts)) this.orders.set(modelKey, order);
      else this.dismiss(modelKey, part);
    } else {
      const outcome = this.#decode(modelKey, () => decodeOutcome(value));
      for (const reason of outcome?.unfit ?? []) this.#tellUnreadable(modelKey, reason);
      if (outcome !== null) this.outcomes.set(modelKey, outcome);
      else this.dismiss(modelKey, part);
    }
  }

  #decode<T>(modelKey: string, decode: () => T): T | null {
    try {
      return decode();
    } catch (error) {
      if (!(error instanceof ForecastnetError)) throw error;
      this.#tellUnreadable(modelKey, error.message);
      return null;
    }
  }

  #tellUnreadable(modelKey: string, reason: string): void {
    this.parts.metrics.unreadable("unreadable");
    this.parts.logger.warn({ modelKey, reason }, "record on the models topic cannot be read");
  }
}

function keyOf(modelKey: string, part: Waiting): string {
  return part === "order" ? orderKey(modelKey) : outcomeKey(modelKey);
}
