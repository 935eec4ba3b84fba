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

const pairs = new Map<string, KeyPairKeyObjectResult>();

/** A key pair, generated once per process, because RSA takes long. Each name has a separate pair. */
export function keyPair(kind: keyof typeof makers, name = ''): KeyPairKeyObjectResult {
  const pair = pairs.get(kind + name) ?? makers[kind]();
  pairs.set(kind + name, pair);
  return pair;
}
