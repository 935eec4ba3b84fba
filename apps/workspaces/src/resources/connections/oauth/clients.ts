import { invalid } from '@keystead/jsonapi';
import type { Keyring } from '@keystead/keyring';
import { notFound, Refusal } from '@keystead/refusal';
import type { Access } from '../../../kernel/access/access';
import { type Actor, recordChange } from '../../../kernel/audit/audit';
import { type Database, still } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { inOrder } from '../../../kernel/database/in-order';
import { lockRow } from '../../../kernel/database/lock-row';
import { noForwarder, poolsThatForward } from '../forwarding/requests';
import { requireRsaKey } from '../git-hosts/github-app';
import { clientAttributes } from './attributes';
import { lookSoon } from './look-soon';
import type { OauthClient } from './oauth-client';
import type { ClientInput, NewClient } from './schema';
import { sealedBytes } from './sealed';
import { broughtColumns } from './token-columns';

const { initial, plain } = clientAttributes;
const appId = /^[\w.]{1,64}$/;

const shownParts = {
  omit: { secret: true, privateKey: true },
  include: {
    organization: { select: { name: true } },
    tokens: {
      where: { installation: null },
      select: { id: true },
      orderBy: [{ createdAt: 'asc' as const }, { id: 'asc' as const }],
    },
    githubApp: { select: { problem: true } },
    projects: { select: { projectId: true }, orderBy: { projectId: 'asc' as const } },
  },
};

/** Connections by id; unknown ids are left out. */
export async function findMany(db: Database, ids: readonly string[]): Promise<OauthClient[]> {
  const rows = await db.prisma.oauthClient.findMany({
    where: { id: { in: [...ids] }, organization: { removedAt: null } },
    ...shownParts,
  });
  const forwarding = await poolsThatForward(
    db,
    rows.flatMap(({ agentPoolId }) => agentPoolId ?? []),
  );
  const isStuck = (pool: string | null) => pool !== null && !forwarding.has(pool);
  return rows.map(({ organization, tokens, projects, githubApp, ...row }) => ({
    ...row,
    problem: isStuck(row.agentPoolId) ? noForwarder : (githubApp?.problem ?? null),
    organizationName: organization.name,
    tokenIds: tokens.map(({ id }) => id),
    projectIds: projects.map(({ projectId }) => projectId),
  }));
}

/** One connection. */
export async function find(db: Database, id: string): Promise<OauthClient | undefined> {
  return (await findMany(db, [id]))[0];
}

/** The connections of an organization, oldest first; without a page, all of them. */
export async function list(
  db: Database,
  organizationId: string,
  page: { offset: number; size: number } | undefined,
): Promise<{ items: OauthClient[]; total?: number }> {
  const where = { organizationId };
  const rows = await db.prisma.oauthClient.findMany({
    where,
    select: { id: true },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
    skip: page?.offset,
    take: page?.size,
  });
  const items = await inOrder(rows, (ids) => findMany(db, ids));
  return page ? { items, total: await db.prisma.oauthClient.count({ where }) } : { items };
}

/**
 * Creates a connection, with a token if the request contains one. The provider is not called. Throws `invalid` if the
 * request contains neither a token nor a key for signing in.
 */
export async function create(
  db: Database,
  keyring: Keyring,
  actor: Actor,
  organizationId: string,
  input: NewClient,
  id = newId('oc'),
): Promise<OauthClient> {
  const { serviceProvider, oauthTokenString } = input;
  const isApp = serviceProvider === 'github_app';
  const authorisesLater = serviceProvider.startsWith('bitbucket_') && serviceProvider !== 'bitbucket_hosted';
  if (!isApp && !oauthTokenString && !(input.key && input.secret) && !authorisesLater) {
    throw invalid('oauthTokenString', "can't be blank");
  }
  requireKeyed(serviceProvider, input.privateKey);
  return db.transaction(async (tx) => {
    await requirePool(tx, organizationId, input.agentPool);
    await tx.prisma.oauthClient.create({
      data: {
        id,
        organizationId,
        ...initial,
        ...settings(keyring, id, input),
      },
    });
    if (isApp) await tx.prisma.githubApp.create({ data: { oauthClientId: id } });
    await setToken(tx, keyring, id, oauthTokenString);
    await setProjects(tx, organizationId, id, input.projectIds);
    const client = still(await find(tx, id));
    await recordChange(tx, actor, { ...changeOf(client, 'create'), after: shown(client) });
    return client;
  });
}

/** Changes the settings in a request; a new token replaces the old one. */
export async function update(
  db: Database,
  keyring: Keyring,
  actor: Actor,
  id: string,
  input: ClientInput,
): Promise<OauthClient> {
  return db.transaction(async (tx) => {
    await lockRow(tx, 'oauth_client', id);
    const before = await find(tx, id);
    if (!before) throw notFound();
    if (input.key === '' && before.serviceProvider === 'bitbucket_data_center') {
      throw invalid('key', 'The Consumer Key for Bitbucket Data Center must be present. Please add a value for `key`.');
    }
    requireKeyed(before.serviceProvider, input.privateKey);
    if (before.serviceProvider === 'github_app') {
      requireAppInput(input, before);
      await lookSoon(tx, id);
    }
    await requirePool(tx, before.organizationId, input.agentPool);
    await tx.prisma.oauthClient.update({ where: { id }, data: settings(keyring, id, input) });
    await setToken(tx, keyring, id, input.oauthTokenString);
    await setProjects(tx, before.organizationId, id, input.projectIds);
    const after = still(await find(tx, id));
    await recordChange(tx, actor, { ...changeOf(after, 'update'), before: shown(before), after: shown(after) });
    return after;
  });
}

/** Removes a connection with its tokens; workspaces linked through it keep their settings without a token. */
export async function remove(db: Database, actor: Actor, client: OauthClient): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.prisma.oauthClient.deleteMany({ where: { id: client.id } });
    await recordChange(tx, actor, { ...changeOf(client, 'delete'), before: shown(client) });
  });
}

/** Changes which projects may use the connection. */
export async function changeProjects(
  db: Database,
  actor: Actor,
  client: OauthClient,
  verb: 'add' | 'remove',
  ids: readonly string[],
): Promise<void> {
  await db.transaction(async (tx) => {
    if (verb === 'add') await addProjects(tx, client.organizationId, client.id, ids);
    else {
      await tx.prisma.oauthClientProject.deleteMany({
        where: { oauthClientId: client.id, projectId: { in: [...ids] } },
      });
    }
    const after = still(await find(tx, client.id));
    await recordChange(tx, actor, { ...changeOf(after, 'update'), before: shown(client), after: shown(after) });
  });
}

function settings(keyring: Keyring, id: string, input: ClientInput) {
  const secret = sealedBytes(keyring, 'oauth_client', id, 'secret', input.secret);
  const privateKey = sealedBytes(keyring, 'oauth_client', id, 'private_key', input.privateKey);
  return { ...plain(input), secret, privateKey, agentPoolId: input.agentPool };
}

function requireKeyed(serviceProvider: string, privateKey?: string | null): void {
  if (privateKey && serviceProvider !== 'ado_server' && serviceProvider !== 'github_app') {
    throw invalid('privateKey', 'is only for a GitHub App and for Azure DevOps Server');
  }
}

/**
 * Checks the input for an app: its id and its signing key, which a change can omit. A token is not allowed, because the
 * host issues the tokens. Throws `invalid`.
 */
export function requireAppInput(
  { key, privateKey, oauthTokenString }: Pick<ClientInput, 'key' | 'privateKey' | 'oauthTokenString'>,
  before?: Pick<OauthClient, 'key'>,
): void {
  const id = key === undefined ? before?.key : key;
  if (!id) throw invalid('key', "can't be blank: it is the id of the app");
  if (!appId.test(id)) throw invalid('key', 'must be the id of the app, or its client id');
  if (oauthTokenString)
    throw invalid('oauthTokenString', 'is not for a GitHub App: its tokens are created with the private key');
  if (before && privateKey === undefined) return;
  if (!privateKey) throw invalid('privateKey', "can't be blank: generate one on the page of the app");
  requireRsaKey(privateKey);
}

async function setToken(tx: Database, keyring: Keyring, clientId: string, text?: string | null): Promise<void> {
  if (!text) return;
  const existing = await tx.prisma.oauthToken.findFirst({ where: { oauthClientId: clientId }, select: { id: true } });
  const id = existing?.id ?? newId('ot');
  const data = broughtColumns(sealedBytes(keyring, 'oauth_token', id, 'value', text)!);
  await tx.prisma.oauthToken.upsert({ where: { id }, create: { id, oauthClientId: clientId, ...data }, update: data });
}

async function setProjects(tx: Database, organizationId: string, id: string, ids?: readonly string[]): Promise<void> {
  if (ids === undefined) return;
  await tx.prisma.oauthClientProject.deleteMany({ where: { oauthClientId: id } });
  try {
    await addProjects(tx, organizationId, id, ids);
  } catch (error) {
    throw error instanceof Refusal ? invalid('projects', 'were not all found') : error;
  }
}

async function addProjects(tx: Database, organizationId: string, id: string, ids: readonly string[]): Promise<void> {
  const uniqueIds = [...new Set(ids)];
  const count = await tx.prisma.project.count({ where: { id: { in: uniqueIds }, organizationId } });
  if (count < uniqueIds.length) throw notFound();
  await tx.prisma.oauthClientProject.createMany({
    data: uniqueIds.map((projectId) => ({ oauthClientId: id, projectId })),
    skipDuplicates: true,
  });
}

/**
 * Checks that the pool of a connection belongs to its organization, and keeps it from being deleted in the meantime.
 * Throws
 * `invalid`.
 */
export async function requirePool(tx: Database, organizationId: string, id?: string | null): Promise<void> {
  if (!id) return;
  const pool = await tx.prisma.agentPool.findFirst({ where: { id, organizationId }, select: { id: true } });
  if (!pool || !(await lockRow(tx, 'agent_pool', id))) {
    throw noSuchPool();
  }
}

/**
 * The agents of a pool receive the tokens of connections that use the pool. So a caller who chooses a pool must be
 * allowed to manage pools. Throws `invalid`.
 */
export function requireMayChoosePool(access: Access, organizationId: string, id?: string | null): void {
  if (id && !access.can(organizationId, 'manage-agent-pools')) throw noSuchPool();
}

const noSuchPool = () =>
  invalid('agentPool', 'is invalid: the provided agent pool does not exist or you are not authorized to use it');

function shown(client: OauthClient) {
  const { name, serviceProvider, httpUrl, apiUrl, key, organizationScoped, projectIds, agentPoolId } = client;
  return { name, serviceProvider, httpUrl, apiUrl, key, organizationScoped, projectIds, agentPoolId };
}

/** The audit event of a change of a connection. */
export function changeOf({ organizationId, id, name, serviceProvider }: OauthClient, verb: string) {
  const target = { type: 'oauth-clients', id, name: name ?? serviceProvider };
  return { organizationId, action: `oauth-client.${verb}`, target };
}
