/** The fields of an OpenSSH certificate. */
export interface ReadCertificate {
  readonly type: string;
  readonly serial: string;
  readonly kind: 'user' | 'host' | undefined;
  readonly keyId: string;
  readonly principals: readonly string[];
  readonly validAfter: number;
  readonly validBefore: number;
  readonly criticalOptions: Readonly<Record<string, string>>;
  readonly extensions: Readonly<Record<string, string>>;
  readonly signatureType: string;
  /** What is signed, and the signature with its type. */
  readonly signed: Buffer;
  readonly signature: Buffer;
  /** The key that signed it, as a line. */
  readonly signer: string;
}

const fieldsOfKey: Readonly<Record<string, number>> = { 'ssh-rsa': 2, 'ssh-ed25519': 1, 'sk-ssh-ed25519': 2 };

class Reader {
  private at = 0;
  constructor(private readonly bytes: Buffer) {}
  /** The data read so far. */
  get before(): Buffer {
    return this.bytes.subarray(0, this.at);
  }
  get ended(): boolean {
    return this.at === this.bytes.length;
  }
  take(length: number): Buffer {
    if (this.at + length > this.bytes.length) throw new Error('the certificate is cut off');
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }
  sized(): Buffer {
    return this.take(this.take(4).readUInt32BE());
  }
  text(): string {
    return this.sized().toString();
  }
}

function options(bytes: Buffer): Record<string, string> {
  const reader = new Reader(bytes);
  const found: [string, string][] = [];
  while (!reader.ended) {
    const name = reader.text();
    const value = reader.sized();
    found.push([name, value.length === 0 ? '' : new Reader(value).text()]);
  }
  if (JSON.stringify(found) !== JSON.stringify([...found].sort(([a], [b]) => (a < b ? -1 : 1)))) {
    throw new Error('options are not in the order of their names');
  }
  return Object.fromEntries(found);
}

/** Reads the line of a certificate; throws if it is not one. */
export function readSshCertificate(line: string): ReadCertificate {
  const [type = '', base64 = ''] = line.trimEnd().split(' ');
  const reader = new Reader(Buffer.from(base64, 'base64'));
  if (reader.text() !== type) throw new Error('the line has another type than the certificate');
  reader.sized();
  const [name = ''] = type.split('-cert-v01@');
  const fields = fieldsOfKey[name] ?? (name.startsWith('sk-ecdsa') ? 3 : 2);
  for (let i = 0; i < fields; i++) reader.sized();
  const serial = reader.take(8).readBigUInt64BE().toString(16);
  const kind = ([undefined, 'user', 'host'] as const)[reader.take(4).readUInt32BE()];
  const keyId = reader.text();
  const names = new Reader(reader.sized());
  const principals: string[] = [];
  while (!names.ended) principals.push(names.text());
  const [validAfter, validBefore] = [reader.take(8), reader.take(8)].map((one) => Number(one.readBigUInt64BE()));
  const criticalOptions = options(reader.sized());
  const extensions = options(reader.sized());
  if (reader.sized().length > 0) throw new Error('something is in the reserved field');
  const signer = reader.sized();
  const signed = reader.before;
  const signature = reader.sized();
  if (!reader.ended) throw new Error('something follows the signature');
  const signerType = new Reader(signer).text();
  return {
    type,
    serial,
    kind,
    keyId,
    principals,
    validAfter: validAfter!,
    validBefore: validBefore!,
    criticalOptions,
    extensions,
    signatureType: new Reader(signature).text(),
    signed,
    signature,
    signer: `${signerType} ${signer.toString('base64')}`,
  };
}
