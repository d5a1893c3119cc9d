// Fills a book from the state topic when a partition is taken over, after the window stage has taken its blocks.

import { setImmediate } from "node:timers/promises";
import { ForecastnetError } from "../../runtime/errors.ts";
import type { LiveBook } from "./live-book.ts";
import { readStateKey } from "./state-keys.ts";
import { readKept, readState } from "./stored-records.ts";

export interface RestoredBook {
  readonly states: number;
  readonly forecasts: number;
  /** Records that no longer fit what is configured. */
  readonly passedOver: number;
}

/** Other lanes and the group's pulse must not wait for a large fleet's forecasts to be read. */
const RECORDS_PER_TURN = 500;

/**
 * Takes all records out of `valueByKey`, letting go of the raw bytes one by one. `isAnew`: the series has left its
 * history behind, because its grid is another one. `where`: a key and its place in words, for errors.
 */
export async function restoreBook(
  book: LiveBook,
  valueByKey: Map<string, Buffer>,
  {
    where,
    isAnew,
  }: { readonly where: (key: string) => string; readonly isAnew: (seriesId: string) => boolean },
): Promise<RestoredBook> {
  const count = { states: 0, forecasts: 0, passedOver: 0 };
  let read = 0;
  // States first: they say what the forecasts belong to.
  for (const kind of ["live", "kept"] as const) {
    for (const [key, value] of valueByKey) {
      const parsed = readStateKey(key);
      const place = where(key);
      if (parsed === null) throw foreign(place, "its key is none that is written there");
      if (parsed.kind !== kind) continue;
      valueByKey.delete(key);
      const { isFit, seriesId } =
        parsed.kind === "live"
          ? restoreState(book, value, place, isAnew)
          : restoreKept(book, value, place, parsed.place);
      if (seriesId !== parsed.seriesId) throw foreign(place, `it is about the series ${seriesId}`);
      count[kind === "live" ? "states" : "forecasts"]++;
      if (!isFit) count.passedOver++;
      if (++read % RECORDS_PER_TURN === 0) await setImmediate();
    }
  }
  return count;
}

interface Outcome {
  readonly isFit: boolean;
  readonly seriesId: string;
}

function restoreState(
  book: LiveBook,
  value: Buffer,
  place: string,
  isAnew: (seriesId: string) => boolean,
): Outcome {
  const stored = readState(value, place);
  const { seriesId } = stored.record;
  return { seriesId, isFit: book.restoreState(stored, !isAnew(seriesId)) };
}

function restoreKept(book: LiveBook, value: Buffer, place: string, row: number): Outcome {
  const stored = readKept(value, place);
  return { seriesId: stored.record.seriesId, isFit: book.restoreKept(stored, row) };
}

function foreign(place: string, why: string): ForecastnetError {
  return new ForecastnetError("STATE_CORRUPT", `${place}: ${why}`);
}
