import { Unreachable } from '@keystead/outside';
import { type CallDeps, callOf, type HostPlace } from '../forwarding/host-call';
import type { Taken } from '../git-hosts/claims';
import type { OauthFlow } from '../git-hosts/git-host';
import { HostRefused } from '../git-hosts/host-api';
import { hostOf } from '../git-hosts/hosts';
import { textAt, at as valueAt } from '../git-hosts/reading';
import { Turns } from '../git-hosts/turns';
import { renewInstallation } from './installations';
import { endRenewal, tokenClaims } from './token-claims';
import { type Granted, grantColumns } from './token-columns';

const tokenCell = (id: string, column: 'value' | 'refresh_token') => ({ table: 'oauth_token', row: id, column });
const clientCell = (id: string) => ({ table: 'oauth_client', row: id, column: 'secret' });
const mostAttempts = 30;
const timeoutMs = 10_000;
const longestProblem = 300;

/**
 * Requests a token. Throws `HostRefused`, with the host's own message, if the host refuses, and `Unreachable` if it
 * does not answer.
 */
export async function requestToken(
  deps: CallDeps,
  client: HostPlace & { readonly id: string; readonly httpUrl: string; readonly key: string | null },
  flow: OauthFlow,
  form: Readonly<Record<string, string>>,
): Promise<Granted> {
  const { db, keyring } = deps;
  const row = await db.prisma.oauthClient.findUnique({ where: { id: client.id }, select: { secret: true } });
  const secret = row?.secret ? keyring.open(row.secret, clientCell(client.id)).toString('utf8') : '';
  const key = client.key ?? '';
  const proof: Record<string, string> = flow.basic ? {} : { client_id: key, client_secret: secret };
  const basic = `Basic ${Buffer.from(`${encodeURIComponent(key)}:${encodeURIComponent(secret)}`).toString('base64')}`;
  const url = flow.exchange(client.httpUrl);
  const request = {
    method: 'POST' as const,
    headers: { 'user-agent': 'keystead', ...(flow.basic ? { authorization: basic } : {}) },
    form: new URLSearchParams({ ...form, ...proof }),
  };
  const answer = await callOf(deps, client)(url, request, timeoutMs);
  const token = textAt(answer.json, 'access_token');
  if (answer.status === 429 || answer.status >= 500) throw new Unreachable(`the Git host answered ${answer.status}`);
  if (answer.status >= 300 || token === '') {
    const hostMessage =
      textAt(answer.json, 'error_description') || textAt(answer.json, 'error') || `it answered ${answer.status}`;
    throw new HostRefused(400, hostMessage.slice(0, longestProblem));
  }
  const seconds = Number(valueAt(answer.json, 'expires_in'));
  return {
    token,
    refreshToken: textAt(answer.json, 'refresh_token') || null,
    seconds: seconds > 0 ? seconds : null,
  };
}

/**
 * Renews due OAuth tokens with their refresh tokens. Hosts that rotate refresh tokens accept each one only once. Safe
 * to call concurrently: each token is claimed for a short time, so only one caller renews it.
 */
export function renewTokens(deps: CallDeps, now: () => number, turns = new Turns()): Promise<void> {
  const { db } = deps;
  return turns.each(
    50,
    (busy) => tokenClaims.take(db, busy),
    (due) => renew(deps, due, now),
  );
}

async function renew(deps: CallDeps, due: Taken<'id'>, now: () => number): Promise<void> {
  const { db, keyring } = deps;
  const row = await db.prisma.oauthToken.findUnique({
    where: { id: due.id },
    include: { oauthClient: true, installation: true },
  });
  if (row?.installation) return renewInstallation(deps, row.installation, due.claim, now());
  const flow = row && hostOf(row.oauthClient.serviceProvider)?.oauth;
  if (!row?.refreshToken || !flow) return;
  const refresh = keyring.open(row.refreshToken, tokenCell(row.id, 'refresh_token')).toString('utf8');
  // If the connection got another token in the meantime, that token stays.
  const same = { id: row.id, refreshToken: row.refreshToken };
  try {
    const parameters = { grant_type: 'refresh_token', refresh_token: refresh };
    const granted = await requestToken(deps, row.oauthClient, flow, parameters);
    // If the host returns no new refresh token, the old one stays valid.
    const grant = { ...granted, refreshToken: granted.refreshToken ?? refresh };
    await db.prisma.oauthToken.updateMany({ where: same, data: grantColumns(keyring, row.id, grant, now()) });
  } catch (error) {
    const problem = (error as Error).message.slice(0, 1000);
    const isFinal = error instanceof HostRefused ? due.attempts >= 3 : due.attempts >= mostAttempts;
    await endRenewal(db, due, problem, isFinal);
  }
}
