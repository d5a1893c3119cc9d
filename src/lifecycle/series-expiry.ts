// Forgets series: those that have been silent for `series.forgetAfter`, and those that are ordered to be forgotten. The owner of
// the partition deletes everything stored of a series in one transaction, at the start of a batch: its blocks, live scores
// and pending forecasts, its own model, and the pending records of that. A cohort's model stays. A series that sends again
// starts as new.
//
// Nothing is forgotten while input of the partition is unread: after an outage of the workers every series looks silent, and
// what it sent meanwhile is in that input.

import { setImmediate } from "node:timers/promises";
import type { Outgoing } from "../domain.ts";
import { avroCodec } from "../log/codec/avro.ts";
import { orderKey, outcomeKey } from "../log/codec/model-keys.ts";
import type { ModelEventRecord } from "../log/codec/schemas.generated.ts";
import { isCohortKey } from "../models/cohort.ts";
import type { ForgetReason } from "../runtime/metric-groups.ts";
import type { PartitionView } from "./partition-view.ts";

/** Pending records of the models topic, by model key. */
interface PendingByKey {
  readonly outcomes: Map<string, unknown>;
  readonly orders: Map<string, unknown>;
}

/** Delay of the first sweep: a new lane may not know its unread input yet. */
const settlingMs = 5 * 60_000;
const sweepEveryMs = 60_000;
/** Series checked between two turns of the event loop. */
const seriesPerTurn = 1_000;
/** Records after which a sweep continues with the next transaction. */
const mostRecords = 10_000;
/** Ids in the log line of a sweep. */
const mostExamples = 5;

const eventCodec = avroCodec("ModelEvent");

export class SeriesExpiry {
  readonly #view: PartitionView;
  readonly #pending: PendingByKey;
  readonly #reasonById = new Map<string, ForgetReason>();
  /** Called when the next batch has something to commit. */
  readonly #onDecided: () => void;
  #nextSweepMs: number | null = null;
  /** Examples for the next log line. */
  #forgotten: string[] = [];
  #forgottenCount = 0;
  /** Reasons of the series forgotten since `takeCount`. */
  #uncounted: ForgetReason[] = [];

  constructor(view: PartitionView, pending: PendingByKey, onDecided: () => void) {
    this.#view = view;
    this.#pending = pending;
    this.#onDecided = onDecided;
  }

  get isWaiting(): boolean {
    return this.#reasonById.size > 0;
  }

  /** Forgets the series with the next batch, even if it sends. */
  order(seriesId: string): void {
    this.#reasonById.set(seriesId, "ordered");
    this.#onDecided();
  }

  /** Finds series that have been silent for too long; at most once a minute. */
  async sweep(): Promise<void> {
    const { clock, unread, series } = this.#view;
    const nowMs = clock.nowMs();
    this.#nextSweepMs ??= nowMs + settlingMs;
    if (nowMs < this.#nextSweepMs || unread() !== 0) return;
    this.#nextSweepMs = nowMs + sweepEveryMs;
    let looked = 0;
    for (const seriesId of series.silent()) {
      if (++looked % seriesPerTurn === 0) await setImmediate();
      if (seriesId !== null && !this.#reasonById.has(seriesId)) this.#reasonById.set(seriesId, "silent");
    }
    if (this.isWaiting) this.#onDecided();
    if (looked > 0) await setImmediate(); // The sweeps of other partitions follow.
  }

  /** Forgets the series that are due. `isSending` tells whether a series sends in the batch. Returns the records to commit. */
  apply(isSending: (seriesId: string) => boolean): readonly Outgoing[] {
    if (!this.isWaiting) return [];
    const records: Outgoing[] = [];
    for (const [seriesId, reason] of this.#reasonById) {
      if (records.length >= mostRecords) break;
      this.#reasonById.delete(seriesId);
      // It may have sent since the sweep, or in this batch.
      if (reason === "silent" && (!this.#isSilent(seriesId) || isSending(seriesId))) continue;
      records.push(...this.#forget(seriesId, reason));
    }
    if (!this.isWaiting) this.#logForgotten();
    return records;
  }

  /** Returns a function that counts the series forgotten since the last call. Call it once they are committed. */
  takeCount(): () => void {
    const reasons = this.#uncounted;
    this.#uncounted = [];
    return () => {
      for (const reason of reasons) this.#view.metrics.forgot(reason);
    };
  }

  #isSilent(seriesId: string): boolean {
    const endMs = this.#view.series.endsAtMs(seriesId);
    return endMs !== null && endMs <= this.#view.clock.nowMs();
  }

  #forget(seriesId: string, reason: ForgetReason): readonly Outgoing[] {
    const { series, scoreStore, topics } = this.#view;
    const stateKeys = [...series.forget(seriesId), ...scoreStore.forget(seriesId)];
    const version = this.#view.models.get(seriesId)?.facts.version ?? null;
    const modelKeys = this.#dropModel(seriesId, reason);
    this.#uncounted.push(reason);
    this.#forgottenCount++;
    if (this.#forgotten.length < mostExamples) this.#forgotten.push(seriesId);
    return [
      ...stateKeys.map((key) => this.#tombstone(topics.state, key)),
      ...modelKeys.map((key) => this.#tombstone(topics.models, key)),
      this.#event(seriesId, version, reason),
    ];
  }

  /** Returns the keys to delete. The model's own is always among them, since a record that cannot serve must go, too. */
  #dropModel(seriesId: string, reason: ForgetReason): readonly string[] {
    const { outcomes, orders } = this.#pending;
    // On the models topic this id is the key of a cohort.
    if (isCohortKey(seriesId)) return [];
    this.#view.models.remove(seriesId);
    const hadOutcome = outcomes.delete(seriesId);
    const hadOrder = orders.delete(seriesId) || reason === "ordered";
    return [
      seriesId,
      ...(hadOutcome ? [outcomeKey(seriesId)] : []),
      ...(hadOrder ? [orderKey(seriesId)] : []),
    ];
  }

  #event(seriesId: string, fromVersion: string | null, reason: ForgetReason): Outgoing {
    const { topics, partition, clock } = this.#view;
    const timeMs = clock.nowMs();
    const event: ModelEventRecord = {
      id: `${seriesId}/forgotten/${fromVersion ?? "cold"}/${timeMs}`,
      modelKey: seriesId,
      kind: "FORGOTTEN",
      fromVersion,
      toVersion: null,
      numbers: {},
      time: timeMs,
      reason: reason === "silent" ? "it was silent for series.forgetAfter" : "ordered by hand",
    };
    return {
      topic: topics.events,
      partition: partition % topics.eventPartitions,
      key: Buffer.from(seriesId),
      value: eventCodec.encode(event),
    };
  }

  #tombstone(topic: string, key: string): Outgoing {
    return { topic, partition: this.#view.partition, key: Buffer.from(key), value: null };
  }

  #logForgotten(): void {
    if (this.#forgottenCount === 0) return;
    const { logger, partition } = this.#view;
    logger.info({ partition, series: this.#forgottenCount, seriesIds: this.#forgotten }, "series forgotten");
    this.#forgotten = [];
    this.#forgottenCount = 0;
  }
}
