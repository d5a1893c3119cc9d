// Encodes and decodes our own records, with one rule for all our topics: Avro's single-object encoding, which is C3
// 01, the schema's fingerprint (8 bytes, little-endian) and the body. Every version in `schemas/history/` can be read
// and is resolved to the newest one. Only this file imports avsc.

import avro from "avsc";
import { ForecastnetError } from "../../runtime/errors.ts";
import { compileBytesCheck } from "./avro-reader.ts";
import type { AvroSchema } from "./avro-schema.ts";
import { type RecordByName, type RecordName, schemaVersions } from "./schemas.generated.ts";

export interface AvroCodec<T> {
  encode(value: T): Buffer;
  /** Throws STATE_CORRUPT if the bytes are not a record of a version we know. */
  decode(bytes: Buffer): T;
}

/** Length of C3 01 and the fingerprint. */
export const singleObjectHeaderBytes = 10;

/** Whether the bytes start like a single object. An Avro string cannot, because C3 01 is a negative length. */
export function isSingleObject(bytes: Buffer): boolean {
  return bytes.length >= singleObjectHeaderBytes && bytes[0] === 0xc3 && bytes[1] === 0x01;
}

export function fingerprintAt(bytes: Buffer): bigint {
  return bytes.readBigUInt64LE(2);
}

export function fingerprintOf(schema: AvroSchema): bigint {
  return crc64Avro(JSON.stringify(typeOf(schema).schema()));
}

export function avroCodec<Name extends RecordName>(name: Name): AvroCodec<RecordByName[Name]> {
  return versionedCodec(name, schemaVersions[name]);
}

/** A codec that writes the last of the versions and reads them all. */
export function versionedCodec<T>(name: string, versions: readonly AvroSchema[]): AvroCodec<T> {
  const newest = versions[versions.length - 1];
  const type = typeOf(newest);
  const readerByFingerprint = new Map(
    versions.map((version) => [fingerprintOf(version), compileReader<T>(version, type)]),
  );
  const decode = (bytes: Buffer): T => {
    if (!isSingleObject(bytes)) throw unreadable(name, "it does not start with C3 01 and a fingerprint");
    const fingerprint = fingerprintAt(bytes);
    const read = readerByFingerprint.get(fingerprint);
    if (read === undefined) {
      throw unreadable(
        name,
        `its schema ${hex(fingerprint)} is not one of the ${versions.length} known versions`,
      );
    }
    try {
      return read(bytes, singleObjectHeaderBytes);
    } catch (error) {
      throw unreadable(name, (error as Error).message, error);
    }
  };
  return { encode: compileWriter<T>(newest), decode };
}

/** C3 01 and the fingerprint of the schema. */
export function singleObjectHeader(schema: AvroSchema): Buffer {
  const header = Buffer.alloc(singleObjectHeaderBytes);
  header.set([0xc3, 0x01]);
  header.writeBigUInt64LE(fingerprintOf(schema), 2);
  return header;
}

// Shared by all encoders, because encoding is synchronous and the result is copied. avsc's toBuffer would encode
// every value over 1 KiB twice.
let scratch = Buffer.allocUnsafeSlow(64 * 1024);

function compileWriter<T>(schema: AvroSchema): (value: T) => Buffer {
  const type = typeOf(schema);
  const header = singleObjectHeader(schema);
  return (value) => {
    let end = writeInto(type, value, header.length);
    if (end < 0) {
      scratch = Buffer.allocUnsafeSlow(2 * (scratch.length - end));
      end = writeInto(type, value, header.length);
    }
    scratch.set(header);
    const bytes = Buffer.allocUnsafe(end);
    scratch.copy(bytes, 0, 0, end);
    return bytes;
  };
}

/** Returns where the value ends in the scratch buffer, or minus the number of missing bytes if it is too small. */
function writeInto(type: avro.Type, value: unknown, start: number): number {
  try {
    return type.encode(value, scratch, start);
  } catch (error) {
    throw new TypeError(`cannot encode ${type.name}: ${firstInvalid(type, value)}`, { cause: error });
  }
}

function firstInvalid(type: avro.Type, value: unknown): string {
  const problems: string[] = [];
  type.isValid(value, {
    errorHook: (path, found, expected) =>
      problems.push(`${path.join(".")} is ${found}, expected ${expected}`),
  });
  return problems[0] ?? "the value changed while it was encoded";
}

function compileReader<T>(writer: AvroSchema, reader: avro.Type): (bytes: Buffer, start: number) => T {
  const written = typeOf(writer);
  const resolver = written.equals(reader) ? undefined : reader.createResolver(written);
  const check = compileBytesCheck(writer);
  return (bytes, start) => {
    check(bytes, start);
    return reader.decode(bytes, start, resolver).value;
  };
}

function typeOf(schema: AvroSchema): avro.Type {
  return avro.Type.forSchema(schema as avro.Schema, { wrapUnions: "never", omitRecordMethods: true });
}

function unreadable(name: string, why: string, cause?: unknown): ForecastnetError {
  return new ForecastnetError("STATE_CORRUPT", `a ${name} record cannot be read: ${why}`, { cause });
}

function hex(fingerprint: bigint): string {
  return fingerprint.toString(16).padStart(16, "0");
}

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
