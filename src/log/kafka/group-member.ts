// One member of a consumer group: joins, receives its assignment, sends heartbeats, leaves. If it leads the group, it
// also assigns the partitions. We do not use kafkajs' consumer: it loses its member id with every connection, and it
// can loop forever on a broker that accepts connections and drops them.
//
//   outside ─► joining ─► joined ─► (the group rebalances) joining ─► … ─► left
//
// When the coordinator is gone or has moved, the member looks for it again and keeps its identity. Only the group can
// drop a member, which then joins as a new one.

import { setTimeout as delay } from "node:timers/promises";
import kafkajs from "kafkajs";
import { backoff } from "../../runtime/waiting.ts";
import { spreadPartitions } from "../spread-partitions.ts";
import type { Link } from "./cluster-link.ts";
import { assertSuccess, BrokerError, isRetriable } from "./kafka-errors.ts";
import type { MemberIdentity } from "./wire/cluster-requests.ts";
import {
  type GroupProtocol,
  heartbeat,
  type JoinedMember,
  joinGroup,
  leaveGroup,
  type MemberAssignment,
  syncGroup,
} from "./wire/cluster-requests.ts";

const REBALANCE_IN_PROGRESS = 27;
const MEMBER_ID_REQUIRED = 79;
/** The group no longer knows the member: illegal generation, unknown member id, fenced instance id. */
const droppedCodes = new Set([22, 25, 82]);
/** How much longer than the rebalance timeout a join may take. */
const JOIN_SLACK_MS = 5_000;
const LEAVE_MS = 2_000;

export interface Assignment {
  readonly memberId: string;
  readonly partitionsByTopic: ReadonlyMap<string, readonly number[]>;
  /** Whether the member missed no assignment since its last one. If it did, others may have owned its partitions. */
  readonly isContinuous: boolean;
}

interface GroupMemberOptions {
  openLink(): Link;
  readonly group: string;
  readonly inputs: readonly string[];
  readonly sessionTimeoutMs: number;
  /** The partitions that this member holds; sent with every join request. */
  held(): readonly number[];
  onAssigned(assignment: Assignment): void;
  /** The group has confirmed this member. */
  onConfirmed(): void;
  /** A request failed and will be retried. */
  onTrouble(error: unknown): void;
  /** A request failed, a retry cannot help, and the member has given up. */
  onFailed(error: unknown): void;
}

export class GroupMember {
  readonly #options: GroupMemberOptions;
  readonly #leaving = new AbortController();
  #link: Link | null = null;
  #memberId = "";
  /** Negative while the member has to join. */
  #generation = -1;
  /** The generation of the last assignment; null before the first, -1 after the group has dropped the member. */
  #lastGeneration: number | null = null;
  #hurry = new AbortController();
  #ended: Promise<void> = Promise.resolve();

  constructor(options: GroupMemberOptions) {
    this.#options = options;
  }

  get isJoined(): boolean {
    return this.#generation >= 0;
  }

  /** As of the last assignment, also while the group rebalances. Null before the first and after the group has dropped the member. */
  get identity(): MemberIdentity | null {
    const [generation, memberId] = [this.#lastGeneration ?? -1, this.#memberId];
    return generation < 0 ? null : { group: this.#options.group, memberId, generation };
  }

  /** Rejects if no broker can be reached or the group refuses us. Afterwards the member retries by itself. */
  async start(): Promise<void> {
    const link = await this.#connect();
    try {
      await link.coordinatorOf("group", this.#options.group);
    } catch (error) {
      await this.#disconnect();
      if (!isRetriable(error)) throw error;
    }
    this.#ended = this.#run();
  }

  /** Sends the next heartbeat now, to learn whether the group still knows this member. */
  confirm(): void {
    this.#hurry.abort();
  }

  /** Does not wait for a group that does not answer, because the session of the member expires anyway. */
  async leave(): Promise<void> {
    this.#leaving.abort();
    this.#hurry.abort();
    const { openLink, group } = this.#options;
    const memberId = this.#memberId;
    await this.#disconnect();
    if (memberId !== "") {
      // Over a separate link, because a join request may still be waiting on the other one.
      const link = openLink();
      const left = link
        .connect([])
        .then(() => link.coordinatorOf("group", group))
        .then((coordinator) => link.ask(coordinator, leaveGroup({ group, memberId }), LEAVE_MS));
      const goneMs = delay(LEAVE_MS, undefined, { ref: false });
      await Promise.race([left.catch((error: unknown) => this.#options.onTrouble(error)), goneMs]);
      await link.close();
    }
    await Promise.race([this.#ended, delay(LEAVE_MS, undefined, { ref: false })]);
  }

  async #run(): Promise<void> {
    await this.#stayMember();
    await this.#disconnect().catch((error: unknown) => this.#options.onTrouble(error));
  }

  /** Returns when the member leaves or has failed. */
  async #stayMember(): Promise<void> {
    const { signal } = this.#leaving;
    for (let attempt = 0; !signal.aborted; ) {
      try {
        if (this.#generation < 0) await this.#join();
        else await this.#stay();
        attempt = 0;
      } catch (error) {
        if (signal.aborted) return;
        if (this.#mustJoinAgain(error)) continue;
        if (!isRetriable(error)) return this.#options.onFailed(error);
        this.#options.onTrouble(error);
        await this.#disconnect();
        await backoff(attempt++, signal);
      }
    }
  }

  #mustJoinAgain(error: unknown): boolean {
    if (!(error instanceof BrokerError)) return false;
    const isDropped = droppedCodes.has(error.code);
    if (!isDropped && error.code !== REBALANCE_IN_PROGRESS) return false;
    this.#generation = -1;
    if (isDropped) {
      this.#memberId = "";
      this.#lastGeneration = -1;
    }
    return true;
  }

  async #join(): Promise<void> {
    const { group, inputs, sessionTimeoutMs, held, onAssigned, onConfirmed } = this.#options;
    const link = await this.#connect();
    const timeouts = { sessionTimeoutMs, rebalanceTimeoutMs: 2 * sessionTimeoutMs };
    const answerMs = timeouts.rebalanceTimeoutMs + JOIN_SLACK_MS;
    const coordinator = await link.coordinatorOf("group", group);
    const request = joinGroup({ group, memberId: this.#memberId }, groupProtocol(inputs, held()), timeouts);
    const joined = await link.ask(coordinator, request, answerMs);
    if (this.#leaving.signal.aborted) return; // Already leaving: a member that joined now would never leave.
    if (joined.errorCode === MEMBER_ID_REQUIRED) {
      this.#memberId = joined.memberId;
      return this.#join();
    }
    assertSuccess(joined.errorCode, "JoinGroup");
    this.#memberId = joined.memberId;
    const { memberId, generation, leaderId, members } = joined;
    const assignments = leaderId === memberId ? await this.#assign(link, members) : [];
    const sync = syncGroup({ group, memberId, generation }, assignments);
    const { errorCode, assignment } = await link.ask(coordinator, sync, answerMs);
    assertSuccess(errorCode, "SyncGroup");
    const isContinuous = this.#lastGeneration === null || generation === this.#lastGeneration + 1;
    this.#generation = generation;
    this.#lastGeneration = generation;
    onAssigned({ memberId, partitionsByTopic: readAssignment(assignment), isContinuous });
    onConfirmed();
  }

  async #assign(
    link: Link,
    members: Parameters<typeof assignPartitions>[1],
  ): Promise<readonly MemberAssignment[]> {
    await link.refresh();
    const { inputs } = this.#options;
    return assignPartitions(new Map(inputs.map((topic) => [topic, link.partitionsOf(topic)])), members);
  }

  /** Waits until the next heartbeat is due and sends it. */
  async #stay(): Promise<void> {
    const { group, sessionTimeoutMs, onConfirmed } = this.#options;
    await this.#pause(sessionTimeoutMs / 4);
    if (this.#leaving.signal.aborted) return;
    const link = await this.#connect();
    const coordinator = await link.coordinatorOf("group", group);
    const member: MemberIdentity = { group, memberId: this.#memberId, generation: this.#generation };
    // Short enough to find another coordinator before the session expires.
    const { errorCode } = await link.ask(coordinator, heartbeat(member), sessionTimeoutMs / 3);
    assertSuccess(errorCode, "Heartbeat");
    onConfirmed();
  }

  async #pause(ms: number): Promise<void> {
    const { signal } = this.#hurry;
    await delay(ms, undefined, { signal }).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
    this.#hurry = new AbortController();
  }

  async #connect(): Promise<Link> {
    const link = this.#link ?? this.#options.openLink();
    this.#link = link;
    try {
      await link.connect(this.#options.inputs);
      return link;
    } catch (error) {
      await this.#disconnect();
      throw error;
    }
  }

  async #disconnect(): Promise<void> {
    const link = this.#link;
    this.#link = null;
    await link?.close();
  }
}

const { MemberAssignment: assignmentFormat, MemberMetadata: metadataFormat } = kafkajs.AssignerProtocol;

// Assignment of partitions. Each partition number has one owner across all input topics, because state is stored per
// number. Shares are even. Assignments are sticky, because a new owner has to restore the partition: each member states
// what it holds in the user data of its join request.

export interface Claim {
  readonly memberId: string;
  readonly held: readonly number[];
}

/** The join metadata of a member that holds these partitions. */
export function groupProtocol(inputs: readonly string[], held: readonly number[]): GroupProtocol {
  const userData = Buffer.from(held.join(","));
  return {
    name: "forecastnet-co-partition",
    metadata: metadataFormat.encode({ version: 1, topics: [...inputs], userData }),
  };
}

/** The leader's assignment for each member. */
export function assignPartitions(
  partitionsByTopic: ReadonlyMap<string, number>,
  members: readonly JoinedMember[],
): readonly MemberAssignment[] {
  const shares = sharePartitions(Math.max(...partitionsByTopic.values()), members.map(claimOf));
  return members.map(({ memberId }) => {
    const share = shares.get(memberId) ?? [];
    const assignment = Object.fromEntries(
      [...partitionsByTopic].map(([topic, count]) => [topic, share.filter((partition) => partition < count)]),
    );
    const userData = Buffer.alloc(0);
    return { memberId, assignment: assignmentFormat.encode({ version: 1, assignment, userData }) };
  });
}

export function readAssignment(bytes: Buffer): ReadonlyMap<string, readonly number[]> {
  if (bytes.length === 0) return new Map();
  return new Map(Object.entries(assignmentFormat.decode(bytes)?.assignment ?? {}));
}

/** Shares differ by at most one. If two members claim the same partition, the first by member id keeps it. */
export function sharePartitions(
  partitions: number,
  claims: readonly Claim[],
): ReadonlyMap<string, readonly number[]> {
  const byMemberId = [...claims].sort((a, b) => (a.memberId < b.memberId ? -1 : 1));
  const current: (string | undefined)[] = [];
  for (const { memberId, held } of byMemberId) {
    for (const partition of held) current[partition] ??= memberId;
  }
  const members = byMemberId.map(({ memberId }) => memberId);
  const shares = new Map(members.map((memberId) => [memberId, [] as number[]]));
  for (const [partition, owner] of spreadPartitions(partitions, members, current).entries()) {
    if (owner !== undefined) shares.get(owner)?.push(partition);
  }
  return shares;
}

function claimOf({ memberId, metadata }: JoinedMember): Claim {
  const userData = metadataFormat.decode(metadata)?.userData;
  return { memberId, held: parseHeld(userData) };
}

/** Another program in our group may send anything here. An unreadable claim claims nothing. */
function parseHeld(userData: Buffer | undefined): readonly number[] {
  const words = (userData?.toString() ?? "").split(",");
  return words.filter((word) => /^\d{1,9}$/.test(word)).map(Number);
}
