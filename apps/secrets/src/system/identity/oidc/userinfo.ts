import { z } from 'zod';
import type { Identity } from '../../../kernel/identity/identity';
import type { Call } from '../../../sdk/call';
import { operation, path } from '../../../sdk/path';
import { type RawReply, raw } from '../../../sdk/reply';
import { isAssigned } from './assignments';
import { findClient } from './clients';
import { findAccess } from './grants';
import { OAuthError, oauthStatuses, userinfoError } from './oauth';
import { claimsOf } from './provider-claims';
import { findProvider, serves } from './providers';

/** The userinfo endpoint: the current claims about the user for the scopes of an access token. */
export function userinfoPath(identity: Identity) {
  const userinfo = operation<{ readonly name: string }>({
    summary: 'Read the claims about the user of an access token.',
    responseFormat: 'raw',
    auth: 'none',
    judges: 'unguessable',
    output: z.union([z.looseObject({ sub: z.string() }), OAuthError]),
    responses: oauthStatuses,
    run: (call) => answer(identity, call),
  });
  return path('oidc/provider/:name/userinfo', {
    summary: 'The userinfo endpoint of a provider.',
    auth: 'none',
    responseFormat: 'raw',
    read: { ...userinfo, operationId: 'oidc-provider-user-info' },
    write: { ...userinfo, operationId: 'oidc-provider-user-info2' },
  });
}

async function answer(identity: Identity, call: Call<{ readonly name: string }, object>): Promise<RawReply> {
  const { storage, params, sentToken, nowMs } = call;
  const provider = await findProvider(storage, params.name);
  if (!provider) return userinfoError('invalid_request', 'provider not found');
  const access = await findAccess(storage, sentToken ?? '', nowMs);
  if (!access || access.provider !== params.name) {
    return userinfoError('invalid_token', 'access token is missing, expired or not of this provider');
  }
  const client = await findClient(storage, access.clientId);
  if (!client) return userinfoError('access_denied', 'client not found');
  if (!serves(provider, access.clientId)) {
    return userinfoError('access_denied', 'client is not authorized to use the provider');
  }
  const entity = await identity.find(access.entityId);
  if (!entity) return userinfoError('access_denied', 'identity entity associated with the request not found');
  if (!(await isAssigned(identity, storage, entity, client))) {
    return userinfoError('access_denied', 'identity entity not authorized by client assignment');
  }
  const scopes = access.scopes.filter((name) => provider.scopes_supported.includes(name));
  const found = await claimsOf(storage, scopes, entity, nowMs);
  if ('conflict' in found) return userinfoError('invalid_request', found.conflict);
  return raw({ ...found.claims, sub: entity.entityId });
}
