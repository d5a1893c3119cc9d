// The fetch sessions of scripted brokers, with the rules of real ones: a whole request opens a session, a later one names
// changes under the next epoch, and an answer leaves out partitions without news.

import { partitionName } from "../../../../src/log/kafka/cluster-link.ts";
import type { FetchChanges, FetchedPartition } from "../../../../src/log/kafka/wire/protocol.ts";

const SESSION_NOT_FOUND = 70;
const SESSION_EPOCH_INVALID = 71;
const NO_END = -1;

interface Session {
  readonly id: number;
  epoch: number;
  readonly offsetByName: Map<string, number>;
  /** The high watermark in the last answer; NO_END before it and after an error. */
  readonly endByName: Map<string, number>;
}

export class ScriptedSessions {
  /** Whole requests so far. */
  opened = 0;
  #lastId = 100;
  readonly #sessionByNode = new Map<string, Session>();

  /** Forgets the sessions, as a broker does that restarts or needs the room. */
  evict(): void {
    this.#sessionByNode.clear();
  }

  /** The session after the request, or the code with which it is refused. */
  begin(nodeId: string, changes: FetchChanges): Session | number {
    const { sessionId, epoch, places, forgotten } = changes;
    let session = this.#sessionByNode.get(nodeId);
    if (epoch === 0) {
      this.opened++;
      session = { id: ++this.#lastId, epoch: 0, offsetByName: new Map(), endByName: new Map() };
      this.#sessionByNode.set(nodeId, session);
    } else if (session?.id !== sessionId) {
      return SESSION_NOT_FOUND;
    } else if (session.epoch !== epoch) {
      return SESSION_EPOCH_INVALID;
    }
    session.epoch++;
    for (const place of places) {
      const name = partitionName(place);
      if (!session.offsetByName.has(name)) session.endByName.set(name, NO_END);
      session.offsetByName.set(name, place.offset);
    }
    for (const place of forgotten) session.offsetByName.delete(partitionName(place));
    return session;
  }

  /** The partitions that an answer contains. Those with records go to the end: the others come first next time. */
  news(
    { endByName, offsetByName }: Session,
    partitions: readonly FetchedPartition[],
  ): readonly FetchedPartition[] {
    return partitions.filter((fetched) => {
      const name = partitionName(fetched);
      const end = fetched.errorCode === 0 ? fetched.highWatermark : NO_END;
      const isNews = fetched.errorCode !== 0 || fetched.recordSet.length > 0 || end !== endByName.get(name);
      endByName.set(name, end);
      const offset = offsetByName.get(name);
      if (fetched.recordSet.length > 0 && offset !== undefined) {
        offsetByName.delete(name);
        offsetByName.set(name, offset);
      }
      return isNews;
    });
  }
}
