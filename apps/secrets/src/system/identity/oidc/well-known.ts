import { signingAlgorithms } from '@keystead/auth';
import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import { path } from '../../../sdk/path';
import { type RawReply, raw } from '../../../sdk/reply';
import type { Storage } from '../../../sdk/storage';
import { findIssuer, type PublicUrl } from './issuer';
import { publicKeys } from './key-ring';
import { roles } from './roles';
import { allOf } from './settings';

/** Verifiers may cache the discovery document for a while. */
const cached = { 'cache-control': 'public, max-age=3600' };
/** Verifiers may cache key sets only for a shorter time, so that a key can be removed quickly. */
const cachedKeys = { 'cache-control': 'public, max-age=300' };

const jwk = z.looseObject({ kty: z.string(), kid: z.string(), use: z.string(), alg: z.string() });

/** A set of public keys. */
export const KeySet = z.object({ keys: z.array(jwk) });

/** A cacheable document. */
export const discoveryDocument = (document: object): RawReply => ({ ...raw(document), headers: cached });

/** A cacheable key set. */
export const keySet = (keys: readonly object[]): RawReply => ({ ...raw({ keys }), headers: cachedKeys });

/** The refusal if the issuer address is not known. */
export const noIssuer = (): Refusal =>
  new Refusal('missing', 'no issuer: neither "issuer" nor SECRETS_PUBLIC_URL is set');

/** The public keys of all roles. */
export async function keysOfRoles(storage: Storage, nowMs: number): Promise<object[]> {
  const names = (await allOf(storage, roles)).map(([, role]) => role.key);
  return publicKeys(storage, names, nowMs);
}

/** The discovery document and the keys, which others need to verify the tokens of roles. */
export const wellKnownPaths = (publicUrl: PublicUrl) => [
  path('oidc/.well-known/openid-configuration', {
    summary: 'The issuer of the identity tokens of this namespace.',
    auth: 'none',
    responseFormat: 'raw',
    read: {
      summary: 'Read the discovery document.',
      operationId: 'oidc-read-open-id-configuration',
      output: z.object({
        issuer: z.string(),
        jwks_uri: z.string(),
        response_types_supported: z.array(z.string()),
        subject_types_supported: z.array(z.string()),
        id_token_signing_alg_values_supported: z.array(z.string()),
      }),
      async run({ storage, namespace }) {
        const issuer = await findIssuer(storage, namespace.path, publicUrl);
        if (!issuer) throw noIssuer();
        return discoveryDocument({
          issuer,
          jwks_uri: `${issuer}/.well-known/keys`,
          response_types_supported: ['id_token'],
          subject_types_supported: ['public'],
          id_token_signing_alg_values_supported: signingAlgorithms,
        });
      },
    },
  }),
  path('oidc/.well-known/keys', {
    summary: 'The public keys that verify identity tokens.',
    auth: 'none',
    responseFormat: 'raw',
    read: {
      summary: 'Read the public keys (JWKS).',
      operationId: 'oidc-read-public-keys',
      output: KeySet,
      run: async ({ storage, nowMs }) => keySet(await keysOfRoles(storage, nowMs)),
    },
  }),
];
