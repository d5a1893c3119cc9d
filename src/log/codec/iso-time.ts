// ISO 8601 date-times to milliseconds, the same on every machine: a time without a zone is UTC, where
// Date.parse would take the zone of the machine, and a day that no month has is refused, not rolled over.

const pattern =
  /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(?:Z|([+-])(\d\d):?(\d\d)?)?)?$/;

/** Milliseconds since the epoch, finer parts cut off; NaN if the text is no date-time. */
export function parseIsoTime(text: string): number {
  const match = pattern.exec(text);
  if (match === null) return Number.NaN;
  const part = (group: number) => Number(match[group] ?? 0);
  const [year, month, day, hour, minute, second] = [1, 2, 3, 4, 5, 6].map(part);
  const [zoneHour, zoneMinute] = [9, 10].map(part);
  if (hour > 23 || minute > 59 || second > 59 || zoneHour > 23 || zoneMinute > 59) return Number.NaN;
  const midnight = Date.UTC(year, month - 1, day);
  const date = new Date(midnight);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return Number.NaN;
  const millisecond = Number((match[7] ?? "").padEnd(3, "0").slice(0, 3));
  const zoneMinutes = (match[8] === "-" ? -1 : 1) * (zoneHour * 60 + zoneMinute);
  return midnight + ((hour * 60 + minute - zoneMinutes) * 60 + second) * 1000 + millisecond;
}
