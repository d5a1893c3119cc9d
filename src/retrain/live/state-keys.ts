// Keys on the state topic. Three kinds of records lie there for a series, told apart by what follows the last "#":
// blocks of its grid (a number, written by the window stage), its live state, and its kept forecasts.

export type StateKey =
  | { readonly kind: "live"; readonly seriesId: string }
  | { readonly kind: "kept"; readonly seriesId: string; readonly place: number };

export function liveKey(seriesId: string): string {
  return `${seriesId}#live`;
}

export function keptKey(seriesId: string, place: number): string {
  return `${seriesId}#f${place}`;
}

/** Null for a key that is neither; a series id may itself hold a "#". */
export function readStateKey(key: string): StateKey | null {
  const at = key.lastIndexOf("#");
  if (at < 0) return null;
  const seriesId = key.slice(0, at);
  const ending = key.slice(at + 1);
  if (ending === "live") return { kind: "live", seriesId };
  return /^f\d{1,9}$/.test(ending) ? { kind: "kept", seriesId, place: Number(ending.slice(1)) } : null;
}
