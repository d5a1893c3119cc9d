// The two ends of a story on a cluster, neither of which shares code with the product: sensors that send, and a
// read-committed subscriber that reads the forecasts while they are written.

import assert from "node:assert/strict";
import { LibrdkafkaProgram } from "../../rig/librdkafka.ts";
import type { Acknowledged, Delivered } from "./cluster-count.ts";
import { firstTimeMs, stepMs } from "./load.ts";

export interface LoadOptions {
  readonly series: number;
  readonly perSecond: number;
  readonly compression: "none" | "gzip" | "snappy" | "lz4" | "zstd";
  readonly seed: number;
  /** Each series is a wave of this size and length in steps, with noise of this deviation. */
  readonly amplitude: number;
  readonly period: number;
  readonly noise: number;
}

export interface ClientOptions {
  readonly brokers: string;
  readonly input: string;
  readonly forecasts: string;
  readonly partitions: number;
  readonly load: LoadOptions;
  /** How long a transaction that its worker left open may stay open. */
  readonly transactionTimeoutMs: number;
  readonly onDelivered: (forecast: Delivered) => void;
}

/** Where the partitions of the forecasts end: for readers of committed records, and for all. */
interface Ends {
  readonly stable: readonly number[];
  readonly high: readonly number[];
}

export class IndependentClients {
  readonly acknowledged: Acknowledged[] = [];
  readonly acknowledgedByPartition: number[];
  readonly readByPartition: number[];
  readonly #options: ClientOptions;
  #producer: LibrdkafkaProgram | undefined;
  #subscriber: LibrdkafkaProgram | undefined;
  #ends: Ends | undefined;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.acknowledgedByPartition = Array.from({ length: options.partitions }, () => 0);
    this.readByPartition = Array.from({ length: options.partitions }, () => 0);
  }

  /** Both topics must be there. */
  async start(): Promise<void> {
    const { brokers, input, forecasts, partitions, load, transactionTimeoutMs } = this.#options;
    const reading = {
      ...{ brokers, topic: forecasts, partitions, transactionSeconds: (2 * transactionTimeoutMs) / 1000 },
    };
    this.#subscriber = await LibrdkafkaProgram.start("subscriber", reading, (line) => {
      if ("stable" in (line as object)) this.#ends = line as Ends;
      else this.#take(line as Delivered);
    });
    const sending = { brokers, topic: input, partitions, firstTimeMs, stepMs, flushSeconds: 60, ...load };
    this.#producer = await LibrdkafkaProgram.start("producer", sending, (line) => {
      this.acknowledged.push(line as Acknowledged);
      this.acknowledgedByPartition[(line as Acknowledged).partition] += 1;
    });
  }

  /** Resolves once everything that was sent has been acknowledged. */
  async endLoad(): Promise<void> {
    await this.#producer?.finish();
    this.#producer = undefined;
  }

  /** Resolves once everything that was committed has been read. Nobody writes any more. */
  async endReading(): Promise<void> {
    await this.#subscriber?.finish();
    this.#subscriber = undefined;
    assert.deepEqual(this.#ends?.stable, this.#ends?.high, "no transaction is left open");
  }

  /** Fails when one of the two has ended without being asked to. */
  demandBoth(): void {
    for (const [name, program] of [
      ["producer", this.#producer],
      ["subscriber", this.#subscriber],
    ] as const)
      assert.ok(program?.hasEnded !== true, `the ${name} goes on; it said: ${program?.complaints}`);
  }

  /** The last that they said on standard error. */
  get complaints(): string {
    return [this.#producer, this.#subscriber]
      .map((program) => program?.complaints.slice(-2_000) ?? "")
      .join("\n");
  }

  async kill(): Promise<void> {
    await this.#producer?.kill();
    await this.#subscriber?.kill();
  }

  #take(forecast: Delivered): void {
    this.readByPartition[forecast.partition] += 1;
    this.#options.onDelivered(forecast);
  }
}
