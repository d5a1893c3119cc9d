// Accounts for every forecast of a soak while it is read, in little memory: an hour brings a million of them.
//
// With models in play the content of a forecast is not known in advance, but its place is: every observation that
// completes a step owes one forecast of its series, in order. Until a series has its first model its forecasts are
// those of the cold tier, which are computed again and compared to the byte.

import { createHash } from "node:crypto";
import type { Observation } from "../../src/domain.ts";
import { decodeForecast } from "../../src/log/codec/forecast-codec.ts";
import type { AppConfig } from "../../src/runtime/config/schema.ts";
import type { Delivered } from "../integrity/support/cluster-count.ts";
import { expectFrom } from "../integrity/support/expectation.ts";

interface SeriesAccount {
  readonly partition: number;
  /** Digest of each forecast by its origin; empty when its content is not comparable. */
  readonly digestByOrigin: Map<number, string>;
  lastOrigin: number;
  hasHadModel: boolean;
}

export interface LedgerCounts {
  readonly observations: number;
  readonly owed: number;
  readonly read: number;
  readonly byModels: number;
  readonly comparedToTheByte: number;
  readonly lost: number;
  readonly doubled: number;
  readonly unexpected: number;
  readonly different: number;
  readonly outOfOrder: number;
  readonly examples: readonly string[];
}

export class ForecastLedger {
  readonly #accountBySeries = new Map<string, SeriesAccount>();
  readonly #examples: string[] = [];
  readonly #counts = {
    read: 0,
    byModels: 0,
    doubled: 0,
    outOfOrder: 0,
    lost: 0,
    unexpected: 0,
    different: 0,
  };

  take({ partition, offset, value }: Delivered): void {
    const bytes = Buffer.from(value ?? "", "base64");
    const { seriesId, origin, tier } = decodeForecast(bytes);
    const account = this.#accountOf(seriesId, partition);
    const place = `${seriesId}@${origin} at ${partition}/${offset}`;
    this.#counts.read += 1;
    if (account.digestByOrigin.has(origin)) this.#fault("doubled", place);
    else if (origin <= account.lastOrigin || partition !== account.partition)
      this.#fault("outOfOrder", place);
    account.lastOrigin = Math.max(origin, account.lastOrigin);
    if (tier !== "COLD") {
      account.hasHadModel = true;
      this.#counts.byModels += 1;
    }
    account.digestByOrigin.set(origin, account.hasHadModel ? "" : digest(bytes));
  }

  /** `input` in the order of the topic, all of it settled. */
  async balance(input: readonly Observation[], config: AppConfig): Promise<LedgerCounts> {
    let owed = 0;
    let comparedToTheByte = 0;
    const inputBySeries = new Map<string, Observation[]>();
    for (const observation of input) {
      const own = inputBySeries.get(observation.seriesId);
      if (own === undefined) inputBySeries.set(observation.seriesId, [observation]);
      else own.push(observation);
    }
    for (const [seriesId, observations] of inputBySeries) {
      const digests = this.#accountBySeries.get(seriesId)?.digestByOrigin ?? new Map<number, string>();
      const { forecastById } = await expectFrom(observations, config);
      owed += forecastById.size;
      for (const bytes of forecastById.values()) {
        const { origin } = decodeForecast(bytes);
        const found = digests.get(origin);
        digests.delete(origin);
        if (found === undefined) this.#fault("lost", `${seriesId}@${origin}`);
        else if (found !== "") {
          comparedToTheByte += 1;
          if (found !== digest(bytes)) this.#fault("different", `${seriesId}@${origin}`);
        }
      }
      for (const origin of digests.keys()) this.#fault("unexpected", `${seriesId}@${origin}`);
    }
    return { ...this.#counts, observations: input.length, owed, comparedToTheByte, examples: this.#examples };
  }

  #fault(kind: "doubled" | "outOfOrder" | "lost" | "unexpected" | "different", place: string): void {
    this.#counts[kind] += 1;
    if (this.#examples.length < 20) this.#examples.push(`${kind}: ${place}`);
  }

  #accountOf(seriesId: string, partition: number): SeriesAccount {
    const known = this.#accountBySeries.get(seriesId);
    if (known !== undefined) return known;
    const account = {
      ...{ partition, digestByOrigin: new Map<number, string>() },
      ...{ lastOrigin: Number.NEGATIVE_INFINITY, hasHadModel: false },
    };
    this.#accountBySeries.set(seriesId, account);
    return account;
  }
}

function digest(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("base64").slice(0, 16);
}
