// What a failure of the Kafka client means for us. kafkajs knows protocol errors up to its own release and
// wraps them in several layers, so the meaning is looked for along the whole chain of causes.

interface KafkaFailure {
  readonly name?: string;
  readonly type?: string;
  readonly code?: number | string;
  readonly message?: string;
  readonly retriable?: boolean;
  readonly cause?: unknown;
  /** Of a failure that stands for several. */
  readonly errors?: readonly unknown[];
}

// 47 INVALID_PRODUCER_EPOCH and 90 PRODUCER_FENCED; kafkajs has no name for the second.
const fencedCodes = new Set<unknown>([47, 90]);

const passingTypes = new Set([
  "CONCURRENT_TRANSACTIONS",
  "COORDINATOR_LOAD_IN_PROGRESS",
  "COORDINATOR_NOT_AVAILABLE",
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
  "REPLICA_NOT_AVAILABLE",
  "REQUEST_TIMED_OUT",
  "UNKNOWN_LEADER_EPOCH",
  "FENCED_LEADER_EPOCH",
  "UNKNOWN_PRODUCER_ID",
  "UNKNOWN_TOPIC_OR_PARTITION",
]);

const passingNames = new Set([
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

/** The client trips over itself when its metadata is refreshed between two of its own questions; that passes. */
export function toPassing(error: unknown): unknown {
  if (!someCause(error, (failure) => failure instanceof TypeError)) return error;
  return Object.assign(new Error(reasonOf(error), { cause: error }), { retriable: true });
}

/** The producer's transactional id now belongs to another process. */
export function isFenced(error: unknown): boolean {
  return someCause(error, (failure) => fencedCodes.has(failure.code));
}

const refusedKindByType = {
  TOPIC_AUTHORIZATION_FAILED: "topic",
  GROUP_AUTHORIZATION_FAILED: "group",
  TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "transactionalId",
  CLUSTER_AUTHORIZATION_FAILED: "cluster",
} as const;

/** The kind of resource that our user may not use as it was asked to; null when it is not that. */
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

/** The client tells a coordinator that it may not ask for from one that is gone no better than this. */
export function isCoordinatorUnknown(error: unknown): boolean {
  return someCause(error, ({ name }) => name === "KafkaJSGroupCoordinatorNotFound");
}

export function isTooLarge(error: unknown): boolean {
  return someCause(error, (failure) => failure.type === "MESSAGE_TOO_LARGE");
}

export function isOutOfRange(error: unknown): boolean {
  return someCause(error, (failure) => failure.type === "OFFSET_OUT_OF_RANGE");
}

/** Likely to be gone when tried again with fresh connections: a lost broker, a moved coordinator. */
export function isPassing(error: unknown): boolean {
  if (isFenced(error) || isTooLarge(error) || refusedKind(error) !== null) return false;
  return someCause(
    error,
    (failure) =>
      failure.retriable === true ||
      passingTypes.has(failure.type ?? "") ||
      passingNames.has(failure.name ?? ""),
  );
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
