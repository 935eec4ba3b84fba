// PostgreSQL's binary COPY format: half the bytes of its text format, and nothing to escape.

/** The header of a binary COPY. */
export const COPY_HEADER = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1');
/** The trailer of a binary COPY. */
export const COPY_TRAILER = Buffer.from([0xff, 0xff]);

/** Rows for COPY: `begin` a row with its number of fields, then add each field. */
export class CopyRows {
  private buffer = Buffer.allocUnsafeSlow(1 << 20);
  private at = 0;

  begin(fields: number): this {
    this.room(2);
    this.at = this.buffer.writeInt16BE(fields, this.at);
    return this;
  }

  /** `bytea`, or the encoded characters of `text`. */
  bytes(value: Uint8Array | null): this {
    if (value === null) return this.none();
    this.room(4 + value.length);
    this.at = this.buffer.writeInt32BE(value.length, this.at);
    this.buffer.set(value, this.at);
    this.at += value.length;
    return this;
  }

  text(value: string): this {
    const length = Buffer.byteLength(value);
    this.room(4 + length);
    this.at = this.buffer.writeInt32BE(length, this.at);
    this.at += this.buffer.write(value, this.at);
    return this;
  }

  uuid(value: string): this {
    this.room(20);
    this.at = this.buffer.writeInt32BE(16, this.at);
    this.at += this.buffer.write(value.replaceAll('-', ''), this.at, 'hex');
    return this;
  }

  bigint(value: number | null): this {
    if (value === null) return this.none();
    this.room(12);
    this.at = this.buffer.writeInt32BE(8, this.at);
    this.at = this.buffer.writeBigInt64BE(BigInt(value), this.at);
    return this;
  }

  /** All rows so far; starts again with none. */
  take(): Uint8Array<ArrayBuffer> {
    const rows = new Uint8Array(this.buffer.buffer, 0, this.at);
    this.buffer = Buffer.allocUnsafeSlow(this.buffer.length);
    this.at = 0;
    return rows as Uint8Array<ArrayBuffer>;
  }

  private none(): this {
    this.room(4);
    this.at = this.buffer.writeInt32BE(-1, this.at);
    return this;
  }

  private room(bytes: number): void {
    if (this.at + bytes <= this.buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(this.buffer.length * 2 + bytes);
    this.buffer.copy(larger, 0, 0, this.at);
    this.buffer = larger;
  }
}
