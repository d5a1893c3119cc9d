// Estimates the size of a record on the wire, rounded up, for comparison with a topic's max.message.bytes. Limits the
// number of headers.

import type { Header, Outgoing } from "../domain.ts";

/** Everything besides key, value and headers, including the batch; a generous estimate. */
const recordOverheadBytes = 100;
/** The two length prefixes of a header. */
const headerOverheadBytes = 10;
/** The most headers that we write. Clients keep each header as an object, so their number is limited, too. */
export const mostHeaders = 1_000;
/** The most headers that we read: a dead letter has ours after those of the original. */
export const mostHeadersRead = mostHeaders + 24;

export function estimatedBytes({
  key,
  value,
  headers = [],
}: Pick<Outgoing, "key" | "value" | "headers">): number {
  const bytes = recordOverheadBytes + (key?.length ?? 0) + (value?.length ?? 0);
  return headers.reduce((sum, header) => sum + headerBytes(header), bytes);
}

export function headerBytes({ key, value }: Header): number {
  return headerOverheadBytes + Buffer.byteLength(key) + (value?.length ?? 0);
}
