import { createHash, randomBytes } from 'node:crypto';
import { invalid } from '@keystead/jsonapi';
import type { Keyring } from '@keystead/keyring';
import { isRefusal, notFound } from '@keystead/refusal';
import { type Actor, recordChange } from '../../../kernel/audit/audit';
import { type Database, still } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { lockRow } from '../../../kernel/database/lock-row';
import { type CallDeps, callOf } from '../forwarding/host-call';
import type { GitHost, OauthFlow } from '../git-hosts/git-host';
import { HostRefused } from '../git-hosts/host-api';
import { apiOf, hostOf } from '../git-hosts/hosts';
import { textAt } from '../git-hosts/reading';
import { changeOf } from './clients';
import { requestToken } from './grants';
import { callbackUrl, type OauthClient } from './oauth-client';
import { type Granted, grantColumns } from './token-columns';
import { find as findToken, type OauthToken } from './tokens';

/** A pending consent at a host. */
export interface Leaving {
  /** The address for the browser. */
  readonly url: string;
  readonly expiresAt: Date;
}

/** The parameters that the browser returns with. */
export interface Return {
  readonly code: string;
  readonly state: string;
}

const lifetimeMs = 10 * 60_000;
/** 32 random bytes in base64url. */
const form = /^[\w-]{43}$/;

/** The data of a connection that must not change between the start and the end of a consent, in one string. */
const begunWith = ({ httpUrl, key, serviceProvider }: OauthClient) => JSON.stringify([serviceProvider, httpUrl, key]);

const hashOf = (keyring: Keyring, state: string) => new Uint8Array(keyring.mac('workspace-vcs-state', state));
// The verifier is not in the database, and someone who sees the address bar cannot compute it without the key.
const verifierOf = (keyring: Keyring, state: string) =>
  keyring.mac('workspace-vcs-verifier', state).toString('base64url');

/**
 * The code flow of a connection's host. Throws `invalid` if the host has no code flow, or if the connection has no
 * application for it.
 */
function requireFlow({ serviceProvider, key }: OauthClient): { host: GitHost; flow: OauthFlow } {
  const host = hostOf(serviceProvider);
  if (!host?.oauth) {
    throw invalid(
      'serviceProvider',
      'cannot be connected in the browser: create the connection with a token of the host',
    );
  }
  if (!key)
    throw invalid('key', "can't be blank: register an OAuth application at the host, and set its key and secret");
  return { host, flow: host.oauth };
}

/**
 * Starts connecting a host in the browser. The attempt is valid for ten minutes and only for this caller. Throws
 * `invalid`.
 */
export async function leave(
  db: Database,
  keyring: Keyring,
  client: OauthClient,
  caller: { readonly tokenId: string },
  publicUrl: string,
  nowMs: number,
): Promise<Leaving> {
  const { flow } = requireFlow(client);
  const state = randomBytes(32).toString('base64url');
  const expiresAt = new Date(nowMs + lifetimeMs);
  await db.prisma.oauthLeaving.deleteMany({ where: { expiresAt: { lt: new Date(nowMs) } } });
  await db.prisma.oauthLeaving.create({
    data: {
      stateHash: hashOf(keyring, state),
      oauthClientId: client.id,
      callerToken: caller.tokenId,
      begunWith: begunWith(client),
      expiresAt,
    },
  });
  const url = new URL(flow.authorize(client.httpUrl));
  const parameters = {
    client_id: client.key!,
    redirect_uri: callbackUrl(publicUrl, client.id),
    response_type: 'code',
    state,
    ...(flow.scope === null ? {} : { scope: flow.scope }),
    ...(flow.pkce
      ? {
          code_challenge: createHash('sha256').update(verifierOf(keyring, state)).digest('base64url'),
          code_challenge_method: 'S256',
        }
      : {}),
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return { url: url.href, expiresAt };
}

/**
 * Consumes a state and returns the consent that it refers to. It is valid only once, and only for the caller that
 * started it.
 */
async function comeBack(
  db: Database,
  keyring: Keyring,
  client: OauthClient,
  { tokenId }: { readonly tokenId: string },
  state: string,
  nowMs: number,
): Promise<void> {
  const where = { oauthClientId: client.id, callerToken: tokenId };
  const stateHash = form.test(state) ? hashOf(keyring, state) : undefined;
  const row = stateHash && (await db.prisma.oauthLeaving.findFirst({ where: { stateHash, ...where } }));
  const deleted = row ? await db.prisma.oauthLeaving.deleteMany({ where: { stateHash: row.stateHash } }) : { count: 0 };
  if (!row || deleted.count === 0 || row.expiresAt.getTime() <= nowMs) {
    throw invalid('state', 'is not valid: it was not started in this session, has expired, or was already completed');
  }
  if (row.begunWith !== begunWith(client))
    throw invalid('state', 'is not valid: the connection has changed in the meantime');
}

/**
 * Completes what `leave` started: exchanges the code at the host. The connection then has a token, with the same id as
 * its previous token, if any. Throws `invalid` for a wrong state or code. Call it outside any transaction.
 */
export async function agree(
  deps: CallDeps & { readonly publicUrl: string },
  by: { actor: Actor; tokenId: string },
  client: OauthClient,
  { code, state }: Return,
  nowMs: number,
): Promise<OauthToken> {
  const { db, keyring, publicUrl } = deps;
  const { host, flow } = requireFlow(client);
  await comeBack(db, keyring, client, by, state, nowMs);
  const granted = await exchange(deps, client, flow, {
    grant_type: 'authorization_code',
    code,
    redirect_uri: callbackUrl(publicUrl, client.id),
    ...(flow.pkce ? { code_verifier: verifierOf(keyring, state) } : {}),
  });
  const person = await personOf(deps, host, client, granted);
  return db.transaction(async (tx) => {
    if (!(await lockRow(tx, 'oauth_client', client.id))) throw notFound();
    const where = { oauthClientId: client.id };
    const existing = await tx.prisma.oauthToken.findFirst({ where, orderBy: [{ createdAt: 'asc' }, { id: 'asc' }] });
    const id = existing?.id ?? newId('ot');
    const data = { ...grantColumns(keyring, id, granted, nowMs), serviceProviderUser: person };
    await tx.prisma.oauthToken.upsert({ where: { id }, create: { id, ...where, ...data }, update: data });
    await tx.prisma.vcsRepository.updateMany({ where: { oauthTokenId: id }, data: { nextAt: new Date(0) } });
    const change = { ...changeOf(client, 'update'), action: 'oauth-client.connect', after: { tokenId: id, person } };
    await recordChange(tx, by.actor, change);
    return still(await findToken(tx, id));
  });
}

async function exchange(
  deps: CallDeps,
  client: OauthClient,
  flow: OauthFlow,
  form: Readonly<Record<string, string>>,
): Promise<Granted> {
  try {
    return await requestToken(deps, client, flow, form);
  } catch (error) {
    if (error instanceof HostRefused) throw invalid('code', `is not valid: ${error.message}`);
    throw error;
  }
}

/** The user who gave the consent, if the host names them. */
async function personOf(deps: CallDeps, host: GitHost, client: OauthClient, granted: Granted): Promise<string | null> {
  const person = host.oauth?.person;
  if (!person) return null;
  try {
    return (
      textAt(await apiOf(host, client.apiUrl, granted.token, callOf(deps, client)).get(person.path), person.name) ||
      null
    );
  } catch (error) {
    // The host may be down or refuse to answer. The token is valid nevertheless.
    if (error instanceof HostRefused || (isRefusal(error) && error.kind === 'upstream')) return null;
    throw error;
  }
}
