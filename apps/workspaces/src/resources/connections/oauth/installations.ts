import { invalid } from '@keystead/jsonapi';
import type { Keyring } from '@keystead/keyring';
import { isRefusal } from '@keystead/refusal';
import { type GithubAppInstallation, Prisma, type OauthClient as Row } from '../../../generated/prisma/client';
import type { Principal } from '../../../kernel/access/principal';
import type { Database } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { lockRow } from '../../../kernel/database/lock-row';
import { belonging } from '../../organizations/organizations/service';
import { type CallDeps, callOf, type HostPlace } from '../forwarding/host-call';
import { Claims, inSeconds, type Taken } from '../git-hosts/claims';
import {
  type AppAccount,
  apiOfApp,
  type InstallationToken,
  listInstallations,
  mintToken,
} from '../git-hosts/github-app';
import { HostRefused } from '../git-hosts/host-api';
import { pauseSeconds } from '../git-hosts/pause';
import { Turns } from '../git-hosts/turns';
import { endRenewal } from './token-claims';
import { grantColumns } from './token-columns';

/** An account on which an app is installed, in the form that callers see. Its id is the id of its token. */
export interface AppInstallation extends Omit<GithubAppInstallation, 'goneAt'> {
  readonly organizationId: string;
}

const lookSeconds = 600;
const longestPauseSeconds = 3600;
/**
 * How many tokens are requested for new installations at a time. The other installations wait until other apps have had
 * their turn.
 */
const mostMade = 20;
const nextSeconds = 5;

const include = { app: { select: { client: { select: { organizationId: true } } } } };
const shown = <T extends { app: { client: { organizationId: string } } }>({ app, ...row }: T) => ({
  ...row,
  organizationId: app.client.organizationId,
});

/** One installation, as long as the app is installed there. */
export async function find(db: Database, id: string): Promise<AppInstallation | undefined> {
  const where = { id, goneAt: null, app: { client: { organization: { removedAt: null } } } };
  const row = await db.prisma.githubAppInstallation.findFirst({ where, include });
  return row ? shown(row) : undefined;
}

/** The installations of the apps of organizations, by name. */
export async function list(
  db: Database,
  organizationIds: readonly string[],
  search: { name: string | undefined; installationId: bigint | undefined },
  page: { offset: number; size: number } | undefined,
): Promise<{ items: AppInstallation[]; total?: number }> {
  const where = {
    goneAt: null,
    name: search.name,
    installationId: search.installationId,
    app: { client: { organizationId: { in: [...organizationIds] } } },
  };
  const rows = await db.prisma.githubAppInstallation.findMany({
    where,
    include,
    orderBy: [{ name: 'asc' }, { id: 'asc' }],
    skip: page?.offset,
    take: page?.size,
  });
  const items = rows.map(shown);
  return page ? { items, total: await db.prisma.githubAppInstallation.count({ where }) } : { items };
}

/** The organizations of a principal that have an app. */
export async function organizationsWithApps(db: Database, principal: Principal): Promise<string[]> {
  const rows = await db.prisma.$queryRaw<{ id: string }[]>`
    SELECT o.id FROM organization o WHERE o.removed_at IS NULL AND ${belonging(principal)}
       AND EXISTS (SELECT 1 FROM oauth_client c WHERE c.organization_id = o.id AND c.service_provider = 'github_app')`;
  return rows.map(({ id }) => id);
}

/** An app with its credentials. */
function apiOf(deps: CallDeps, client: Row, nowMs: number) {
  const { id, apiUrl, key, privateKey } = client;
  const cell = { table: 'oauth_client', row: id, column: 'private_key' };
  const pem = privateKey ? deps.keyring.open(privateKey, cell).toString('utf8') : '';
  return apiOfApp({ apiUrl, appId: key ?? '', privateKey: pem }, callOf(deps, client), nowMs);
}

/** Asks the host whether it knows an app by its id and key. Throws `invalid`. Call it outside any transaction. */
export async function requireApp(
  deps: CallDeps,
  client: HostPlace & { readonly key?: string | null; readonly privateKey?: string | null },
  nowMs: number,
): Promise<void> {
  const { apiUrl, key, privateKey } = client;
  const app = { apiUrl, appId: key ?? '', privateKey: privateKey ?? '' };
  const api = apiOfApp(app, callOf(deps, client), nowMs);
  try {
    await api.get('/app');
  } catch (error) {
    if (error instanceof HostRefused) {
      const reason = error.status === 401 ? 'the host does not know an app with this id and key' : error.message;
      throw invalid('privateKey', `is not valid: ${reason}`);
    }
    if (isRefusal(error) && error.kind === 'upstream') throw invalid('apiUrl', `cannot be reached: ${error.message}`);
    throw error;
  }
}

/** How a requested token is stored: it is renewed by requesting another token, without a refresh token. */
const madeColumns = (keyring: Keyring, id: string, token: InstallationToken, nowMs: number) =>
  grantColumns(keyring, id, { ...token, refreshToken: null }, nowMs, true);

/**
 * Requests a new token for an installation. If the host refuses, the next attempt waits until the app is known to be
 * installed there.
 */
export async function renewInstallation(
  deps: CallDeps,
  installation: GithubAppInstallation,
  claim: number,
  nowMs: number,
): Promise<void> {
  const { db, keyring } = deps;
  const { id } = installation;
  const client = await db.prisma.oauthClient.findUnique({ where: { id: installation.oauthClientId } });
  if (!client) return;
  try {
    const token = await mintToken(apiOf(deps, client, nowMs), installation.installationId, nowMs);
    await db.prisma.oauthToken.updateMany({ where: { id }, data: madeColumns(keyring, id, token, nowMs) });
  } catch (error) {
    const problem = (error as Error).message.slice(0, 1000);
    await endRenewal(db, { id, claim }, problem, error instanceof HostRefused);
  }
}

const appClaims = new Claims({
  table: 'github_app',
  keys: ['oauth_client_id'],
  due: 'look_at',
  lease: "interval '2 minutes'",
  owner: 'oauth_client y ON y.id = x.oauth_client_id',
});

/**
 * Asks the hosts of apps where the apps are installed, every ten minutes and after a webhook reports a change. Any
 * number of callers may call it, because each app is claimed for a while.
 */
export function lookForInstallations(deps: CallDeps, now: () => number, turns = new Turns()): Promise<void> {
  const { db } = deps;
  return turns.each(
    50,
    (busy) => appClaims.take(db, busy),
    (due) => lookAt(deps, due, now),
  );
}

async function lookAt(deps: CallDeps, due: Taken<'oauth_client_id'>, now: () => number): Promise<void> {
  const { db } = deps;
  const id = due.oauth_client_id;
  const client = await db.prisma.oauthClient.findUnique({ where: { id } });
  if (!client) return;
  try {
    const { problem, isWhole } = await look(deps, client, now());
    const pause = isWhole ? lookSeconds : nextSeconds;
    await appClaims.end(db, due, inSeconds(pause), Prisma.sql`attempts = 0, problem = ${problem}`);
  } catch (error) {
    if (!(error instanceof HostRefused || isRefusal(error))) throw error;
    const pause = pauseSeconds(due.attempts, longestPauseSeconds);
    await appClaims.end(db, due, inSeconds(pause), Prisma.sql`problem = ${error.message.slice(0, 1000)}`);
  }
}

/**
 * Reads where an app is installed, and requests tokens for new installations. Returns the failures, and whether all
 * installations were handled.
 */
async function look(deps: CallDeps, client: Row, nowMs: number): Promise<{ problem: string | null; isWhole: boolean }> {
  const { db } = deps;
  const api = apiOf(deps, client, nowMs);
  const listed = await listInstallations(api);
  if (listed === undefined) return { problem: 'the app is installed on more accounts than are read', isWhole: true };
  const existing = await db.prisma.githubAppInstallation.findMany({
    where: { oauthClientId: client.id },
    include: { token: { select: { renewAt: true } } },
  });
  const usable = new Map(
    listed.filter(({ isSuspended }) => !isSuspended).map((one) => [BigInt(one.installationId), one]),
  );
  for (const { id, installationId, token } of existing) {
    const account = usable.get(installationId);
    const facts = account ? { ...factsOf(account), goneAt: null } : { goneAt: new Date(nowMs) };
    await db.prisma.githubAppInstallation.updateMany({ where: { id }, data: facts });
    if (account && token.renewAt === null) {
      await db.prisma.oauthToken.updateMany({ where: { id }, data: { renewAt: new Date(nowMs) } });
    }
  }
  const existingIds = new Set(existing.map(({ installationId }) => installationId));
  let problem: string | null = null;
  const fresh = [...usable].filter(([installationId]) => !existingIds.has(installationId));
  for (const [installationId, account] of fresh.slice(0, mostMade)) {
    try {
      await keep(deps, client.id, account, await mintToken(api, installationId, nowMs), nowMs);
    } catch (error) {
      if (!(error instanceof HostRefused)) throw error;
      problem = `${account.name}: ${error.message}`.slice(0, 1000);
    }
  }
  await forget(db, client.id);
  // A refused token is not requested again at once.
  return { problem, isWhole: problem !== null || fresh.length <= mostMade };
}

const factsOf = ({ name, type, iconUrl, url }: AppAccount) => ({ name, type, iconUrl, url });

async function keep(
  { db, keyring }: CallDeps,
  oauthClientId: string,
  account: AppAccount,
  token: InstallationToken,
  nowMs: number,
): Promise<void> {
  const installationId = BigInt(account.installationId);
  await db.transaction(async (tx) => {
    // The connection may have been deleted, or another node may have stored the installation first.
    if (!(await lockRow(tx, 'oauth_client', oauthClientId))) return;
    const where = { oauthClientId_installationId: { oauthClientId, installationId } };
    if (await tx.prisma.githubAppInstallation.findUnique({ where })) return;
    const id = newId('ghain');
    await tx.prisma.oauthToken.create({ data: { id, oauthClientId, ...madeColumns(keyring, id, token, nowMs) } });
    await tx.prisma.githubAppInstallation.create({ data: { id, oauthClientId, installationId, ...factsOf(account) } });
  });
}

/** Deletes installations that ended, once no workspace follows a repository through them. */
async function forget(db: Database, oauthClientId: string): Promise<void> {
  await db.prisma.oauthToken.deleteMany({
    where: { installation: { oauthClientId, goneAt: { not: null } }, workspaces: { none: {} } },
  });
}
