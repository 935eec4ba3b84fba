import { randomBytes, randomUUID } from 'node:crypto';
import type { Keyring } from '@keystead/keyring';
import type { VcsRepository } from '../../../generated/prisma/client';
import type { Database } from '../../../kernel/database/database';
import { type CallDeps, callOf, type HostPlace } from '../forwarding/host-call';
import type { GitHost, HostRepository } from '../git-hosts/git-host';
import type { HostApi } from '../git-hosts/host-api';
import { apiOf, hostOf } from '../git-hosts/hosts';

/** The dependencies of work with repositories. */
export interface VcsDeps extends CallDeps {
  readonly publicUrl: string;
}

/** A repository with its host's API, ready for calls. */
export interface Reached {
  readonly row: VcsRepository;
  readonly host: GitHost;
  readonly api: HostApi;
}

const credentialCell = (id: string) => ({ table: 'vcs_repository', row: id, column: 'credential' });
const secretCell = (id: string) => ({ table: 'vcs_repository', row: id, column: 'hook_secret' });

const sealed = (keyring: Keyring, text: string, cell: Parameters<Keyring['seal']>[1]) =>
  new Uint8Array(keyring.seal(Buffer.from(text, 'utf8'), cell));

/** Where the host sends deliveries. */
export const webhookUrl = (publicUrl: string, id: string): string => `${publicUrl}/webhooks/vcs/${id}`;

/** The secret that proves deliveries of a repository. */
export const hookSecretOf = (keyring: Keyring, { id, hookSecret }: VcsRepository): string =>
  keyring.open(hookSecret, secretCell(id)).toString('utf8');

/** The current token of a connection. */
export async function tokenText(db: Database, keyring: Keyring, id: string): Promise<string | undefined> {
  const row = await db.prisma.oauthToken.findUnique({ where: { id }, select: { value: true } });
  return row ? keyring.open(row.value, { table: 'oauth_token', row: id, column: 'value' }).toString('utf8') : undefined;
}

/**
 * The settings for reaching a repository: those of its connection or, for cleaning up, the last settings of a removed
 * connection.
 */
interface RepositoryAccess extends HostPlace {
  readonly credential: string;
}

/**
 * The current settings for reaching a repository. They are stored, because they are needed after its connection is
 * removed.
 */
export async function accessTo(
  { db, keyring }: Pick<VcsDeps, 'db' | 'keyring'>,
  row: VcsRepository,
): Promise<RepositoryAccess> {
  const { id, apiUrl } = row;
  const credential = keyring.open(row.credential, credentialCell(id)).toString('utf8');
  const current = await tokenText(db, keyring, row.oauthTokenId);
  const client = await db.prisma.oauthClient.findFirst({
    where: { tokens: { some: { id: row.oauthTokenId } } },
    select: { httpUrl: true, agentPoolId: true },
  });
  if (current === undefined || !client) return { credential, apiUrl, agentPoolId: row.agentPoolId };
  const { httpUrl, agentPoolId } = client;
  if (current !== credential || agentPoolId !== row.agentPoolId) {
    const credential = sealed(keyring, current, credentialCell(id));
    await db.prisma.vcsRepository.updateMany({ where: { id }, data: { credential, agentPoolId } });
  }
  return { credential: current, apiUrl, httpUrl, agentPoolId };
}

/** A repository ready for calls; undefined if this service cannot call its kind of host. */
export async function reachRepository(deps: VcsDeps, row: VcsRepository): Promise<Reached | undefined> {
  const host = hostOf(row.serviceProvider);
  if (!host) return undefined;
  const access = await accessTo(deps, row);
  return { row, host, api: apiOf(host, row.apiUrl, access.credential, callOf(deps, access)) };
}

/** The host's data about a repository, as columns. */
export const factsOf = (found: HostRepository) => ({
  remoteId: found.id,
  displayIdentifier: found.identifier,
  httpUrl: found.httpUrl,
  cloneUrl: found.cloneUrl,
  defaultBranch: found.defaultBranch,
});

/**
 * Records that a workspace is connected to a repository, so that the repository is read immediately. Call it where the
 * two are connected.
 */
export async function keepRepository(
  tx: Database,
  keyring: Keyring,
  { tokenId, identifier }: { tokenId: string; identifier: string },
  found: HostRepository | undefined,
): Promise<void> {
  const client = await tx.prisma.oauthClient.findFirst({ where: { tokens: { some: { id: tokenId } } } });
  const token = await tokenText(tx, keyring, tokenId);
  if (!client || token === undefined) return;
  // The id is in the address of the webhook, which clients expect to end with a UUID.
  const id = randomUUID();
  const facts = found ? factsOf(found) : {};
  await tx.prisma.vcsRepository.upsert({
    where: { oauthTokenId_identifier: { oauthTokenId: tokenId, identifier } },
    create: {
      id,
      organizationId: client.organizationId,
      oauthTokenId: tokenId,
      serviceProvider: client.serviceProvider,
      apiUrl: client.apiUrl,
      agentPoolId: client.agentPoolId,
      identifier,
      credential: sealed(keyring, token, credentialCell(id)),
      hookSecret: sealed(keyring, randomBytes(32).toString('hex'), secretCell(id)),
      ...facts,
    },
    update: { ...facts, orphanedAt: null, attempts: 0, hookAttempts: 0, nextAt: new Date(0) },
  });
}
