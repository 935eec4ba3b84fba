import { bytesOf } from '../bytes';

/** The parts of a certificate that the page shows. */
export interface SshCertificate {
  readonly kind: 'user' | 'host';
  readonly keyId: string;
  readonly principals: readonly string[];
  /** The start of the validity in epoch milliseconds. */
  readonly validAfter: number;
  readonly validBefore: number;
}

/** The number of fields in the key of a certificate, by a pattern for the type of the certificate. */
const keyFields: readonly (readonly [RegExp, number])[] = [
  [/^ssh-ed25519/, 1],
  [/^ssh-rsa|^sk-ssh-ed25519|^ecdsa/, 2],
  [/^sk-ecdsa/, 3],
];

/** Reads fields of the SSH wire format (RFC 4251), one after the other. */
class Reader {
  private at = 0;
  private readonly view: DataView;

  constructor(private readonly bytes: Uint8Array) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get isAtEnd(): boolean {
    return this.at >= this.bytes.length;
  }

  number(): number {
    this.at += 4;
    return this.view.getUint32(this.at - 4);
  }

  long(): bigint {
    this.at += 8;
    return this.view.getBigUint64(this.at - 8);
  }

  field(): Uint8Array {
    const length = this.number();
    if (this.at + length > this.bytes.length) throw new RangeError('the field is cut');
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }

  text(): string {
    return new TextDecoder().decode(this.field());
  }
}

/** Reads a certificate as a line of OpenSSH; undefined if it is malformed. */
export function readCertificate(line: string): SshCertificate | undefined {
  const bytes = bytesOf(line.trim().split(/\s+/)[1] ?? '');
  if (bytes === undefined) return undefined;
  try {
    const reader = new Reader(bytes);
    const type = reader.text();
    const [, fields] = keyFields.find(([pattern]) => pattern.test(type)) ?? [];
    if (fields === undefined) return undefined;
    // A random field, then the key.
    for (let left = fields + 1; left > 0; left--) reader.field();
    reader.long();
    const kind = reader.number() === 2 ? 'host' : 'user';
    const keyId = reader.text();
    const names = new Reader(reader.field());
    const principals: string[] = [];
    while (!names.isAtEnd) principals.push(names.text());
    const milliseconds = (seconds: bigint) => Number(seconds) * 1000;
    return {
      kind,
      keyId,
      principals,
      validAfter: milliseconds(reader.long()),
      validBefore: milliseconds(reader.long()),
    };
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
