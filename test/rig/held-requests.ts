// Holds chosen Kafka requests and answers back on their way through proxies, and delivers them when a test says so:
// in place, or alone on a connection of their own after the client has long given up.

import { createConnection } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import type { Connection, Inspector } from "./tcp-proxy.ts";

export const apiKeys = {
  produce: 0,
  initProducerId: 22,
  addPartitionsToTxn: 24,
  addOffsetsToTxn: 25,
  endTxn: 26,
  txnOffsetCommit: 28,
} as const;

/** From this version on the header has tagged fields and strings are compact. */
const flexibleFrom: Readonly<Record<number, number>> = { 0: 9, 22: 2, 24: 3, 25: 3, 26: 3, 28: 3 };

export interface HoldRule {
  /** The first request with one of these keys is held. */
  readonly apiKeys: readonly number[];
  /** Of this transactional id, or one that begins so. */
  readonly transactionalId: string;
  /**
   * detach: the request leaves its connection, which breaks; released, it is sent alone and its answer kept here.
   * stall: the connection stands still from this request on.
   * lose-answer: the broker gets the request, and the connection breaks when it answers.
   * stall-answer: the broker gets the request; its answer, and all after it, wait.
   */
  readonly action: "detach" | "stall" | "lose-answer" | "stall-answer";
  /** Holds nothing before this other one has caught its request and, of the same id, a request of this key passed. */
  readonly after?: { readonly hold: number; readonly apiKey: number };
}

/** How a hold ends. "forward" delivers what is held; "reset" breaks its connection and never delivers it. */
export type Release = "forward" | "reset";

export interface HoldState {
  readonly isCaught: boolean;
  readonly apiKey: number | null;
  readonly transactionalId: string | null;
  /** Error code of the answer to a detached request that was delivered. */
  readonly lateAnswer: number | null;
}

interface RequestHead {
  readonly apiKey: number;
  readonly version: number;
  readonly correlationId: number;
  readonly transactionalId: string | null;
}

interface Hold {
  readonly rule: HoldRule;
  isFollowing: boolean;
  caught: { readonly head: RequestHead; readonly frame: Buffer; readonly brokerPort: number } | null;
  release: (how: Release) => void;
  lateAnswer: number | null;
}

export class HeldRequests {
  readonly #holds: Hold[] = [];

  /** Arms the rule; the number names it from now on. */
  hold(rule: HoldRule): number {
    const isFollowing = rule.after === undefined;
    this.#holds.push({ rule, isFollowing, caught: null, release: () => undefined, lateAnswer: null });
    return this.#holds.length - 1;
  }

  state(id: number): HoldState {
    const { caught, lateAnswer } = this.#of(id);
    return {
      isCaught: caught !== null,
      apiKey: caught?.head.apiKey ?? null,
      transactionalId: caught?.head.transactionalId ?? null,
      lateAnswer,
    };
  }

  /** Ends the hold; a detached request has been answered when this resolves. */
  async release(id: number, how: Release): Promise<void> {
    const hold = this.#of(id);
    const { caught } = hold;
    if (caught !== null && hold.rule.action === "detach" && how === "forward") {
      hold.lateAnswer = await deliverAlone(caught.frame, caught.head, caught.brokerPort);
    }
    hold.release(how);
    hold.release = () => undefined;
  }

  /** Lets everything go. */
  clear(): void {
    for (const hold of this.#holds) hold.release("forward");
    this.#holds.length = 0;
  }

  /** The inspector of one connection to the broker on that port. */
  inspect(connection: Connection, brokerPort: number): Inspector {
    const heldAnswers = new Map<number, Hold>();
    const requests = new FrameSplitter();
    const answers = new FrameSplitter();
    return {
      request: (chunk, passOn) => {
        for (const frame of requests.split(chunk)) {
          const head = readHead(frame);
          const hold = this.#catch(head, frame, brokerPort);
          if (hold === undefined) passOn(frame);
          else this.#apply(hold, { connection, heldAnswers, pass: () => passOn(frame) });
        }
      },
      answer: (chunk, passOn) => {
        for (const frame of answers.split(chunk)) {
          const hold = heldAnswers.get(frame.readInt32BE(4));
          if (hold?.rule.action === "lose-answer") connection.reset();
          else if (hold !== undefined) connection.answers.hold(hold);
          passOn(frame);
        }
      },
    };
  }

  #apply(
    hold: Hold,
    place: { connection: Connection; heldAnswers: Map<number, Hold>; pass: () => void },
  ): void {
    const { connection, heldAnswers, pass } = place;
    const { requests, answers } = connection;
    const flow = hold.rule.action === "stall" ? requests : answers;
    if (hold.rule.action === "detach") {
      connection.reset();
      return;
    }
    const correlationId = hold.caught?.head.correlationId as number;
    hold.release = (how) => {
      heldAnswers.delete(correlationId);
      if (how === "reset") connection.reset();
      else flow.letGo(hold);
    };
    if (hold.rule.action === "stall") requests.hold(hold);
    else heldAnswers.set(correlationId, hold);
    pass();
  }

  #catch(head: RequestHead, frame: Buffer, brokerPort: number): Hold | undefined {
    const { transactionalId } = head;
    if (transactionalId === null) return undefined;
    const caught = this.#holds.find(
      (hold) =>
        hold.caught === null &&
        hold.isFollowing &&
        hold.rule.apiKeys.includes(head.apiKey) &&
        this.#isMeant(hold, transactionalId),
    );
    for (const hold of this.#holds) {
      if (hold.rule.after?.apiKey === head.apiKey && this.#isMeant(hold, transactionalId))
        hold.isFollowing = true;
    }
    if (caught !== undefined) caught.caught = { head, frame, brokerPort };
    return caught;
  }

  #isMeant({ rule }: Hold, transactionalId: string): boolean {
    if (rule.after === undefined) return transactionalId.startsWith(rule.transactionalId);
    return this.#of(rule.after.hold).caught?.head.transactionalId === transactionalId;
  }

  #of(id: number): Hold {
    const hold = this.#holds[id];
    if (hold === undefined) throw new Error(`no request was ever held under the number ${id}`);
    return hold;
  }
}

/** Cuts a stream into whole frames, each with its length in front. */
class FrameSplitter {
  #rest: Buffer = Buffer.alloc(0);

  split(chunk: Buffer): Buffer[] {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const frames: Buffer[] = [];
    while (this.#rest.length >= 4) {
      const length = 4 + this.#rest.readInt32BE(0);
      if (this.#rest.length < length) break;
      frames.push(this.#rest.subarray(0, length));
      this.#rest = this.#rest.subarray(length);
    }
    return frames;
  }
}

function readHead(frame: Buffer): RequestHead {
  const apiKey = frame.readInt16BE(4);
  const version = frame.readInt16BE(6);
  const correlationId = frame.readInt32BE(8);
  const firstFlexible = flexibleFrom[apiKey];
  if (firstFlexible === undefined) return { apiKey, version, correlationId, transactionalId: null };
  const clientIdLength = Math.max(0, frame.readInt16BE(12));
  // The requests we hold all begin with the transactional id. A flexible header ends with its (no) tagged fields.
  const bodyAt = 14 + clientIdLength;
  const transactionalId =
    version < firstFlexible ? readText(frame, bodyAt) : readCompactText(frame, bodyAt + 1);
  return { apiKey, version, correlationId, transactionalId };
}

function readText(frame: Buffer, at: number): string | null {
  const length = frame.readInt16BE(at);
  return length < 0 ? null : frame.toString("utf8", at + 2, at + 2 + length);
}

function readCompactText(frame: Buffer, at: number): string | null {
  const first = frame.readUInt8(at);
  const lengthPlusOne = first < 0x80 ? first : (first & 0x7f) | (frame.readUInt8(at + 1) << 7);
  if (lengthPlusOne === 0) return null;
  const textAt = at + (first < 0x80 ? 1 : 2);
  return frame.toString("utf8", textAt, textAt + lengthPlusOne - 1);
}

const answerMs = 30_000;
const deliveryMs = 60_000;
const retryMs = 250;

/**
 * Sends a request alone on a connection of its own; resolves with the error code of the answer. The broker may be down
 * for another fault's sake, or go down before it answers: the request is then delivered once the broker is back.
 */
async function deliverAlone(frame: Buffer, head: RequestHead, port: number): Promise<number> {
  const deadlineMs = performance.now() + deliveryMs;
  for (;;) {
    try {
      return await deliverOnce(frame, head, port);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      const isDown = code === "ECONNREFUSED" || code === "ECONNRESET" || code === "EPIPE";
      if (!isDown || performance.now() > deadlineMs) throw error;
      await pause(retryMs);
    }
  }
}

function deliverOnce(frame: Buffer, { apiKey, version }: RequestHead, port: number): Promise<number> {
  const isFlexible = version >= (flexibleFrom[apiKey] as number);
  return new Promise((resolve, reject) => {
    const answers = new FrameSplitter();
    const socket = createConnection({ port, host: "127.0.0.1" }, () => socket.write(frame));
    socket.setTimeout(answerMs, () =>
      socket.destroy(new Error(`no answer on port ${port} to a late request`)),
    );
    socket.on("error", reject);
    socket.on("end", () =>
      reject(Object.assign(new Error(`port ${port} closed before it answered`), { code: "ECONNRESET" })),
    );
    socket.on("data", (chunk) => {
      const [answer] = answers.split(chunk);
      if (answer === undefined) return;
      socket.destroy();
      // Length, correlation id, tagged fields of a flexible header, throttle time, error code.
      resolve(answer.readInt16BE(isFlexible ? 13 : 12));
    });
  });
}
