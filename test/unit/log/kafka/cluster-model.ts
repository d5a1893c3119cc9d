// A model of a cluster: transactions by id, partition logs with producer states, group offsets. Answers requests with
// the error codes of a real broker. Has no faults: a request takes effect completely or not at all.

import type { Outgoing } from "../../../../src/domain.ts";
import { partitionName } from "../../../../src/log/kafka/cluster-link.ts";
import { decodeRecordSet } from "../../../../src/log/kafka/wire/fetched-records.ts";
import {
  encodeRequest,
  type KafkaRequest,
  type TopicPartition,
} from "../../../../src/log/kafka/wire/protocol.ts";
import type {
  GroupOffset,
  TransactionalIdentity,
} from "../../../../src/log/kafka/wire/transaction-requests.ts";
import { WireReader } from "../../../../src/log/kafka/wire/wire-bytes.ts";
import { answerWith } from "./refusals.ts";

const [UNKNOWN_TOPIC, NOT_LEADER, OUT_OF_ORDER, DUPLICATE] = [3, 6, 45, 46];
const [STALE_EPOCH, INVALID_STATE, UNKNOWN_ID, CONCURRENT, UNKNOWN_PRODUCER] = [47, 48, 49, 51, 59];
const [ILLEGAL_GENERATION, UNSTABLE] = [22, 88];
const ID_NOT_FOUND = 105;
/** How many of a producer's last batches a broker recognizes. */
const REMEMBERED_BATCHES = 5;

const kafkaStates = {
  empty: "Empty",
  open: "Ongoing",
  committed: "CompleteCommit",
  aborted: "CompleteAbort",
} as const;
type State = keyof typeof kafkaStates;

interface Transaction {
  readonly producerId: number;
  epoch: number;
  state: State;
  places: Set<string>;
  groups: Set<string>;
  pending: { readonly group: string; readonly offset: GroupOffset }[];
}

interface LogEntry {
  readonly offset: number;
  readonly producerId: number;
  readonly key: string | null;
  readonly value: Buffer | null;
  fate: "none" | "open" | "committed" | "aborted" | "marker";
}

interface ProducerState {
  epoch: number;
  nextSequence: number;
  recent: { readonly firstSequence: number; readonly count: number; readonly offset: number }[];
}

interface PartitionLog {
  readonly entries: LogEntry[];
  readonly producers: Map<number, ProducerState>;
}

export class ClusterModel {
  readonly brokers: readonly string[] = ["1", "2", "3"];
  /** By partition name. By default, broker p mod 3 + 1 leads partition p. */
  readonly leaderByName = new Map<string, string>();
  readonly coordinators = { transaction: "2", group: "3" };
  readonly missingTopics = new Set<string>();
  /** Brokers before Kafka 2.8 have none. */
  hasTopicIds = true;
  readonly topicIds = new Map<string, string>();
  /** Of the group: offsets of members of another generation are refused. */
  generation = 1;
  /** How many requests the coordinator refuses with CONCURRENT_TRANSACTIONS after each transaction. */
  busyAfterEnd = 0;
  #busy = 0;
  #nextProducerId = 1000;
  readonly #transactions = new Map<string, Transaction>();
  readonly #logs = new Map<string, PartitionLog>();
  readonly #offsets = new Map<string, number>();

  leaderOf(place: TopicPartition): string {
    return this.leaderByName.get(partitionName(place)) ?? String((place.partition % 3) + 1);
  }

  /** What a subscriber of committed data reads. */
  committed(place: TopicPartition): readonly LogEntry[] {
    return this.#logOf(place).entries.filter(({ fate }) => fate === "none" || fate === "committed");
  }

  committedValues(topic: string, partition: number): readonly string[] {
    return this.committed({ topic, partition }).map(({ value }) => String(value));
  }

  get openTransactions(): number {
    return [...this.#transactions.values()].filter(({ state }) => state === "open").length;
  }

  epochOf(transactionalId: string): number {
    return this.#transactions.get(transactionalId)?.epoch ?? -1;
  }

  groupOffset(group: string, place: TopicPartition): number | null {
    return this.#offsets.get(`${group} ${partitionName(place)}`) ?? null;
  }

  setGroupOffset(group: string, place: TopicPartition, offset: number): void {
    this.#offsets.set(`${group} ${partitionName(place)}`, offset);
  }

  /** Writes outside any transaction. */
  append({ topic, partition, key, value }: Outgoing): void {
    const log = this.#logOf({ topic, partition });
    this.#writeTo(log, { producerId: -1, key: key?.toString() ?? null, value, fate: "none" });
  }

  /** Leaves an open transaction of another producer in the partition. */
  openTransaction(
    { transactionalId, producerId, epoch }: TransactionalIdentity,
    { topic, partition }: TopicPartition,
  ): void {
    const places = new Set([partitionName({ topic, partition })]);
    const parts = { places, groups: new Set<string>(), pending: [] };
    this.#transactions.set(transactionalId, { producerId, epoch, state: "open", ...parts });
    this.#writeTo(this.#logOf({ topic, partition }), {
      ...{ producerId, key: null, value: Buffer.from("other"), fate: "open" },
    });
  }

  /** Aborts the transaction under a higher epoch, as a coordinator does after a timeout. */
  timeOut(transactionalId: string): void {
    const transaction = this.#transactions.get(transactionalId);
    if (transaction?.state !== "open") return;
    transaction.epoch++;
    this.#end(transaction, "aborted");
  }

  timeOutAll(): void {
    for (const transactionalId of this.#transactions.keys()) this.timeOut(transactionalId);
  }

  /** Whether readers of committed data wait there. */
  hasUndecided(place: TopicPartition): boolean {
    return this.#logOf(place).entries.some(({ fate }) => fate === "open");
  }

  /** Executes the request and returns its answer. */
  apply(nodeId: string, request: KafkaRequest<unknown>): unknown {
    const { api, facts } = request;
    const identity = facts as unknown as TransactionalIdentity;
    const places = (facts.places ?? []) as readonly TopicPartition[];
    if (api === "Produce") return this.#produce(nodeId, encodeRequest(request));
    if (api === "ListOffsets") return this.#listOffsets(nodeId, places, String(facts.which));
    if (api === "DescribeTransactions") return [this.#describe(identity.transactionalId)];
    if (api === "DescribeProducers") return places.map((place) => this.#undecidedIn(place));
    if (api === "ListTransactions") {
      const transactionalIds = this.#idsOf(facts.producerIds as readonly number[]);
      return { errorCode: 0, transactionalIds };
    }
    if (api === "Metadata") return this.#findTopics(facts.topics as readonly string[]);
    if (api === "OffsetFetch") return this.#fetchOffsets(String(facts.group), places);
    if (this.#busy > 0 && api !== "EndTxn" && api !== "TxnOffsetCommit") {
      this.#busy--;
      return answerWith(request, CONCURRENT);
    }
    if (api === "InitProducerId") return this.#initialize(identity.transactionalId);
    if (api === "AddPartitionsToTxn")
      return places.map((place) => ({ ...place, errorCode: this.#addPlace(identity, place) }));
    if (api === "AddOffsetsToTxn") return { errorCode: this.#addGroup(identity, String(facts.group)) };
    if (api === "TxnOffsetCommit") {
      const offsets = facts.offsets as readonly GroupOffset[];
      return offsets.map((offset) => ({
        ...offset,
        errorCode:
          facts.generation === this.generation
            ? this.#commitOffset(identity, String(facts.group), offset)
            : ILLEGAL_GENERATION,
      }));
    }
    if (api === "EndTxn") return { errorCode: this.#endTxn(identity, facts.isCommit === true) };
    throw new Error(`the model has no ${api}`);
  }

  #initialize(transactionalId: string | null) {
    if (transactionalId === null) return { errorCode: 0, producerId: this.#nextProducerId++, epoch: 0 };
    const known = this.#transactions.get(transactionalId);
    if (known === undefined) {
      const producerId = this.#nextProducerId++;
      const fresh = { places: new Set<string>(), groups: new Set<string>(), pending: [] };
      this.#transactions.set(transactionalId, { producerId, epoch: 0, state: "empty", ...fresh });
      return { errorCode: 0, producerId, epoch: 0 };
    }
    known.epoch++;
    if (known.state === "open") this.#end(known, "aborted");
    known.state = "empty";
    return { errorCode: 0, producerId: known.producerId, epoch: known.epoch };
  }

  #check({ transactionalId, producerId, epoch }: TransactionalIdentity): Transaction | number {
    const transaction = this.#transactions.get(transactionalId);
    if (transaction === undefined || transaction.producerId !== producerId) return UNKNOWN_ID;
    return transaction.epoch === epoch ? transaction : STALE_EPOCH;
  }

  #begin(identity: TransactionalIdentity): Transaction | number {
    const transaction = this.#check(identity);
    if (typeof transaction === "number" || transaction.state === "open") return transaction;
    Object.assign(transaction, { state: "open", places: new Set(), groups: new Set(), pending: [] });
    return transaction;
  }

  #addPlace(identity: TransactionalIdentity, place: TopicPartition): number {
    if (this.missingTopics.has(place.topic)) return UNKNOWN_TOPIC;
    const transaction = this.#begin(identity);
    if (typeof transaction === "number") return transaction;
    transaction.places.add(partitionName(place));
    return 0;
  }

  #addGroup(identity: TransactionalIdentity, group: string): number {
    const transaction = this.#begin(identity);
    if (typeof transaction === "number") return transaction;
    transaction.groups.add(group);
    return 0;
  }

  #commitOffset(identity: TransactionalIdentity, group: string, offset: GroupOffset): number {
    const transaction = this.#check(identity);
    if (typeof transaction === "number") return transaction;
    if (transaction.state !== "open" || !transaction.groups.has(group)) return INVALID_STATE;
    transaction.pending.push({ group, offset });
    return 0;
  }

  #endTxn(identity: TransactionalIdentity, isCommit: boolean): number {
    const transaction = this.#check(identity);
    if (typeof transaction === "number") return transaction;
    const outcome = isCommit ? "committed" : "aborted";
    if (transaction.state !== "open") return transaction.state === outcome ? 0 : INVALID_STATE;
    this.#end(transaction, outcome);
    return 0;
  }

  #end(transaction: Transaction, outcome: "committed" | "aborted"): void {
    const { producerId, epoch } = transaction;
    for (const name of transaction.places) {
      // Like Kafka, treats a partition without a leader as deleted.
      if (this.leaderByName.get(name) === "none") continue;
      const log = this.#logNamed(name);
      for (const entry of log.entries)
        if (entry.producerId === producerId && entry.fate === "open") entry.fate = outcome;
      this.#writeTo(log, { producerId, key: null, value: Buffer.from(outcome), fate: "marker" });
      const state = log.producers.get(producerId);
      if (state !== undefined && state.epoch < epoch)
        log.producers.set(producerId, { epoch, nextSequence: 0, recent: [] });
    }
    if (outcome === "committed")
      for (const { group, offset } of transaction.pending) this.setGroupOffset(group, offset, offset.offset);
    transaction.state = outcome;
    this.#busy = this.busyAfterEnd;
  }

  #produce(nodeId: string, bytes: Buffer) {
    const reader = new WireReader(bytes);
    const transactionalId = reader.string();
    reader.int16(); // acknowledgements
    reader.int32(); // timeout
    return reader
      .array(() => {
        const topic = reader.string() ?? "";
        return reader.array(() => ({ topic, partition: reader.int32(), batch: reader.blob() }));
      })
      .flat()
      .map(({ topic, partition, batch }) => {
        const place = { topic, partition };
        const produced =
          this.leaderOf(place) === nodeId ? this.#appendBatch(place, transactionalId, batch) : NOT_LEADER;
        return typeof produced === "number"
          ? { ...place, errorCode: produced, baseOffset: -1 }
          : { ...place, errorCode: 0, ...produced };
      });
  }

  #appendBatch(
    place: TopicPartition,
    transactionalId: string | null,
    batch: Buffer,
  ): number | { baseOffset: number } {
    if (this.missingTopics.has(place.topic)) return UNKNOWN_TOPIC;
    const producerId = Number(batch.readBigInt64BE(43));
    const epoch = batch.readInt16BE(51);
    const firstSequence = batch.readInt32BE(53);
    const count = batch.readInt32BE(57);
    const log = this.#logOf(place);
    const known = log.producers.get(producerId);
    const refusal = transactionalId === null ? 0 : this.#verify(transactionalId, producerId, epoch, place);
    if (refusal !== 0) return refusal;
    if (known !== undefined && epoch < known.epoch) return STALE_EPOCH;
    if (known !== undefined && epoch === known.epoch) {
      const same = known.recent.find((b) => b.firstSequence === firstSequence && b.count === count);
      if (same !== undefined) return { baseOffset: same.offset };
      if (firstSequence < known.nextSequence) return DUPLICATE;
      if (firstSequence > known.nextSequence) return OUT_OF_ORDER;
    } else if (firstSequence !== 0) return known === undefined ? UNKNOWN_PRODUCER : OUT_OF_ORDER;
    const baseOffset = log.entries.length;
    const records = decodeRecordSet(batch, 1 << 26).flatMap((decoded) => decoded.records);
    const fate = transactionalId === null ? "none" : "open";
    for (const { key, value } of records)
      this.#writeTo(log, { producerId, key: key?.toString() ?? null, value, fate });
    const recent = epoch === known?.epoch ? known.recent : [];
    log.producers.set(producerId, {
      epoch,
      nextSequence: firstSequence + count,
      recent: [...recent, { firstSequence, count, offset: baseOffset }].slice(-REMEMBERED_BATCHES),
    });
    return { baseOffset };
  }

  /** A leader asks the coordinator before the first write of a transaction. */
  #verify(transactionalId: string, producerId: number, epoch: number, place: TopicPartition): number {
    const transaction = this.#check({ transactionalId, producerId, epoch });
    if (typeof transaction === "number") return transaction;
    return transaction.state === "open" && transaction.places.has(partitionName(place)) ? 0 : INVALID_STATE;
  }

  #listOffsets(nodeId: string, places: readonly TopicPartition[], which: string) {
    return places.map((place) => ({
      ...place,
      errorCode: this.leaderOf(place) === nodeId ? 0 : NOT_LEADER,
      offset: which === "earliest" ? 0 : this.#endOf(this.#logOf(place), which),
    }));
  }

  #endOf({ entries }: PartitionLog, which: string): number {
    const firstOpen = which === "stable" ? entries.findIndex(({ fate }) => fate === "open") : -1;
    return firstOpen < 0 ? entries.length : firstOpen;
  }

  #describe(transactionalId: string) {
    const transaction = this.#transactions.get(transactionalId);
    if (transaction === undefined) return { errorCode: ID_NOT_FOUND, state: "", places: [] };
    const { state } = transaction;
    const places = state === "open" ? [...transaction.places].map(placeNamed) : [];
    return { errorCode: 0, state: kafkaStates[state], places };
  }

  #undecidedIn(place: TopicPartition) {
    const open = this.#logOf(place).entries.filter(({ fate }) => fate === "open");
    return { ...place, errorCode: 0, undecided: [...new Set(open.map(({ producerId }) => producerId))] };
  }

  #idsOf(producerIds: readonly number[]): readonly string[] {
    const all = [...this.#transactions];
    return all.filter(([, { producerId }]) => producerIds.includes(producerId)).map(([id]) => id);
  }

  #findTopics(topics: readonly string[]) {
    const found = topics.map((topic) => ({
      topic,
      errorCode: 0,
      topicId: this.topicIds.get(topic) ?? `id of ${topic}`,
    }));
    return { topics: found };
  }

  #fetchOffsets(group: string, places: readonly TopicPartition[]) {
    const unstable = new Set(
      [...this.#transactions.values()]
        .filter(({ state }) => state === "open")
        .flatMap(({ pending }) => pending.map(({ group: of, offset }) => `${of} ${partitionName(offset)}`)),
    );
    const offsets = places.map((place) => ({
      ...place,
      errorCode: unstable.has(`${group} ${partitionName(place)}`) ? UNSTABLE : 0,
      offset: this.groupOffset(group, place) ?? -1,
    }));
    return { errorCode: 0, offsets };
  }

  #logOf(place: TopicPartition): PartitionLog {
    return this.#logNamed(partitionName(place));
  }

  #logNamed(name: string): PartitionLog {
    const known = this.#logs.get(name) ?? { entries: [], producers: new Map() };
    this.#logs.set(name, known);
    return known;
  }

  #writeTo(log: PartitionLog, entry: Omit<LogEntry, "offset">): void {
    log.entries.push({ ...entry, offset: log.entries.length });
  }
}

function placeNamed(name: string): TopicPartition {
  const at = name.lastIndexOf("/");
  return { topic: name.slice(0, at), partition: Number(name.slice(at + 1)) };
}
