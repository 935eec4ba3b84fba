import { createPublicKey, type JsonWebKey } from 'node:crypto';
import { audiencesOf, checkTimes, signingAlgorithms, verifySignature } from '@keystead/auth';
import { isRefusal } from '@keystead/refusal';
import { z } from 'zod';
import type { Identity } from '../../../kernel/identity/identity';
import { secretString, string } from '../../../sdk/fields';
import { path } from '../../../sdk/path';
import { raw } from '../../../sdk/reply';
import type { Storage } from '../../../sdk/storage';
import { findIssuer, type PublicUrl } from './issuer';
import { keysOfRoles } from './well-known';

const strict = { skew: 0, expiration: 0, notBefore: 0 };

/** `oidc/introspect`: whether a token of a role is valid, and its entity still exists. */
export const introspectPath = (identity: Identity, publicUrl: PublicUrl) =>
  path('oidc/introspect', {
    summary: 'Checks whether an identity token is valid and its entity still exists.',
    responseFormat: 'raw',
    write: {
      operationId: 'oidc-introspect',
      summary: 'Introspect an identity token.',
      input: z.object({
        token: secretString().optional().describe('The token.'),
        client_id: string().optional().describe('Required audience.'),
      }),
      output: z.object({ active: z.boolean(), error: z.string().optional() }),
      async run({ input, storage, namespace, nowMs }) {
        const issuer = await findIssuer(storage, namespace.path, publicUrl);
        const error = await whatIsWrong(identity, storage, { ...input, issuer, nowMs });
        return raw(error === undefined ? { active: true } : { active: false, error });
      },
    },
  });

async function whatIsWrong(
  identity: Identity,
  storage: Storage,
  request: { token?: string; client_id?: string; issuer: string | undefined; nowMs: number },
): Promise<string | undefined> {
  const { token = '', client_id: clientId = '', issuer, nowMs } = request;
  try {
    const published = (await keysOfRoles(storage, nowMs)) as (JsonWebKey & { kid: string; alg: string })[];
    const claims = await verifySignature(token, {
      algorithms: signingAlgorithms,
      keys: async ({ kid, algorithm }) =>
        published
          .filter((key) => key.kid === kid && key.alg === algorithm)
          .map((key) => createPublicKey({ key, format: 'jwk' })),
    });
    checkTimes(claims, strict, nowMs);
    if (claims.iss !== issuer) return 'error validating claims: invalid issuer claim (iss)';
    if (clientId !== '' && !audiencesOf(claims).includes(clientId)) {
      return 'error validating claims: invalid audience claim (aud)';
    }
    const entity = await identity.find(String(claims.sub));
    if (!entity) return 'entity was not found';
    return entity.disabled ? 'entity is disabled' : undefined;
  } catch (error) {
    if (isRefusal(error)) return error.message;
    throw error;
  }
}
