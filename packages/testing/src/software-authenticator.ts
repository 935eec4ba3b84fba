import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

const sha256 = (data: string | Uint8Array): Buffer => createHash('sha256').update(data).digest();

/** CBOR for an authenticator: small numbers, strings, bytes, maps. */
function cbor(value: number | string | Uint8Array | Map<number | string, unknown>): Buffer {
  const head = (major: number, length: number): Buffer =>
    length < 24
      ? Buffer.from([(major << 5) | length])
      : length < 256
        ? Buffer.from([(major << 5) | 24, length])
        : Buffer.from([(major << 5) | 25, length >> 8, length & 255]);
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value);
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (value instanceof Uint8Array) return Buffer.concat([head(2, value.length), value]);
  const pairs = [...value].flatMap(([key, item]) => [cbor(key), cbor(item as never)]);
  return Buffer.concat([head(5, value.size), ...pairs]);
}

/** The ways in which an answer can differ from a valid one. */
export interface Lie {
  readonly origin?: string;
  readonly rpId?: string;
  readonly type?: string;
  readonly challenge?: string;
  /** The device did not verify the person. */
  readonly unverified?: true;
  readonly signedBy?: KeyObject;
}

/** A passkey in software, with an honest browser: WebAuthn with ES256. */
export class SoftwareAuthenticator {
  readonly id = randomBytes(32);
  private readonly keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  /** 0 for an authenticator without a counter, like synchronised passkeys. */
  counter = 0;

  constructor(
    private readonly origin: string,
    private readonly counts = false,
    /** Its attestation, which contains only a name. */
    private readonly attestation = 'none',
  ) {}

  /** Answers a page that creates a passkey. */
  make({ challenge, rp }: { challenge: string; rp: { id: string } }, lie: Lie = {}): object {
    const { x, y } = this.keys.publicKey.export({ format: 'jwk' });
    const at = (text = '') => Buffer.from(text, 'base64url');
    const key = new Map<number, unknown>([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, at(x)],
      [-3, at(y)],
    ]);
    const credential = Buffer.concat([Buffer.alloc(16), Buffer.from([0, this.id.length]), this.id, cbor(key)]);
    const authData = Buffer.concat([this.head(rp.id, 0x40, lie), credential]);
    const attestation = new Map<string, unknown>([
      ['fmt', this.attestation],
      ['attStmt', new Map()],
      ['authData', authData],
    ]);
    return this.answer({
      clientDataJSON: this.client('webauthn.create', challenge, lie),
      attestationObject: cbor(attestation),
    });
  }

  /** Answers a page that asks for a passkey. */
  show({ challenge, rpId }: { challenge: string; rpId: string }, lie: Lie = {}): object {
    if (this.counts) this.counter++;
    const clientDataJSON = this.client('webauthn.get', challenge, lie);
    const authenticatorData = this.head(rpId, 0, lie);
    const signed = Buffer.concat([authenticatorData, sha256(clientDataJSON)]);
    const signature = sign('sha256', signed, lie.signedBy ?? this.keys.privateKey);
    return this.answer({ clientDataJSON, authenticatorData, signature });
  }

  private client(type: string, challenge: string, lie: Lie): Buffer {
    const { origin } = this;
    return Buffer.from(
      JSON.stringify({ type, challenge, origin, crossOrigin: false, ...lie, rpId: undefined, signedBy: undefined }),
    );
  }

  private head(rpId: string, flags: number, lie: Lie): Buffer {
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(this.counter);
    return Buffer.concat([sha256(lie.rpId ?? rpId), Buffer.from([flags | (lie.unverified ? 0x01 : 0x05)]), counter]);
  }

  private answer(response: Readonly<Record<string, Buffer>>): object {
    const id = this.id.toString('base64url');
    const texts = Object.entries(response).map(([name, bytes]) => [name, bytes.toString('base64url')]);
    return { id, rawId: id, type: 'public-key', clientExtensionResults: {}, response: Object.fromEntries(texts) };
  }
}
