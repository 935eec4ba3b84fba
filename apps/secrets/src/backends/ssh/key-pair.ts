import { createPrivateKey, type KeyObject } from 'node:crypto';
import { makeCurveKey, makeRsaKey } from '@keystead/auth';
import { parsePrivateKey } from 'sshpk';
import { refuse } from '../../sdk/refuse';

const curves: ReadonlyMap<number, string> = new Map([
  [256, 'prime256v1'],
  [384, 'secp384r1'],
  [521, 'secp521r1'],
]);
const mostRsaBits = 8192;

/** Generates a key off the main thread; 0 bits means the default. Throws `invalid` for unknown and weak keys. */
export async function makeKey(type: string, askedBits: number): Promise<KeyObject> {
  if (type === 'rsa' || type === 'ssh-rsa') {
    const modulusLength = askedBits || 4096;
    if (modulusLength < 2048) refuse(`refusing to generate weak ${type} key: ${modulusLength} bits < 2048 bits`);
    if (modulusLength > mostRsaBits) refuse(`refusing to generate ${type} key: more than ${mostRsaBits} bits`);
    return makeRsaKey(modulusLength);
  }
  const named = /^ecdsa-sha2-nistp(256|384|521)$/.exec(type)?.[1];
  if (named !== undefined || type === 'ec') {
    const bits = named === undefined ? askedBits || 256 : Number(named);
    const namedCurve = curves.get(bits);
    if (!namedCurve) refuse(`unknown ECDSA key pair algorithm and bits: ${type} / ${bits}`);
    return makeCurveKey(namedCurve);
  }
  if (type === 'ed25519' || type === 'ssh-ed25519') return makeCurveKey('ed25519');
  refuse(`unknown ssh key pair algorithm: ${type}`);
}

const ed25519Head = Buffer.from('302e020100300506032b657004220420', 'hex');

/** Parses a private key in PEM or OpenSSH format. Throws `invalid` if it is malformed, encrypted or of another type. */
export function readPrivateKey(pem: string): KeyObject {
  try {
    const key = /BEGIN OPENSSH PRIVATE KEY/.test(pem) ? readOpenSsh(pem) : createPrivateKey(pem);
    const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key;
    const isAllowed = type === 'ec' ? [...curves.values()].includes(details?.namedCurve ?? '') : type === 'ed25519';
    if (isAllowed || (type === 'rsa' && (details?.modulusLength ?? 0) >= 2048)) return key;
  } catch {
    // The library's message is not quoted, because it may contain parts of the key.
  }
  refuse(
    'could not parse private_key provided value: it must be an unencrypted key of RSA with 2048 bits or more, of ECDSA, or of Ed25519',
  );
}

function readOpenSsh(pem: string): KeyObject {
  const read = parsePrivateKey(pem, 'ssh');
  if (read.type !== 'ed25519') return createPrivateKey(read.toString('pkcs8'));
  const { part } = read as unknown as { readonly part: { readonly k: { readonly data: Buffer } } };
  return createPrivateKey({ key: Buffer.concat([ed25519Head, part.k.data]), format: 'der', type: 'pkcs8' });
}

/** A private key in OpenSSH format. */
export function shownPrivateKey(key: KeyObject): string {
  if (key.asymmetricKeyType === 'rsa') return String(key.export({ type: 'pkcs1', format: 'pem' }));
  if (key.asymmetricKeyType === 'ec') return String(key.export({ type: 'sec1', format: 'pem' }));
  const text = parsePrivateKey(String(key.export({ type: 'pkcs8', format: 'pem' })), 'pem').toString('ssh');
  return text.endsWith('\n') ? text : `${text}\n`;
}
