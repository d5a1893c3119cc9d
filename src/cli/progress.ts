// A line on the terminal that says how much is done and how long the rest takes. Nothing where nobody looks.

import { systemClock } from "../runtime/clock.ts";

const barColumns = 30;

export function progressLine() {
  const { stderr } = process;
  const startedMs = systemClock.nowMs();
  const isShown = stderr.isTTY === true;
  return {
    show: (share: number): void => {
      if (!isShown) return;
      const filled = Math.round(barColumns * share);
      const bar = "█".repeat(filled) + "░".repeat(barColumns - filled);
      stderr.write(
        `\r${bar} ${Math.floor(100 * share)} %${leftText(share, systemClock.nowMs() - startedMs)}\u001b[K`,
      );
    },
    end: (): void => {
      if (isShown) stderr.write("\r\u001b[K");
    },
  };
}

function leftText(share: number, passedMs: number): string {
  if (share < 0.02) return "";
  const seconds = Math.round((passedMs * (1 / share - 1)) / 1000);
  return `, ${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")} left`;
}
