/** A length-prefixed string (RFC 4251, string). */
export function sized(bytes: Buffer | string): Buffer {
  const body = typeof bytes === 'string' ? Buffer.from(bytes) : bytes;
  const all = Buffer.allocUnsafe(4 + body.length);
  all.writeUInt32BE(body.length);
  all.set(body, 4);
  return all;
}

/** A positive integer without leading zeros (mpint). */
export function whole(bytes: Buffer): Buffer {
  let start = 0;
  while (start < bytes.length && bytes[start] === 0) start++;
  const plain = bytes.subarray(start);
  return sized(plain.length > 0 && plain[0]! >= 0x80 ? Buffer.concat([Buffer.from([0]), plain]) : plain);
}

/** A 64-bit number (uint64). */
export function wide(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(value);
  return bytes;
}

/** A 32-bit number (uint32). */
export function narrow(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** Splits bytes into length-prefixed strings; undefined if bytes are left over. */
export function parts(bytes: Buffer): Buffer[] | undefined {
  const found: Buffer[] = [];
  let at = 0;
  while (at < bytes.length) {
    if (bytes.length - at < 4) return undefined;
    const end = at + 4 + bytes.readUInt32BE(at);
    if (end > bytes.length) return undefined;
    found.push(bytes.subarray(at + 4, end));
    at = end;
  }
  return found;
}
