// The stage of stories about retraining: settings under which a model is trained within seconds, and all that the
// topics tell of models.

import { type AvroCodec, avroCodec } from "../../../src/log/codec/avro.ts";
import { type ModelKey, readModelKey } from "../../../src/log/codec/model-keys.ts";
import type {
  ModelEventRecord,
  ModelRecord,
  TrainingOutcomeRecord,
  TrainingRequestRecord,
} from "../../../src/log/codec/schemas.generated.ts";
import type { Log, StoredRecord } from "../../../src/log/log.ts";
import { ForecastnetError } from "../../../src/runtime/errors.ts";
import type { Story, StoryOptions } from "./story.ts";

export const horizon = 6;
/** Steps that are kept, and that a series must have before its first training. */
export const history = 240;

/** Over these come a story's own settings. */
export function learning(retrain: object, series: object = {}): StoryOptions {
  return {
    config: () => ({
      series: { interval: "PT1M", horizon, season: horizon, history, family: "forecastnet", ...series },
      engine: { kind: "simd", threads: 1, paths: 32 },
      output: { levels: [0.025, 0.1, 0.5, 0.9, 0.975] },
      retrain: {
        ...{ schedule: "* * * * * *", jitterMs: 0, inFlight: 100, minHistory: history },
        ...{ effort: "quick", members: 1, cooldownSteps: 24, evidenceSteps: 24, rollingSteps: 18 },
        ...retrain,
      },
    }),
  };
}

const eventCodec = avroCodec("ModelEvent");
const modelCodec = avroCodec("ModelRecord");
const outcomeCodec = avroCodec("TrainingOutcome");
const requestCodec = avroCodec("TrainingRequest");
const attemptCodec = avroCodec("TrainingAttempt");

/** Decisions as they are committed, in the order of each series. */
export class EventWatch {
  readonly events: ModelEventRecord[] = [];
  readonly #stopping = new AbortController();
  readonly #reading: Promise<void>;

  private constructor(log: Log, topic: string) {
    this.#reading = this.#read(log, topic);
    this.#reading.catch(() => undefined); // told by stop()
  }

  /** Its topic must be there: a worker makes it. */
  static over(story: Story): EventWatch {
    const watch = new EventWatch(story.log, story.config.topics.events);
    story.atEnd(() => watch.stop());
    return watch;
  }

  of(modelKey: string): readonly ModelEventRecord[] {
    return this.events.filter((event) => event.modelKey === modelKey);
  }

  count(kind: ModelEventRecord["kind"]): number {
    return this.events.filter((event) => event.kind === kind).length;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#reading;
  }

  async #read(log: Log, topic: string): Promise<void> {
    for await (const { records } of log.follow(topic, "earliest", this.#stopping.signal)) {
      for (const { value } of records) this.events.push(eventCodec.decode(value as Buffer));
    }
  }
}

/** All that was ever written about models and can be read, before compaction has taken any of it. */
export interface ModelTopics {
  readonly requests: readonly TrainingRequestRecord[];
  readonly outcomes: readonly TrainingOutcomeRecord[];
  /** As they were put into service. */
  readonly models: readonly ModelRecord[];
  readonly events: readonly ModelEventRecord[];
  /** Keys of outcomes and orders that still lie on the models topic. */
  readonly waiting: readonly string[];
}

export async function readModelTopics({ log, config: { topics } }: Story): Promise<ModelTopics> {
  const written = await readTopic(log, topics.models);
  const ofPart = (part: ModelKey["part"]) =>
    written.filter(({ key }) => readModelKey(String(key)).part === part);
  const waiting = new Set<string>();
  for (const { key, value } of [...ofPart("outcome"), ...ofPart("order")]) {
    if (value === null) waiting.delete(String(key));
    else waiting.add(String(key));
  }
  return {
    requests: readable(await readTopic(log, topics.training), requestCodec),
    outcomes: readable(ofPart("outcome"), outcomeCodec),
    models: readable(ofPart("champion"), modelCodec),
    events: readable(await readTopic(log, topics.events), eventCodec),
    waiting: [...waiting],
  };
}

function readable<T>(records: readonly StoredRecord[], codec: AvroCodec<T>): T[] {
  return records.flatMap(({ value }) => {
    try {
      return value === null ? [] : [codec.decode(value)];
    } catch (error) {
      if (!(error instanceof ForecastnetError)) throw error;
      return []; // A story wrote it to see that nobody minds.
    }
  });
}

/** How often the work on each request was begun at most, as its trainers noted it. */
export async function readAttempts({ log, config: { topics } }: Story): Promise<ReadonlyMap<string, number>> {
  const attemptsById = new Map<string, number>();
  for (const { key, value } of await readTopic(log, topics.attempts)) {
    if (value === null || String(key) === "#positions") continue; // Answered, or not about a request.
    const { requestId, attempts } = attemptCodec.decode(value);
    attemptsById.set(requestId, Math.max(attempts, attemptsById.get(requestId) ?? 0));
  }
  return attemptsById;
}

/** Up to where each partition ends now. */
export async function readTopic(log: Log, topic: string): Promise<StoredRecord[]> {
  const found: StoredRecord[] = [];
  for await (const { records } of log.read(topic, AbortSignal.timeout(60_000))) found.push(...records);
  return found;
}
