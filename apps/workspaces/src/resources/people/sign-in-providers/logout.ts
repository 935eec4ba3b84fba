import { audiencesOf, checkTimes, usualLeeways, verifySignature } from '@keystead/auth';
import { isRefusal, Refusal } from '@keystead/refusal';
import type { Database } from '../../../kernel/database/database';
import { endSessionsOf } from '../sessions/provider-sessions';
import type { Openid, ProviderClient } from './openid';

const event = 'http://schemas.openid.net/event/backchannel-logout';

/**
 * Ends the sessions that a logout token names, by subject, by the provider's own session, or both. If the token is sent
 * twice, the second finds no sessions. Throws `malformed` for an invalid token, `upstream` while the provider's keys
 * cannot be read.
 */
export async function endFromProvider(
  db: Database,
  openid: Openid,
  provider: ProviderClient,
  token: string,
  nowMs: number,
): Promise<void> {
  const claims = await verifySignature(token, openid.signatures(provider)).catch((error) => {
    throw isRefusal(error) && error.kind !== 'upstream' ? bad(error.message) : error;
  });
  try {
    checkTimes(claims, usualLeeways, nowMs);
  } catch (error) {
    throw isRefusal(error) ? bad(error.message) : error;
  }
  const { iss, sub, sid, nonce, events } = claims;
  if (claims.iat === undefined) throw bad('iat is missing');
  if (iss !== (await openid.issuer(provider))) throw bad('iss is another issuer');
  if (!audiencesOf(claims).includes(provider.clientId)) throw bad('aud is for another client');
  // ID tokens have a nonce, and must not end sessions.
  if (nonce !== undefined) throw bad('nonce must be absent');
  const isEvent = typeof events === 'object' && events !== null && Object.hasOwn(events, event);
  if (!isEvent) throw bad('events does not contain the logout event');
  const text = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined);
  const named = { subject: text(sub), providerSession: text(sid) };
  if (named.subject === undefined && named.providerSession === undefined) throw bad('sub or sid is missing');
  await endSessionsOf(db, { providerId: provider.id, ...named });
}

const bad = (why: string): Refusal => new Refusal('malformed', `logout_token: ${why}`);
