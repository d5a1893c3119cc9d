// The lifecycle of the models of one partition. Decisions come in at any time and take effect at the start of the next batch:
// models are replaced, series move to their next phase, and the records that report it are committed with the batch. So only
// the owner of a series changes its model, and only once.
//
// It also holds what others wrote to the models topic for this partition and what waits for a decision: outcomes of trainings
// and orders by hand. Models of cohorts that other partitions decide about are taken over as they come.

import type { Outgoing } from "../domain.ts";
import { avroCodec } from "../log/codec/avro.ts";
import { orderKey, outcomeKey, readModelKey } from "../log/codec/model-keys.ts";
import { modelRecordCodec } from "../log/codec/model-record.ts";
import type { ModelOrderRecord } from "../log/codec/schemas.generated.ts";
import type { StoredRecord } from "../log/log.ts";
import { isCohortKey, isDecidedHere } from "../models/cohort.ts";
import type { Families } from "../models/families.ts";
import { isSameLine } from "../models/life.ts";
import { ForecastnetError } from "../runtime/errors.ts";
import { decodeOutcome, type ReceivedOutcome } from "../training/outcome-codec.ts";
import { encodeRequest } from "../training/request-codec.ts";
import { type Decision, lifeAfter, type PendingKind, toEvent, toVersionOf } from "./decision.ts";
import type { LifecycleTopics, PartitionView } from "./partition-view.ts";
import { SeriesExpiry } from "./series-expiry.ts";

/** A cohort has no grid to count steps on. */
const cohortRestMs = 3_600_000;
/** For key, headers and batch overhead of a record. */
const wrappingBytes = 2_048;

const eventCodec = avroCodec("ModelEvent");
const orderCodec = avroCodec("ModelOrder");

export class PartitionLifecycle {
  readonly view: PartitionView;
  /** Outcomes to be judged, by model key. */
  readonly outcomes = new Map<string, ReceivedOutcome>();
  /** Orders to be carried out, by model key. */
  readonly orders = new Map<string, ModelOrderRecord>();
  readonly expiry: SeriesExpiry;
  /** Called when an outcome or an order has arrived. */
  onPending: () => void = () => {};
  /** Called when the next batch has something to commit. */
  onDecided: () => void = () => {};
  readonly #families: Families;
  readonly #decisions: Decision[] = [];
  readonly #decidedKeys = new Set<string>();
  readonly #tombstones: Outgoing[] = [];

  constructor(view: PartitionView, families: Families) {
    this.view = view;
    this.#families = families;
    this.expiry = new SeriesExpiry(view, this, () => this.onDecided());
  }

  /** True when the next batch has something to commit. */
  get isWaiting(): boolean {
    return this.#decisions.length > 0 || this.#tombstones.length > 0 || this.expiry.isWaiting;
  }

  /** True between a decision about the model and its effect. Meanwhile nothing else should be decided about it. */
  isDecided(modelKey: string): boolean {
    return this.#decidedKeys.has(modelKey);
  }

  servingVersion(modelKey: string): string | null {
    return this.view.models.of(modelKey)?.facts.version ?? null;
  }

  decide(decision: Decision): void {
    this.#decisions.push(decision);
    this.#decidedKeys.add(decision.modelKey);
    this.onDecided();
    for (const kind of decision.answers ?? []) this.#dropPending(decision.modelKey, kind);
  }

  /** Deletes a pending record that needs no decision. */
  dismiss(modelKey: string, kind: PendingKind): void {
    this.#dropPending(modelKey, kind);
    this.#tombstones.push(this.#toModels(keyOf(modelKey, kind), null));
    this.onDecided();
  }

  /** Takes an order from the HTTP API, which is not on the topic. */
  accept(order: ModelOrderRecord): void {
    this.#acceptOrder(order);
    this.onPending();
  }

  /** Takes records of the models topic in their order: those found at the start, then new ones. */
  receive(records: readonly Pick<StoredRecord, "key" | "value">[]): void {
    for (const { key, value } of records) {
      if (key === null) continue;
      const { modelKey, part } = readModelKey(key.toString());
      if (part === "champion") this.#receiveModel(modelKey, value);
      else if (value !== null) this.#receivePending(modelKey, part, value);
    }
    this.onPending();
  }

  /** Applies all decisions. `isSending` tells whether a series sends in the batch. Returns the records to commit with it. */
  apply(isSending: (seriesId: string) => boolean = () => false): readonly Outgoing[] {
    const records = this.#tombstones.splice(0);
    this.#decidedKeys.clear();
    for (const decision of this.#decisions.splice(0)) {
      for (const kind of decision.answers ?? [])
        records.push(this.#toModels(keyOf(decision.modelKey, kind), null));
      records.push(...this.#applyOne(decision));
    }
    // After the decisions, so that nothing is left of a series that is forgotten now.
    records.push(...this.expiry.apply(isSending));
    return records;
  }

  #applyOne(decided: Decision): readonly Outgoing[] {
    const decision = fitToTopics(decided, this.view.topics);
    if (typeof decision === "string") return this.#applyRefusal(decided, decision);
    const { modelKey, kind, fromVersion, reason, numbers } = decision;
    const { models, clock, logger, metrics, scoreStore, topics } = this.view;
    const serving = this.servingVersion(modelKey);
    if (serving !== fromVersion) return this.#applyLate(decision, serving);
    const record = kind === "promoted" || kind === "rolled-back" ? decision.record : null;
    const problem = record === null ? null : models.put(record);
    if (problem !== null) return this.#applyRefusal(decision, `it cannot serve: ${problem.detail}`);
    const nowMs = clock.nowMs();
    const live = scoreStore.of(modelKey);
    live.life = lifeAfter(decision, live.life, {
      nowMs,
      newestMs: this.view.timesOf(modelKey)?.newestMs ?? nowMs,
      restMs: this.#restMs(decision),
      isCohort: isCohortKey(modelKey),
      hasModel: models.get(modelKey) !== undefined,
    });
    const event = toEvent(decision, nowMs);
    metrics.decided(kind);
    const facts = { modelKey, fromVersion, toVersion: event.toVersion, reason, ...numbers };
    logger.info(facts, `model ${kind.replace("-", " ")}`);
    return [
      ...this.#effectOf(decision),
      {
        topic: topics.events,
        partition: this.view.partition % topics.eventPartitions,
        key: Buffer.from(modelKey),
        value: eventCodec.encode(event),
      },
    ];
  }

  /** Another model serves than the decision is about. */
  #applyLate(decision: Decision, serving: string | null): readonly Outgoing[] {
    const { modelKey, kind, fromVersion } = decision;
    const endsTraining =
      kind !== "drifted" && kind !== "recovered" && kind !== "confirmed" && kind !== "requested";
    if (endsTraining) {
      const about = `decided about ${fromVersion ?? "no model"}, and ${serving ?? "none"} serves`;
      return this.#applyRefusal(decision, `it comes too late: ${about}`);
    }
    const facts = { modelKey, decision: kind, decidedAbout: fromVersion, serving };
    this.view.logger.warn(facts, "decision dropped, it came too late");
    return [];
  }

  /** Refuses a decision that cannot take effect. */
  #applyRefusal(decision: Decision, reason: string): readonly Outgoing[] {
    const { modelKey, numbers, isByHand = false } = decision;
    const about = { modelKey, fromVersion: this.servingVersion(modelKey), numbers, isByHand };
    return this.#applyOne({ ...about, kind: "refused", toVersion: toVersionOf(decision), reason });
  }

  /** Changes the serving models. Returns the records that report it. */
  #effectOf(decision: Decision): readonly Outgoing[] {
    const { models, topics, partition } = this.view;
    const { modelKey } = decision;
    switch (decision.kind) {
      case "promoted":
        return this.#writeModel(modelKey, modelRecordCodec.encode(decision.record));
      case "rolled-back":
        if (decision.record === null) models.remove(modelKey);
        return this.#writeModel(modelKey, decision.record && modelRecordCodec.encode(decision.record));
      case "retired":
        models.remove(modelKey);
        return this.#writeModel(modelKey, null);
      case "confirmed":
        models.forgetPrevious(modelKey);
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
    // To every partition: workers read only their own, and a new member may appear in any.
    return Array.from({ length: this.view.partitions }, (_, partition) => ({
      ...this.#toModels(modelKey, value),
      partition,
    }));
  }

  #toModels(key: string, value: Buffer | null): Outgoing {
    return { topic: this.view.topics.models, partition: this.view.partition, key: Buffer.from(key), value };
  }

  #restMs(decision: Decision): number {
    const { settingsOf, rulesOf, timesOf } = this.view;
    const { modelKey, fromVersion } = decision;
    if (isCohortKey(modelKey)) return cohortRestMs;
    const { cooldownSteps, refreshSteps } = rulesOf(settingsOf(modelKey));
    const isRefresh = isSameLine(fromVersion, toVersionOf(decision));
    return (isRefresh ? refreshSteps : cooldownSteps) * (timesOf(modelKey)?.stepMs ?? 0);
  }

  #dropPending(modelKey: string, kind: PendingKind): void {
    if (kind === "order") this.orders.delete(modelKey);
    else this.outcomes.delete(modelKey);
  }

  /** Models that this partition decides about change in `apply` only; their records on the topic are our own. */
  #receiveModel(modelKey: string, value: Buffer | null): void {
    const { models, logger, metrics } = this.view;
    if (isDecidedHere(modelKey, this.view)) return;
    if (value === null) {
      models.remove(modelKey);
      return;
    }
    const record = this.#decode(modelKey, () => modelRecordCodec.decode(value));
    if (record === null || models.get(modelKey)?.facts.version === record.version) return;
    const problem = models.put(record);
    if (problem === null) return;
    metrics.unreadable(problem.reason);
    logger.warn({ modelKey, ...problem }, "model of a cohort cannot serve, the previous one continues");
  }

  #receivePending(modelKey: string, kind: PendingKind, value: Buffer): void {
    if (kind === "order") {
      const order = this.#decode(modelKey, () => orderCodec.decode(value));
      if (order !== null && isDecidedHere(modelKey, this.view)) this.#acceptOrder(order);
      else this.dismiss(modelKey, kind);
    } else {
      const outcome = this.#decode(modelKey, () => decodeOutcome(value, this.#families));
      for (const reason of outcome?.unfit ?? []) this.#logUnreadable(modelKey, reason);
      if (outcome !== null) this.outcomes.set(modelKey, outcome);
      else this.dismiss(modelKey, kind);
    }
  }

  #acceptOrder(order: ModelOrderRecord): void {
    const { modelKey, kind } = order;
    if (kind === "FORGET" && !isCohortKey(modelKey)) this.expiry.order(modelKey);
    else this.orders.set(modelKey, order);
  }

  #decode<T>(modelKey: string, decode: () => T): T | null {
    try {
      return decode();
    } catch (error) {
      if (!(error instanceof ForecastnetError)) throw error;
      this.#logUnreadable(modelKey, error.message);
      return null;
    }
  }

  #logUnreadable(modelKey: string, reason: string): void {
    this.view.metrics.unreadable("unreadable");
    this.view.logger.warn({ modelKey, reason }, "record on the models topic cannot be read");
  }
}

function keyOf(modelKey: string, kind: PendingKind): string {
  return kind === "order" ? orderKey(modelKey) : outcomeKey(modelKey);
}

/**
 * The decision as it can be written, or as text why it cannot. A record too large for its topic would fail the commit, and
 * that of the next owner as well. A model is then written without its predecessor; anything else is refused.
 */
function fitToTopics(
  decision: Decision,
  { modelBytes, trainingBytes }: Pick<LifecycleTopics, "modelBytes" | "trainingBytes">,
): Decision | string {
  if (decision.kind === "requested" && decision.task !== null) {
    const { length } = encodeRequest(decision.task);
    return length + wrappingBytes <= trainingBytes ? decision : tooLarge("request", length, trainingBytes);
  }
  if (decision.kind !== "promoted") return decision;
  const { record } = decision;
  if (modelRecordCodec.encode(record).length + wrappingBytes <= modelBytes) return decision;
  const alone = { ...record, previous: null };
  const { length } = modelRecordCodec.encode(alone);
  if (length + wrappingBytes <= modelBytes) return { ...decision, record: alone };
  return tooLarge("model", length, modelBytes);
}

function tooLarge(what: string, bytes: number, limit: number): string {
  const needed = bytes + wrappingBytes;
  return `the ${what} needs ${needed} bytes with key and headers, its topic allows ${limit}: raise max.message.bytes, or keep less history or fewer members`;
}
