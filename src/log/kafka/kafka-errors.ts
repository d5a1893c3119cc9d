// What a failed request means for us: whether a retry can help, and what to report. Covers error codes in answers to
// our own requests, and errors of the Kafka client. kafkajs knows protocol errors only up to its own release and
// wraps them in several layers, so these functions search the whole chain of causes.
//
// A broker that refuses a request names neither the resource nor the missing right. The caller knows what it asked for
// and passes it in as `NeededRights`.

import { ForecastnetError } from "../../runtime/errors.ts";
import type { Logger } from "../../runtime/logging.ts";
import type { Subscription } from "../log.ts";

const UNKNOWN_SERVER_ERROR = -1;

interface KafkaFailure {
  readonly name?: string;
  readonly type?: string;
  readonly code?: number | string;
  readonly message?: string;
  readonly retriable?: boolean;
  readonly cause?: unknown;
  /** Set on a failure that combines several. */
  readonly errors?: readonly unknown[];
}

// 47 INVALID_PRODUCER_EPOCH and 90 PRODUCER_FENCED; kafkajs has no name for the second.
const fencedCodes = new Set<unknown>([47, 90]);

const retriableTypes = new Set([
  "CONCURRENT_TRANSACTIONS",
  "CORRUPT_MESSAGE",
  "COORDINATOR_LOAD_IN_PROGRESS",
  "COORDINATOR_NOT_AVAILABLE",
  "DUPLICATE_SEQUENCE_NUMBER",
  "GROUP_COORDINATOR_NOT_AVAILABLE",
  "GROUP_LOAD_IN_PROGRESS",
  "INVALID_TXN_STATE",
  "INVALID_PRODUCER_ID_MAPPING",
  "LEADER_NOT_AVAILABLE",
  "NETWORK_EXCEPTION",
  "NOT_COORDINATOR_FOR_GROUP",
  "NOT_CONTROLLER",
  "NOT_ENOUGH_REPLICAS",
  "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
  "NOT_LEADER_FOR_PARTITION",
  "OUT_OF_ORDER_SEQUENCE_NUMBER",
  "OFFSET_NOT_AVAILABLE",
  "REPLICA_NOT_AVAILABLE",
  "REQUEST_TIMED_OUT",
  "UNKNOWN_LEADER_EPOCH",
  "FENCED_LEADER_EPOCH",
  "KAFKA_STORAGE_ERROR",
  "OPERATION_NOT_ATTEMPTED",
  "THROTTLING_QUOTA_EXCEEDED",
  "TRANSACTION_ABORTABLE",
  "TRANSACTION_COORDINATOR_FENCED",
  "UNKNOWN_PRODUCER_ID",
  "UNSTABLE_OFFSET_COMMIT",
  "UNKNOWN_TOPIC_OR_PARTITION",
]);

const retriableNames = new Set([
  "KafkaJSBrokerNotFound",
  "KafkaJSConnectionError",
  "KafkaJSConnectionClosedError",
  "KafkaJSRequestTimeoutError",
  "KafkaJSGroupCoordinatorNotFound",
  "KafkaJSMetadataNotLoaded",
  "KafkaJSNoBrokerAvailableError",
  "KafkaJSNumberOfRetriesExceeded",
  "KafkaJSTopicMetadataNotLoaded",
  "KafkaJSLockTimeout",
]);

/** The producer's transactional id now belongs to another process. */
export function isFenced(error: unknown): boolean {
  return someCause(error, (failure) => fencedCodes.has(failure.code));
}

// ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID, REBALANCE_IN_PROGRESS and FENCED_INSTANCE_ID.
const staleMemberCodes = new Set<unknown>([22, 25, 27, 82]);

/** The group has a newer generation, or has dropped this member. */
export function isStaleMember(error: unknown): boolean {
  return someCause(error, (failure) => staleMemberCodes.has(failure.code));
}

const refusedKindByType = {
  TOPIC_AUTHORIZATION_FAILED: "topic",
  GROUP_AUTHORIZATION_FAILED: "group",
  TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "transactionalId",
  CLUSTER_AUTHORIZATION_FAILED: "cluster",
} as const;

/** The kind of resource that our user lacks a right on; null for any other failure. */
export function refusedKind(
  error: unknown,
): (typeof refusedKindByType)[keyof typeof refusedKindByType] | null {
  let kind: ReturnType<typeof refusedKind> = null;
  someCause(error, ({ type = "", errors = [] }) => {
    if (Object.hasOwn(refusedKindByType, type)) {
      kind = refusedKindByType[type as keyof typeof refusedKindByType];
    }
    for (const part of errors) kind ??= refusedKind(part);
    return kind !== null;
  });
  return kind;
}

export function isTooLarge(error: unknown): boolean {
  return someCause(error, ({ type }) => type === "MESSAGE_TOO_LARGE" || type === "RECORD_LIST_TOO_LARGE");
}

/** The previous transaction is still being completed; the request had no effect. */
export function isConcurrent(error: unknown): boolean {
  return someCause(error, ({ type }) => type === "CONCURRENT_TRANSACTIONS");
}

/** A transaction that moves the offset is still open. */
export function isUnstable(error: unknown): boolean {
  return someCause(error, ({ type }) => type === "UNSTABLE_OFFSET_COMMIT");
}

/** The broker already has the batch from an earlier attempt. */
export function isDuplicate(error: unknown): boolean {
  return someCause(error, ({ type }) => type === "DUPLICATE_SEQUENCE_NUMBER");
}

export function isMissing(error: unknown): boolean {
  return someCause(error, (failure) => failure.type === "UNKNOWN_TOPIC_OR_PARTITION");
}

export function isOutOfRange(error: unknown): boolean {
  return someCause(error, (failure) => failure.type === "OFFSET_OUT_OF_RANGE");
}

/** A retry over fresh connections is likely to succeed, as after a lost broker or a moved coordinator. */
export function isRetriable(error: unknown): boolean {
  if (isFenced(error) || isTooLarge(error) || refusedKind(error) !== null) return false;
  return someCause(
    error,
    (failure) =>
      failure.retriable === true ||
      retriableTypes.has(failure.type ?? "") ||
      retriableNames.has(failure.name ?? ""),
  );
}

/**
 * For requests without side effects. Brokers report internal failures, such as unreadable tiered storage, as
 * UNKNOWN_SERVER_ERROR. A read can be retried; after a write, the outcome would be unknown.
 */
export function isRetriableRead(error: unknown): boolean {
  return isRetriable(error) || (error instanceof BrokerError && error.code === UNKNOWN_SERVER_ERROR);
}

/** Failed attempts before a warning, and between two warnings: about ten seconds. */
const ATTEMPTS_PER_WARNING = 8;

/** To be called after every failed attempt, counted from 0. Warns after every eighth. */
export function warnOfFailure(logger: Logger, attempt: number, error: unknown, facts: object = {}): void {
  if (attempt % ATTEMPTS_PER_WARNING !== ATTEMPTS_PER_WARNING - 1) return;
  logger.warn({ ...facts, reason: reasonOf(error) }, "log did not answer, trying again");
}

/** The failure to report out of several: one that a retry cannot fix, if there is any. */
export function mostSevere<T>(failures: readonly T[]): T | undefined {
  return failures.find((error) => !isRetriable(error)) ?? failures[0];
}

export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function someCause(error: unknown, matches: (failure: KafkaFailure) => boolean): boolean {
  let current: unknown = error;
  while (typeof current === "object" && current !== null) {
    const failure = current as KafkaFailure;
    if (matches(failure)) return true;
    current = failure.cause;
  }
  return false;
}

const nameByCode: Readonly<Record<number, string>> = {
  [-1]: "UNKNOWN_SERVER_ERROR",
  1: "OFFSET_OUT_OF_RANGE",
  2: "CORRUPT_MESSAGE",
  3: "UNKNOWN_TOPIC_OR_PARTITION",
  5: "LEADER_NOT_AVAILABLE",
  6: "NOT_LEADER_FOR_PARTITION",
  7: "REQUEST_TIMED_OUT",
  9: "REPLICA_NOT_AVAILABLE",
  10: "MESSAGE_TOO_LARGE",
  13: "NETWORK_EXCEPTION",
  14: "GROUP_LOAD_IN_PROGRESS",
  15: "GROUP_COORDINATOR_NOT_AVAILABLE",
  16: "NOT_COORDINATOR_FOR_GROUP",
  17: "INVALID_TOPIC_EXCEPTION",
  22: "ILLEGAL_GENERATION",
  23: "INCONSISTENT_GROUP_PROTOCOL",
  25: "UNKNOWN_MEMBER_ID",
  26: "INVALID_SESSION_TIMEOUT",
  27: "REBALANCE_IN_PROGRESS",
  18: "RECORD_LIST_TOO_LARGE",
  19: "NOT_ENOUGH_REPLICAS",
  20: "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
  29: "TOPIC_AUTHORIZATION_FAILED",
  30: "GROUP_AUTHORIZATION_FAILED",
  31: "CLUSTER_AUTHORIZATION_FAILED",
  32: "INVALID_TIMESTAMP",
  35: "UNSUPPORTED_VERSION",
  41: "NOT_CONTROLLER",
  43: "UNSUPPORTED_FOR_MESSAGE_FORMAT",
  44: "POLICY_VIOLATION",
  45: "OUT_OF_ORDER_SEQUENCE_NUMBER",
  46: "DUPLICATE_SEQUENCE_NUMBER",
  47: "INVALID_PRODUCER_EPOCH",
  48: "INVALID_TXN_STATE",
  49: "INVALID_PRODUCER_ID_MAPPING",
  50: "INVALID_TRANSACTION_TIMEOUT",
  51: "CONCURRENT_TRANSACTIONS",
  52: "TRANSACTION_COORDINATOR_FENCED",
  53: "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
  55: "OPERATION_NOT_ATTEMPTED",
  56: "KAFKA_STORAGE_ERROR",
  59: "UNKNOWN_PRODUCER_ID",
  74: "FENCED_LEADER_EPOCH",
  75: "UNKNOWN_LEADER_EPOCH",
  76: "UNSUPPORTED_COMPRESSION_TYPE",
  78: "OFFSET_NOT_AVAILABLE",
  79: "MEMBER_ID_REQUIRED",
  81: "GROUP_MAX_SIZE_REACHED",
  82: "FENCED_INSTANCE_ID",
  87: "INVALID_RECORD",
  88: "UNSTABLE_OFFSET_COMMIT",
  89: "THROTTLING_QUOTA_EXCEEDED",
  90: "PRODUCER_FENCED",
  120: "TRANSACTION_ABORTABLE",
};

export class BrokerError extends Error {
  readonly code: number;
  readonly type: string;

  /** `what` is the request, with the partition if the answer concerns one. */
  constructor(code: number, what: string) {
    const type = nameByCode[code] ?? `ERROR_${code}`;
    super(`${what} was answered with ${type}`);
    this.name = "BrokerError";
    this.code = code;
    this.type = type;
  }
}

/** No answer arrived, or an incomplete one. Whether the request took effect is unknown. */
export class NoAnswerError extends Error {
  /** Read by `isRetriable`. */
  readonly retriable = true;

  constructor(what: string, options?: ErrorOptions) {
    super(what, options);
    this.name = "NoAnswerError";
  }
}

export function assertSuccess(errorCode: number, what: string): void {
  if (errorCode !== 0) throw new BrokerError(errorCode, what);
}

/** The rights that a request needs, by kind of resource, as text such as "Read on group a". */
export interface NeededRights {
  readonly topic?: string;
  readonly group?: string;
  readonly transactionalId?: string;
  readonly cluster?: string;
}

/** The reason for a failure. If rights are missing, the text names them. */
export function reasonWithRights(error: unknown, needed: NeededRights): string {
  const reason = reasonOf(error);
  const kind = refusedKind(error);
  if (kind !== null) return `${reason}: the user needs ${needed[kind] ?? "more rights"}`;
  return reason;
}

/** The reason for a failed group request. */
export function groupReason(
  error: unknown,
  { group, inputs }: Pick<Subscription, "group" | "inputs">,
): string {
  return reasonWithRights(error, { group: `Read on group ${group}`, topic: rightOnTopics("Read", inputs) });
}

/** For a failure that a retry cannot fix. */
export function logFailure(
  message: string,
  cause: unknown,
  context: Readonly<Record<string, unknown>> = {},
): ForecastnetError {
  const code = refusedKind(cause) === null ? "LOG_FAILED" : "NOT_AUTHORIZED";
  return new ForecastnetError(code, message, { cause, context });
}

export function readFailure(topic: string, cause: unknown): ForecastnetError {
  const reason = reasonWithRights(cause, { topic: rightOnTopics("Read", [topic]) });
  return logFailure(`topic ${topic} could not be read: ${reason}`, cause, { topic });
}

export function notAuthorized(error: unknown, needed: NeededRights): ForecastnetError {
  return new ForecastnetError("NOT_AUTHORIZED", reasonWithRights(error, needed), { cause: error });
}

export function rightOnTopics(operation: string, topics: readonly string[]): string {
  return `${operation} on topic ${[...new Set(topics)].join(", ")}`;
}
