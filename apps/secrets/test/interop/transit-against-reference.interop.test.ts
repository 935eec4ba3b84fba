import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startSecrets } from '../start-secrets';
import { type ReferenceServer, Speaker, startReferenceServer } from './reference-server';

// Exchanges keys, ciphertexts, signatures and MACs between this service and a reference server, if
// KEYSTEAD_REFERENCE_SERVER names its program.

const program = process.env.KEYSTEAD_REFERENCE_SERVER;
const moved = program ? it : it.skip;

const base64 = (text: string) => Buffer.from(text).toString('base64');
const plaintext = base64('the treasure is under the third oak');
const context = base64('a context of its team');
const aad = base64('order 66');

type Ask = (path: string, body?: object) => Promise<Record<string, string>>;

const encrypting = ['aes128-gcm96', 'aes256-gcm96', 'chacha20-poly1305', 'xchacha20-poly1305', 'rsa-2048'];
const signing = ['ed25519', 'ecdsa-p256', 'ecdsa-p384', 'ecdsa-p521', 'rsa-2048'];
const keys: readonly (readonly [name: string, settings: object])[] = [
  ...[...new Set([...encrypting, ...signing])].map((type) => [type, { type }] as const),
  ['derived', { type: 'aes256-gcm96', derived: true }],
  ['convergent', { type: 'aes256-gcm96', derived: true, convergent_encryption: true }],
  ['derived-chacha', { type: 'chacha20-poly1305', derived: true }],
  ['derived-ed25519', { type: 'ed25519', derived: true }],
  ['hmac', { type: 'hmac', key_size: 32 }],
];

describe('keys of a reference server', () => {
  const secrets = startSecrets();
  let reference: ReferenceServer;
  let here: Ask;
  let there: Ask;

  const asker =
    (speaker: Speaker, token: string): Ask =>
    async (path, body) => {
      const method = body === undefined ? 'GET' : 'POST';
      const { data } = await speaker.must({ method, path: `transit/${path}`, body, token });
      return (data ?? {}) as Record<string, string>;
    };

  beforeAll(async () => {
    if (!program) return;
    reference = await startReferenceServer(program);
    const speaker = new Speaker((secrets.server.address() as AddressInfo).port);
    here = asker(speaker, secrets.rootToken);
    there = asker(reference.speaker, reference.rootToken);
    for (const [own, token] of [
      [speaker, secrets.rootToken],
      [reference.speaker, reference.rootToken],
    ] as const) {
      await own.must({ method: 'POST', path: 'sys/mounts/transit', body: { type: 'transit' }, token });
    }
  });
  afterAll(() => reference?.stop());

  moved.each(keys)('%s can be moved in both directions, and its earlier output stays valid', async (name, settings) => {
    const isDerived = 'derived' in settings;
    const by = isDerived ? { context } : {};
    const type = (settings as { type: string }).type;
    for (const [from, to, key] of [
      [there, here, `${name}-in`],
      [here, there, `${name}-out`],
    ] as const) {
      await from(`keys/${key}`, { ...settings, exportable: true, allow_plaintext_backup: true });
      await from(`keys/${key}/rotate`, {});
      const made = {
        texts: [] as object[],
        signatures: [] as object[],
        macs: [] as object[],
      };
      if (encrypting.includes(type)) {
        const plain = { ...by, ciphertext: (await from(`encrypt/${key}`, { plaintext, ...by })).ciphertext };
        const old = {
          ...by,
          ciphertext: (await from(`encrypt/${key}`, { plaintext, key_version: 1, ...by })).ciphertext,
        };
        made.texts.push(plain, old);
        if (!type.startsWith('rsa')) {
          const extra = { ...by, associated_data: aad };
          made.texts.push({ ...extra, ciphertext: (await from(`encrypt/${key}`, { plaintext, ...extra })).ciphertext });
        }
      }
      if (signing.includes(type)) {
        const ways = type === 'ed25519' ? [{}] : [{}, { hash_algorithm: 'sha2-512' }, { marshaling_algorithm: 'jws' }];
        const more = type.startsWith('rsa') ? [{ signature_algorithm: 'pkcs1v15' }, { salt_length: 'hash' }] : [];
        for (const way of [...ways, ...more]) {
          const { signature } = await from(`sign/${key}`, { input: plaintext, ...by, ...way });
          made.signatures.push({ input: plaintext, signature, ...by, ...way });
        }
      }
      if (!isDerived) {
        for (const algorithm of ['sha2-256', 'sha3-384']) {
          const { hmac } = await from(`hmac/${key}`, { input: plaintext, algorithm });
          made.macs.push({ input: plaintext, hmac, hash_algorithm: algorithm });
        }
      }
      const { backup } = await from(`backup/${key}`);
      await to(`restore/${key}`, { backup });
      for (const text of made.texts) expect(await to(`decrypt/${key}`, text)).toMatchObject({ plaintext });
      for (const signed of [...made.signatures, ...made.macs]) {
        const verdict = { own: await from(`verify/${key}`, signed), other: await to(`verify/${key}`, signed) };
        expect({ ...verdict, signed }).toEqual({ own: { valid: true }, other: { valid: true }, signed });
      }
      if (name === 'convergent') {
        const [mine, theirs] = [
          await from(`encrypt/${key}`, { plaintext, ...by }),
          await to(`encrypt/${key}`, { plaintext, ...by }),
        ];
        expect(mine.ciphertext).toBe(theirs.ciphertext);
      }
    }
  });
});
