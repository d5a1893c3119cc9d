// One consumer group: who owns which partition number, and how ownership passes on. A partition has one
// ownership at a time; a successor starts once the predecessor's lane has returned, or has had its time.

import { settlesWithin } from "../../runtime/waiting.ts";
import type { Lane, Subscription } from "../log.ts";
import { spreadPartitions } from "../spread-partitions.ts";
import { MemoryMember } from "./member.ts";
import { Ownership } from "./ownership.ts";
import { Positions } from "./positions.ts";
import type { MemoryStore } from "./store.ts";

interface Seat {
  wanted: MemoryMember | undefined;
  ownership: Ownership<MemoryMember> | undefined;
  isChanging: boolean;
}

export class MemoryGroup {
  readonly #store: MemoryStore;
  readonly #revokeMs: number;
  readonly #positions: Positions;
  readonly #members = new Set<MemoryMember>();
  /** By partition number. */
  readonly #seats: Seat[] = [];

  constructor(store: MemoryStore, revokeMs: number) {
    this.#store = store;
    this.#revokeMs = revokeMs;
    this.#positions = new Positions(store);
  }

  join(subscription: Subscription, lane: Lane): MemoryMember {
    const partitions = Math.max(...subscription.inputs.map((topic) => this.#store.facts(topic).partitions));
    while (this.#seats.length < partitions) {
      this.#seats.push({ wanted: undefined, ownership: undefined, isChanging: false });
    }
    const member: MemoryMember = new MemoryMember(subscription, lane, {
      store: this.#store,
      owned: () => this.#seats.flatMap(({ ownership }) => (ownership?.host === member ? [ownership] : [])),
      onLeave: () => this.#leave(member),
    });
    this.#members.add(member);
    this.#rebalance();
    return member;
  }

  fence(partition: number): void {
    this.#seats[partition]?.ownership?.lose();
  }

  dropMembers(): void {
    for (const member of this.#members) member.drop();
  }

  #leave(member: MemoryMember): void {
    this.#members.delete(member);
    this.#rebalance();
  }

  #rebalance(): void {
    const current = this.#seats.map((seat) => seat.wanted);
    const owners = spreadPartitions(this.#seats.length, [...this.#members], current);
    for (const [partition, seat] of this.#seats.entries()) {
      seat.wanted = owners[partition];
      void this.#fill(seat, partition);
    }
  }

  /** Brings a seat to its wanted owner, who may change again meanwhile. */
  async #fill(seat: Seat, partition: number): Promise<void> {
    if (seat.isChanging) return;
    seat.isChanging = true;
    while (seat.ownership?.host !== seat.wanted || seat.ownership?.isLost) {
      seat.ownership?.lose();
      if (seat.ownership !== undefined) await settlesWithin(seat.ownership.settled, this.#revokeMs);
      seat.ownership = seat.wanted && this.#begin(seat.wanted, seat, partition);
    }
    seat.isChanging = false;
  }

  #begin(member: MemoryMember, seat: Seat, partition: number): Ownership<MemoryMember> {
    return new Ownership(member, partition, {
      store: this.#store,
      positions: this.#positions,
      onLost: () => void this.#fill(seat, partition),
    });
  }
}
