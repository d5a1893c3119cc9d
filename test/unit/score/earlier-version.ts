// Live scores as earlier versions stored them, with a rolling pinball loss as the fourth sum. Commit ea999ff wrote these
// bytes for the series that `playStored` plays.

import type { ScoreStore } from "../../../src/score/score-store.ts";
import { forecastOf, placementAt, servingOf, windowAt } from "./fixtures.ts";

export const storedBase64: readonly (readonly [key: string, base64: string])[] = [
  [
    "s#f0",
    "wwEzvzlwsBAa5wJzAAR2MQQGBpqZmZmZmbk/AAAAAAAA4D/NzMzMzMzsPwCQAQAAgL8AAIC/AACAvwAAAMAAAADAAAAAwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAgD8AAIA/AACAPwAAAEAAAABAAAAAQA==",
  ],
  [
    "s#f1",
    "wwEzvzlwsBAa5wJzAgR2MQQGBpqZmZmZmbk/AAAAAAAA4D/NzMzMzMzsPwCQAaz3er8AAIC/AACAv56/+b8AAADAAAAAwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAFOUfj8AAIA/AACAP56/+T8AAABAAAAAQA==",
  ],
  [
    "s#f2",
    "wwEzvzlwsBAa5wJzBAR2MQQGBpqZmZmZmbk/AAAAAAAA4D/NzMzMzMzsPwCQAaPNgb9A6IK/AACAvwAAIMBoBv+/AAAAwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAIEAAACBAAACAP6GkAEDPi/w/AAAAQA==",
  ],
  [
    "s#f3",
    "wwEzvzlwsBAa5wJzBgR2MQQGBpqZmZmZmbk/AAAAAAAA4D/NzMzMzMzsPwCQAUsxh7/jfYa/1riCvwAAcMAAAHDAAABwwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAcEAAAHBAAABwQEW0BEArFQFA9DwCQA==",
  ],
  [
    "s#f4",
    "wwEzvzlwsBAa5wJzCAR2MQQGBpqZmZmZmbk/AAAAAAAA4D/NzMzMzMzsPwCQAZPfjb898Iq/7hqGvwAAoMAAAKDAAACgwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAoEAAAKBAAACgQA06CUBsLgRA/q0EQA==",
  ],
  [
    "s#live",
    "wwE5U8BwTt9fQwJzBHYxBAAAAAAAAPA/AAAAAAAAAEAABpqZmZmZmbk/AAAAAAAA4D/NzMzMzMzsPwAGCAiQAQb8Nm6CLyBAJqX/1JQeMkAmpf/UlB4yQNAeQSbd2RdAJ2MDeOK+MUBYVmfqJmfyPwAAAAAAQI9AAAAAAAAANEAAAAAAAAAUQCSgAS353b3KA6+9t11DvTKMhb+EyAO/CdnTvgAAgEAAAIBAAACAQAAAgMAAAIDAAACAwHMROD8sl/c+yDCKPtWgEz5yzYU90L+VPYKY3D9VVRVABAoMAAACAgAAAAAAAOA/EAIQcHJvbW90ZWQ=",
  ],
];

/** Two channels, calibrated: five forecasts, four of them scored by a step or more. */
export function playStored(scoreStore: ScoreStore): void {
  const live = scoreStore.of("s");
  for (let slot = 0; slot < 5; slot++) {
    if (slot > 0) live.score(placementAt(slot, [1000 + slot, 20 - slot]));
    live.publish(twoChannelForecastAt(slot), servingOf("v1", [1, 2]));
  }
  live.life = {
    phase: "champion",
    sinceMs: 5,
    restsUntilMs: 6,
    driftSinceMs: null,
    requestId: null,
    probation: { predecessorMase: 0.5, sinceMs: 8 },
    competedMs: null,
    verdict: "promoted",
  };
}

/** The forecast of that series at a slot. */
export function twoChannelForecastAt(slot: number) {
  return forecastOf(windowAt(slot, [1000, 20]), [
    [999, 999, 999, 18, 18, 18],
    [1000, 1000, 1000, 20, 20, 20],
    [1001, 1001, 1001, 22, 22, 22],
  ]);
}
