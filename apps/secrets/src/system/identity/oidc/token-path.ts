import { signJwt } from '@keystead/auth';
import { z } from 'zod';
import type { Identity } from '../../../kernel/identity/identity';
import { path } from '../../../sdk/path';
import { data } from '../../../sdk/reply';
import { fillClaims } from './claims-template';
import { findIssuer, type PublicUrl, requireKnown } from './issuer';
import { signingKey } from './key-ring';
import { allows, findKey } from './named-keys';
import { roles } from './roles';
import { refuse } from './settings';

/** `oidc/token/:name`: a signed token with the caller's identity. */
export const tokenPath = (identity: Identity, publicUrl: PublicUrl) =>
  path('oidc/token/:name', {
    summary: 'An identity token of the caller.',
    read: {
      operationId: 'oidc-generate-token',
      summary: 'Generate an identity token for the caller with a role.',
      stepUp: true,
      output: z.object({ client_id: z.string(), token: z.string(), ttl: z.int() }),
      async run({ params: { name }, storage, caller, namespace, nowMs, warn }) {
        const role = (await roles.find(storage, name)) ?? refuse(`role ${JSON.stringify(name)} not found`);
        const key = (await findKey(storage, role.key)) ?? refuse(`key ${JSON.stringify(role.key)} not found`);
        if (!allows(key, role.client_id)) {
          refuse(
            `the key ${JSON.stringify(role.key)} does not list the client ID of the role ${JSON.stringify(name)} as an allowed client ID`,
          );
        }
        const entity = caller.entityId === '' ? undefined : await identity.find(caller.entityId);
        if (!entity || entity.disabled) return refuse("no entity associated with the request's token");
        const iss = requireKnown(await findIssuer(storage, namespace.path, publicUrl));
        const ttl = Math.min(role.ttl, key.verification_ttl);
        if (ttl < role.ttl) warn(`the verification_ttl of the key is shorter: the token is valid for ${ttl} seconds`);
        const now = Math.floor(nowMs / 1000);
        const claims = {
          ...fillClaims(role.template, entity.subject, nowMs),
          iss,
          namespace: namespace.id,
          sub: entity.entityId,
          aud: role.client_id,
          exp: now + ttl,
          iat: now,
        };
        return data({
          client_id: role.client_id,
          token: signJwt(claims, await signingKey(storage, role.key, key, nowMs)),
          ttl,
        });
      },
    },
  });
