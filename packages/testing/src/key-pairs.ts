import { generateKeyPairSync, type KeyPairKeyObjectResult } from 'node:crypto';

const makers = {
  rsa: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
  'rsa-1024': () => generateKeyPairSync('rsa', { modulusLength: 1024 }),
  'P-256': () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  'P-384': () => generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  'P-521': () => generateKeyPairSync('ec', { namedCurve: 'P-521' }),
  ed25519: () => generateKeyPairSync('ed25519'),
  ed448: () => generateKeyPairSync('ed448'),
} satisfies Record<string, () => KeyPairKeyObjectResult>;

const made = new Map<string, KeyPairKeyObjectResult>();

/** A pair of keys, made once for all tests of a process, since RSA takes long; another name is another pair. */
export function keyPair(kind: keyof typeof makers, name = ''): KeyPairKeyObjectResult {
  const known = made.get(kind + name) ?? makers[kind]();
  made.set(kind + name, known);
  return known;
}
