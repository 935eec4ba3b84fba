import { timingSafeEqual } from 'node:crypto';
import { invalid } from '@keystead/jsonapi';
import type { Keyring } from '@keystead/keyring';
import { isRefusal } from '@keystead/refusal';
import type { Actor } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { type CallDeps, callOf } from '../forwarding/host-call';
import { convertManifest, type MadeApp } from '../git-hosts/github-app';
import { HostRefused } from '../git-hosts/host-api';
import { addressBelow } from '../git-hosts/reading';
import * as clients from './clients';
import { appWebhookUrl, type OauthClient } from './oauth-client';
import type { NewClient } from './schema';

/** A pending creation of an app: a user was sent to a host with our manifest. */
export interface AppManifest {
  readonly id: string;
  readonly organizationId: string;
  readonly expiresAt: Date;
}

/** The person's choices. */
export interface ManifestInput {
  readonly name?: string | null;
  readonly httpUrl: string;
  readonly apiUrl: string;
  /** The account at the host that will own the app; empty for the user's own account. */
  readonly account?: string | null;
  readonly organizationScoped?: boolean | null;
  readonly agentPool?: string | null;
}

/** The page that sends a user to the host: the posted data and the URL. */
export interface ManifestPage {
  readonly action: string;
  readonly manifest: string;
  readonly account: string;
}

/** The lifetime of an attempt. The host's code is valid for an hour. */
const lifetimeMs = 3_600_000;
/** How long the page that leads to the host can be opened. Users open it at once. */
const openMs = 120_000;
const accountForm = /^[A-Za-z\d](?:[A-Za-z\d-]{0,98}[A-Za-z\d])?$/;
/** The maximum length of names that GitHub accepts. Users can change the name there. */
const longestName = 34;

// Someone who sees the database or an address bar cannot compute it without the key.
const stateOf = (keyring: Keyring, id: string): string => keyring.mac('workspace-app-state', id).toString('base64url');

const isStateOf = (keyring: Keyring, id: string, state: string): boolean => {
  const [expected, sent] = [Buffer.from(stateOf(keyring, id)), Buffer.from(state)];
  return expected.length === sent.length && timingSafeEqual(expected, sent);
};

/** The address of the page here, and the address to which the host sends people back. */
export const manifestPageUrl = (publicUrl: string, id: string): string => `${publicUrl}/github-app/${id}`;

/** Starts creating an app. The attempt is valid for an hour and only for this caller. Throws `invalid`. */
export async function begin(
  db: Database,
  organizationId: string,
  { tokenId }: { readonly tokenId: string },
  input: ManifestInput,
  nowMs: number,
): Promise<AppManifest> {
  const { account } = input;
  if (account && !accountForm.test(account)) throw invalid('account', 'must be the name of an account at the host');
  await clients.requirePool(db, organizationId, input.agentPool);
  await db.prisma.appManifest.deleteMany({ where: { expiresAt: { lt: new Date(nowMs) } } });
  const id = newId('gham');
  const expiresAt = new Date(nowMs + lifetimeMs);
  const storedInput = JSON.parse(JSON.stringify(input));
  const oauthClientId = newId('oc');
  await db.prisma.appManifest.create({
    data: { id, organizationId, oauthClientId, callerToken: tokenId, asked: storedInput, expiresAt },
  });
  return { id, organizationId, expiresAt };
}

/** A creation that has started and not ended. */
export async function find(db: Database, id: string): Promise<AppManifest | undefined> {
  const row = await db.prisma.appManifest.findFirst({ where: { id, organization: { removedAt: null } } });
  return row ? { id, organizationId: row.organizationId, expiresAt: row.expiresAt } : undefined;
}

/** The name of the organization in which a creation was started, until it ends. */
export async function organizationOf(db: Database, id: string): Promise<string | undefined> {
  const where = { id, organization: { removedAt: null } };
  const row = await db.prisma.appManifest.findFirst({ where, include: { organization: { select: { name: true } } } });
  return row?.organization.name;
}

/**
 * The form that is posted to the host; undefined after the first minutes, so that someone who finds the address later
 * cannot use it. The form can be read several times.
 */
export async function findPage(
  db: Database,
  keyring: Keyring,
  id: string,
  publicUrl: string,
  nowMs: number,
): Promise<ManifestPage | undefined> {
  const begunAfter = new Date(nowMs - openMs + lifetimeMs);
  const where = { id, expiresAt: { gt: begunAfter }, organization: { removedAt: null } };
  const row = await db.prisma.appManifest.findFirst({ where, include: { organization: { select: { name: true } } } });
  if (!row) return undefined;
  const { httpUrl, account } = row.asked as unknown as ManifestInput;
  const manifest = {
    name: `Keystead ${row.organization.name}`.slice(0, longestName),
    url: publicUrl,
    hook_attributes: { url: appWebhookUrl(publicUrl, row.oauthClientId), active: true },
    redirect_url: `${manifestPageUrl(publicUrl, id)}/callback`,
    public: false,
    default_permissions: { contents: 'read', metadata: 'read', statuses: 'write', pull_requests: 'write' },
    default_events: ['push', 'pull_request'],
  };
  const below = account ? `/organizations/${account}/settings/apps/new` : '/settings/apps/new';
  return {
    action: `${addressBelow(httpUrl, below)}?state=${stateOf(keyring, id)}`,
    manifest: JSON.stringify(manifest),
    account: account || 'your own account',
  };
}

/**
 * Completes what `begin` started: the host returns the app for the code, and the organization then has a connection.
 * The state and the code are valid only once. Throws `invalid` for a wrong state or code. Call it outside any
 * transaction.
 */
export async function convert(
  deps: CallDeps,
  by: { actor: Actor; tokenId: string },
  { id, organizationId }: AppManifest,
  { code, state }: { readonly code: string; readonly state: string },
  nowMs: number,
): Promise<OauthClient> {
  const { db, keyring } = deps;
  const where = { id, organizationId, callerToken: by.tokenId, expiresAt: { gt: new Date(nowMs) } };
  const row = await db.prisma.appManifest.findFirst({ where });
  const isGood = row && isStateOf(keyring, id, state) && (await db.prisma.appManifest.deleteMany({ where })).count > 0;
  if (!isGood)
    throw invalid('state', 'is not valid: it was not started in this session, has expired, or was already completed');
  const manifest = row.asked as unknown as ManifestInput;
  // Nothing is sent if the organization was removed in the meantime.
  await clients.requirePool(db, organizationId, manifest.agentPool);
  const app = await appOf(deps, manifest, code);
  const input: NewClient = {
    name: manifest.name ?? null,
    httpUrl: manifest.httpUrl,
    apiUrl: manifest.apiUrl,
    organizationScoped: manifest.organizationScoped ?? true,
    agentPool: manifest.agentPool,
    serviceProvider: 'github_app',
    key: app.appId,
    secret: app.webhookSecret,
    privateKey: app.privateKey,
    rsaPublicKey: null,
    oauthTokenString: null,
    projectIds: undefined,
  };
  return clients.create(db, keyring, by.actor, organizationId, input, row.oauthClientId);
}

async function appOf(deps: CallDeps, { apiUrl, httpUrl, agentPool }: ManifestInput, code: string): Promise<MadeApp> {
  try {
    return await convertManifest(apiUrl, code, callOf(deps, { apiUrl, httpUrl, agentPoolId: agentPool ?? null }));
  } catch (error) {
    if (error instanceof HostRefused) throw invalid('code', `is not valid: ${error.message}`);
    if (isRefusal(error) && error.kind === 'upstream') throw invalid('code', `cannot be exchanged: ${error.message}`);
    throw error;
  }
}
