import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import { parses, refuse } from '../../sdk/refuse';
import { parts, sized, whole } from './wire';

/** A parsed OpenSSH public key. */
export interface SshPublicKey {
  readonly type: string;
  /** The whole encoded key, with its type. */
  readonly blob: Buffer;
  /** Type as in roles, and size in bits; 0 for types with only one size. */
  readonly family: 'rsa' | 'ecdsa' | 'ed25519' | 'sk-ecdsa' | 'sk-ed25519';
  readonly bits: number;
}

const curves = { nistp256: ['P-256', 256], nistp384: ['P-384', 384], nistp521: ['P-521', 521] } as const;
const text = (bytes: Buffer): string => bytes.toString('base64url');
const leastRsaBits = 1024;
const mostRsaBits = 16_384;

/** Parses the fields of a key type; undefined if they are malformed. */
type Reading = (fields: readonly Buffer[]) => Omit<SshPublicKey, 'type' | 'blob'> | undefined;

const good = (jwk: JsonWebKey): boolean => parses(() => createPublicKey({ key: jwk, format: 'jwk' }));

function readRsa([e, n, ...more]: readonly Buffer[]): ReturnType<Reading> {
  if (!e || !n || more.length > 0) return undefined;
  // Numbers must be positive and without leading zeros.
  if (![e, n].every((number) => number.length > 0 && whole(number).equals(sized(number)))) return undefined;
  const bits = BigInt(`0x${n.toString('hex')}`).toString(2).length;
  if (bits < leastRsaBits || bits > mostRsaBits || e.length > 8 || (e.at(-1)! & 1) === 0) return undefined;
  return good({ kty: 'RSA', e: text(e), n: text(n) }) ? { family: 'rsa', bits } : undefined;
}

function readPoint(name: keyof typeof curves, family: 'ecdsa' | 'sk-ecdsa'): Reading {
  const [crv, bits] = curves[name];
  const length = Math.ceil(bits / 8);
  return ([curve, point, application, ...more]) => {
    if (curve?.toString() !== name || point?.length !== 1 + 2 * length || point[0] !== 4) return undefined;
    if (more.length > 0 || (application !== undefined) !== (family === 'sk-ecdsa')) return undefined;
    const jwk = { kty: 'EC', crv, x: text(point.subarray(1, 1 + length)), y: text(point.subarray(1 + length)) };
    return good(jwk) ? { family, bits } : undefined;
  };
}

function readEd25519(family: 'ed25519' | 'sk-ed25519'): Reading {
  return ([key, application, ...more]) => {
    if (key?.length !== 32 || more.length > 0 || (application !== undefined) !== (family === 'sk-ed25519')) {
      return undefined;
    }
    // OpenSSL accepts any 32 bytes as a key.
    return { family, bits: 0 };
  };
}

const readings: ReadonlyMap<string, Reading> = new Map<string, Reading>([
  ['ssh-rsa', readRsa],
  ...(['nistp256', 'nistp384', 'nistp521'] as const).map((name): [string, Reading] => [
    `ecdsa-sha2-${name}`,
    readPoint(name, 'ecdsa'),
  ]),
  ['ssh-ed25519', readEd25519('ed25519')],
  ['sk-ecdsa-sha2-nistp256@openssh.com', readPoint('nistp256', 'sk-ecdsa')],
  ['sk-ssh-ed25519@openssh.com', readEd25519('sk-ed25519')],
]);

const mostCharacters = 16_384;

/** Parses an `authorized_keys` line, or its base64 only. Throws `invalid` with `problem` before the reason. */
export function readPublicKey(line: string, problem: string): SshPublicKey {
  const no = (reason: string) => refuse(`${problem}: ${reason}`);
  if (line.length > mostCharacters) no('it is too long');
  const words = line.trim().split(' ');
  const base64 = words[1] ?? words[0]!;
  const blob = Buffer.from(base64, 'base64');
  if (blob.toString('base64') !== base64) no('illegal base64 data');
  const [type, ...fields] = parts(blob) ?? no('ssh: short read');
  const name = type?.toString('latin1') ?? '';
  const reading = readings.get(name) ?? no(`ssh: unknown key algorithm: ${JSON.stringify(name)}`);
  return { type: name, blob, ...(reading(fields) ?? no('ssh: invalid key')) };
}

const blobs = new WeakMap<KeyObject, Buffer>();

/** The public key of a key in OpenSSH wire format. Cached, as issuers add it to every certificate. */
export function publicBlob(key: KeyObject): Buffer {
  const blob = blobs.get(key) ?? encodedBlob(key);
  blobs.set(key, blob);
  return blob;
}

function encodedBlob(key: KeyObject): Buffer {
  const jwk = key.export({ format: 'jwk' });
  const bytes = (name: 'x' | 'y' | 'e' | 'n') => Buffer.from(jwk[name]!, 'base64url');
  if (jwk.kty === 'RSA') return Buffer.concat([sized('ssh-rsa'), whole(bytes('e')), whole(bytes('n'))]);
  if (jwk.crv === 'Ed25519') return Buffer.concat([sized('ssh-ed25519'), sized(bytes('x'))]);
  const name = Object.entries(curves).find(([, [crv]]) => crv === jwk.crv)?.[0];
  if (jwk.kty !== 'EC' || !name) throw new Error(`no type of SSH key for ${jwk.kty} ${jwk.crv}`);
  const point = Buffer.concat([Buffer.from([4]), bytes('x'), bytes('y')]);
  return Buffer.concat([sized(`ecdsa-sha2-${name}`), sized(name), sized(point)]);
}

/** The line of a key or certificate: type and base64. */
export const lineOf = (type: string, blob: Buffer): string => `${type} ${blob.toString('base64')}\n`;

/** The `authorized_keys` line of a key. */
export const publicLine = (key: KeyObject): string => {
  const blob = publicBlob(key);
  return lineOf(parts(blob)![0]!.toString(), blob);
};
