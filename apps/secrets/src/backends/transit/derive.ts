import { diffieHellman, hkdfSync, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { announced, int, string } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { refuse } from '../../sdk/refuse';
import { empty } from '../../sdk/reply';
import { readPublic } from './imported-key';
import { changeKey, requireKey, withVersion } from './key';
import { isKeyType, kindOf } from './key-type';
import { plainKey } from './make-key';
import { materialOf } from './material';

const algorithm = 'ecdh';

/** Derives a key by key agreement (ECDH). */
export const deriveKeyPath = path('derive-key/:name', {
  summary: 'Derives a shared key (ECDH).',
  write: {
    summary: 'Derive a shared key from a key pair of this service and another party’s public key (ECDH).',
    operationId: 'derive-key',
    stepUp: true,
    input: z.object({
      key_derivation_algorithm: announced(string(), { default: algorithm, enum: [algorithm] })
        .optional()
        .describe('The key agreement algorithm.'),
      peer_public_key: string().optional().describe('Public key (PEM) of the other party.'),
      base_key_name: string().optional().describe('Name of the key pair of this service; must be of an ecdsa type.'),
      base_key_version: announced(int(), { default: 0 })
        .optional()
        .describe('Version of the key pair. Default: the newest.'),
      derived_key_type: announced(string(), { default: 'aes256-gcm96' })
        .optional()
        .describe('Type of the derived key.'),
    }),
    async run({ input, params, storage, nowMs }) {
      const { key_derivation_algorithm = algorithm, peer_public_key, base_key_version = 0 } = input;
      if (key_derivation_algorithm !== algorithm) {
        refuse(`key derivation algorithm ${key_derivation_algorithm} not supported`);
      }
      if (!peer_public_key) refuse('peer public key not provided');
      const typeText = input.derived_key_type ?? 'aes256-gcm96';
      const type = typeText.toLowerCase();
      const kind = isKeyType(type) ? kindOf(type) : undefined;
      if (!isKeyType(type) || kind?.family !== 'aead') refuse(`unknown key type ${typeText}`);
      const base = await requireKey(storage, input.base_key_name ?? '', 'specified base key not found');
      if (kindOf(base.type).family !== 'ecdsa') refuse(`base key type ${base.type} does not support key agreement`);
      const problem =
        base_key_version < 0
          ? 'negative'
          : base_key_version > base.latest_version
            ? 'higher than the latest key version'
            : base_key_version !== 0 && base_key_version < base.min_available_version
              ? 'less than the minimum available key version'
              : undefined;
      if (problem) refuse(`requested version of the base key is ${problem}`);
      const peer = readPublic(peer_public_key);
      if (peer.asymmetricKeyType !== 'ec') refuse('supplied peer public key is not an ECDSA key');
      const { privateKey, publicKey } = materialOf(base, base_key_version || base.latest_version);
      if (!privateKey) refuse('requested version of the base key does not contain a private part');
      if (peer.asymmetricKeyDetails?.namedCurve !== publicKey.asymmetricKeyDetails?.namedCurve) {
        refuse(`base private key type ${base.type} does not match peer public key curve`);
      }
      const secret = diffieHellman({ privateKey, publicKey: peer });
      const bytes = Buffer.from(hkdfSync('sha256', secret, '', '', kind.keyBytes)).toString('base64');
      const version = { key: bytes, hmacKey: randomBytes(32).toString('base64'), createdAtMs: nowMs };
      await changeKey(storage, params.name, (found) => {
        // Vault would add a version to an existing key of any type.
        if (found) refuse(`key ${JSON.stringify(params.name)} already exists`);
        return withVersion({ ...plainKey, type, imported_key: true }, version);
      });
      return empty;
    },
  },
});
