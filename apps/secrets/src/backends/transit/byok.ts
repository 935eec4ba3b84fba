import { constants, createCipheriv, type KeyObject, publicEncrypt, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { operation, path } from '../../sdk/path';
import { refuse } from '../../sdk/refuse';
import { data } from '../../sdk/reply';
import { versionsOf } from './export';
import { hashFunction, oaepHash, wrapCipher, wrapStart } from './imported-key';
import { findKey, requireKey, type TransitKey, usable } from './key';
import { kindOf, signs } from './key-type';
import { materialOf } from './material';

const ByokInput = z.object({ hash: hashFunction });

type ByokParams = { readonly destination: string; readonly source: string; readonly version?: string };

const byokOperation = operation<ByokParams, typeof ByokInput>({
  summary: 'Export versions of an exportable key, wrapped with an RSA key of this mount.',
  stepUp: true,
  input: ByokInput,
  output: z.object({ name: z.string(), type: z.string(), keys: z.record(z.string(), z.string()) }),
  async run({ input, params, storage }) {
    const destination = await requireKey(storage, params.destination, 'no such destination key to export to');
    const found = (await findKey(storage, params.source)) ?? refuse('no such source key for export');
    if (!found.exportable) refuse('key is not exportable');
    const key = usable(found);
    if (!signs(destination.type)) {
      refuse(`key wrapping (requring message signing) is not supported for key type ${destination.type}`);
    }
    if (kindOf(destination.type).family !== 'rsa') refuse('unsupported key type in use; must be a rsa key');
    const { publicKey } = materialOf(destination, destination.latest_version);
    const hash = oaepHash(input.hash ?? 'SHA256');
    const texts = versionsOf(key, params.version).map((number) => [
      number,
      wrapped(publicKey, hash, bytesOf(key, number)),
    ]);
    return data({ name: params.source, type: key.type, keys: Object.fromEntries(texts) });
  },
});

/** A version in import format: raw bytes, or PKCS#8 for key pairs. */
function bytesOf(key: TransitKey, number: number): Buffer {
  const material = materialOf(key, number);
  if (!signs(key.type)) return material.secret;
  const own = material.privateKey ?? refuse('requested version does not contain a private part');
  return own.export({ format: 'der', type: 'pkcs8' });
}

function wrapped(wrappingKey: KeyObject, oaepHash: string, key: Buffer): string {
  const aes = randomBytes(32);
  const cipher = createCipheriv(wrapCipher, aes, wrapStart);
  const outer = publicEncrypt({ key: wrappingKey, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash }, aes);
  return Buffer.concat([outer, cipher.update(key), cipher.final()]).toString('base64');
}

/** Export keys wrapped for import into another service. */
export const byokPaths = [
  path('byok-export/:destination/:source', {
    summary: 'Exports a key, wrapped with another key.',
    read: { ...byokOperation, operationId: 'byok-key' },
  }),
  path('byok-export/:destination/:source/:version', {
    summary: 'Exports one version of a key, wrapped with another key.',
    params: { version: 'segment' },
    read: { ...byokOperation, operationId: 'byok-key-version' },
  }),
];
