import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { crc32c } from "../../../../../src/log/kafka/wire/batch-layout.ts";

/** The definition, bit by bit. */
function bitwise(bytes: Uint8Array): number {
  let crc = -1;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ ((crc & 1) === 0 ? 0 : 0x82f63b78);
  }
  return ~crc >>> 0;
}

test("CRC-32C gives the published check values", () => {
  assert.equal(crc32c(Buffer.from("123456789")), 0xe3069283);
  // RFC 3720, B.4.
  assert.equal(crc32c(Buffer.alloc(32)), 0x8a9136aa);
  assert.equal(crc32c(Buffer.alloc(32, 0xff)), 0x62a8ab43);
  assert.equal(crc32c(Buffer.alloc(0)), 0);
});

test("CRC-32C of any length equals the definition", () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => crc32c(bytes) === bitwise(bytes)));
});
