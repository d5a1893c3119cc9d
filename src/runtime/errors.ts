// Every error we raise ourselves: one class, and one table that says of each code whether trying again can
// help and what to do. The error pages of the docs are made from this table.
//
// A record on a topic can be permanently damaged. Callers that must still decide get the reason as text instead of an exception.

export const errorTable = {
  CONFIG_INVALID: {
    retryable: false,
    remedy: "Correct the keys named in the message; `forecastnet config check` runs the same checks.",
  },
  INPUT_INVALID: {
    retryable: false,
    remedy:
      "Correct the line that the message names, or tell the command what the columns are: --time, --series, --value.",
  },
  TOPIC_MISSING: {
    retryable: false,
    remedy: "Create the topic, or set kafka.createTopics so that the worker creates its own.",
  },
  TOPIC_AWAITED: {
    retryable: true,
    remedy:
      "Create or change the topics as the message says; `forecastnet topics create` creates the missing ones. The process waits until then.",
  },
  TOPIC_UNFIT: {
    retryable: false,
    remedy: "Change the topic's partition count or settings as the message says.",
  },
  PARTITION_LOST: {
    retryable: false,
    remedy:
      "If a rebalance moved the partition, do nothing. Otherwise two fleets share one consumer group; give each its own.",
  },
  POSITIONS_CONTRADICT: {
    retryable: true,
    remedy:
      "Somebody reset the group's offsets, or copied one topic without the other. Stop the workers and reset the group to the position of the state (kafka-consumer-groups --reset-offsets --to-offset), or, if the reset was intended, start them once with kafka.positions=group, which reads input again or skips it. Other partitions continue.",
  },
  BROKER_UNREACHABLE: {
    retryable: true,
    remedy: "Check kafka.brokers, the network and the broker; the worker keeps trying.",
  },
  NOT_AUTHORIZED: {
    retryable: true,
    remedy:
      "Grant the right that the message names to the user of kafka.sasl or of the client certificate; docs/acls.md lists all rights. The process retries its start.",
  },
  RECORD_TOO_LARGE: {
    retryable: false,
    remedy: "Raise max.message.bytes of the named topic, or make the record smaller (history, horizon).",
  },
  STATE_CORRUPT: {
    retryable: false,
    remedy: "The state topic holds a record that this version cannot read. Find out what else writes to it.",
  },
  REGISTRY_UNREACHABLE: {
    retryable: true,
    remedy: "Check registry.url and its credentials; decoding waits until the registry answers.",
  },
  REGISTRY_REFUSED: {
    retryable: false,
    remedy:
      "The registry refused the request. Check registry.username, its password, and the subject's compatibility.",
  },
  MODEL_UNFIT: {
    retryable: false,
    remedy:
      "The model is damaged, or was made by another release or for another shape of series. Retrain it.",
  },
  WINDOW_UNFIT: {
    retryable: false,
    remedy: "Give the named model a window without NaN, with the length and channels that it was trained on.",
  },
  ENGINE_FAILED: {
    retryable: false,
    remedy:
      "The engine did not start, or failed; the message gives the reason. `engine.kind: simd` runs everywhere.",
  },
  SHUTDOWN_FORCED: {
    retryable: false,
    remedy: "The worker could not settle within its grace period. Raise worker.graceMs if this repeats.",
  },
  LOG_FAILED: {
    retryable: false,
    remedy:
      "The log refused the request, and a retry cannot help; the cause gives the reason. Restart the worker.",
  },
} as const satisfies Record<string, { retryable: boolean; remedy: string }>;

export type ErrorCode = keyof typeof errorTable;

export class ForecastnetError extends Error {
  readonly code: ErrorCode;
  readonly retryable: boolean;
  readonly context: Readonly<Record<string, unknown>>;

  constructor(
    code: ErrorCode,
    message: string,
    details: { readonly cause?: unknown; readonly context?: Readonly<Record<string, unknown>> } = {},
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = "ForecastnetError";
    this.code = code;
    this.retryable = errorTable[code].retryable;
    this.context = details.context ?? {};
  }

  get remedy(): string {
    return errorTable[this.code].remedy;
  }
}

/** Another member of the group owns the partition now; what was not committed will be done there. */
export class PartitionLostError extends ForecastnetError {
  constructor(partition: number, why: string, cause?: unknown) {
    super("PARTITION_LOST", `partition ${partition} is no longer ours: ${why}`, {
      cause,
      context: { partition },
    });
    this.name = "PartitionLostError";
  }
}

/** What `act` gives, or the message of an error that trying again cannot mend. */
export async function valueOrReason<T>(act: () => T | Promise<T>): Promise<T | string> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof ForecastnetError) || error.retryable) throw error;
    return error.message;
  }
}
