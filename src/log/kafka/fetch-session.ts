// What a broker has already been told about the partitions to fetch. A fetch request names only what has changed since the one
// before, and its answer only the partitions with news (KIP-227): with many partitions, most of a request would repeat the
// last one. A broker that keeps no session for us gets whole requests.

import { partitionName } from "./cluster-link.ts";
import type { FetchChanges, FetchFrom, TopicPartition } from "./wire/protocol.ts";

const [SESSION_NOT_FOUND, SESSION_EPOCH_INVALID] = [70, 71];
const LARGEST_EPOCH = 2 ** 31 - 1;

/** The broker has forgotten the session, or missed a request of it: the next request has to be whole. */
export function isSessionLost(errorCode: number): boolean {
  return errorCode === SESSION_NOT_FOUND || errorCode === SESSION_EPOCH_INVALID;
}

export class FetchSession {
  #id = 0;
  #epoch = 0;
  #toldByName: ReadonlyMap<string, FetchFrom> = new Map();

  /** What to tell the broker so that it fetches from these places. `confirm` must follow, or `restart` after an error. */
  changesTo(fromByName: ReadonlyMap<string, FetchFrom>): FetchChanges {
    const places: FetchFrom[] = [];
    for (const [name, place] of fromByName) {
      const told = this.#toldByName.get(name);
      if (told?.offset !== place.offset || told.maxBytes !== place.maxBytes) places.push(place);
    }
    const forgotten: TopicPartition[] = [];
    for (const place of this.#toldByName.values()) {
      if (!fromByName.has(partitionName(place))) forgotten.push(place);
    }
    this.#toldByName = fromByName;
    return { sessionId: this.#id, epoch: this.#epoch, places, forgotten };
  }

  /** The broker has answered with success. `sessionId` is 0 if it keeps no session. */
  confirm(sessionId: number): void {
    this.#id = sessionId;
    if (sessionId === 0) this.restart();
    else this.#epoch = this.#epoch === LARGEST_EPOCH ? 1 : this.#epoch + 1;
  }

  /** The next request is whole. It ends the session that it names and opens another. */
  restart(): void {
    this.#epoch = 0;
    this.#toldByName = new Map();
  }
}
