// The histories of a cohort's members, wherever they live: read from the state topic, since the members of a cohort
// are spread over all partitions and so over all workers.

import type { LaneParts } from "./lane.ts";
import { avroCodec } from "./log/codec/avro.ts";
import type { StateBlockRecord } from "./log/codec/schemas.generated.ts";
import type { Log } from "./log/log.ts";
import type { History } from "./retrain/training-task.ts";
import { SeriesStore } from "./window/series-store.ts";
import { isBlockKey } from "./window/state-blocks.ts";

export interface GatherParts {
  readonly log: Log;
  readonly pipeline: Pick<LaneParts, "stateTopic" | "settingsOf">;
  readonly signal: AbortSignal;
}

const stateCodec = avroCodec("StateBlock");

export async function gatherCohort(cohort: string, parts: GatherParts): Promise<readonly History[]> {
  const { log, pipeline, signal } = parts;
  const { stateTopic, settingsOf } = pipeline;
  const isMember = (key: string) => isBlockKey(key) && settingsOf(seriesOf(key)).cohort === cohort;
  const valueByKey = new Map<string, Buffer>();
  for await (const { records } of log.read(stateTopic, signal)) {
    for (const { key, value } of records) {
      const name = key?.toString() ?? "";
      if (!isMember(name)) continue;
      if (value === null) valueByKey.delete(name);
      else valueByKey.set(name, value);
    }
  }
  return historiesOf(valueByKey, settingsOf);
}

function historiesOf(
  valueByKey: ReadonlyMap<string, Buffer>,
  settingsOf: LaneParts["settingsOf"],
): readonly History[] {
  const store = new SeriesStore(settingsOf);
  const blocks: StateBlockRecord[] = [...valueByKey.values()].map((value) => stateCodec.decode(value));
  store.restore(blocks);
  return [...store.ids()].flatMap((seriesId) => store.get(seriesId)?.history() ?? []);
}

/** A block's key is the series id, a hash sign and a number. */
function seriesOf(key: string): string {
  return key.slice(0, key.lastIndexOf("#"));
}
