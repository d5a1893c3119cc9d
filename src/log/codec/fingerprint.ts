// CRC-64-AVRO of the Avro specification: the fingerprint of a schema in its parsing canonical form.

const seed = 0xc15d213aa4d7a795n;

const table: readonly bigint[] = Array.from({ length: 256 }, (_, byte) => {
  let fingerprint = BigInt(byte);
  for (let bit = 0; bit < 8; bit++) fingerprint = (fingerprint >> 1n) ^ (fingerprint & 1n ? seed : 0n);
  return fingerprint;
});

export function crc64Avro(canonicalSchema: string): bigint {
  let fingerprint = seed;
  for (const byte of Buffer.from(canonicalSchema, "utf8")) {
    fingerprint = (fingerprint >> 8n) ^ table[Number(fingerprint & 0xffn) ^ byte];
  }
  return fingerprint;
}
