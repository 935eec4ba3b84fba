import { invalid } from '@keystead/jsonapi';
import type { Keyring } from '@keystead/keyring';
import { type Actor, recordChange } from '../../../kernel/audit/audit';
import { type Database, still } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { lockRow } from '../../../kernel/database/lock-row';
import { endSessionsOf } from '../sessions/provider-sessions';
import { providerAttributes } from './attributes';
import type { SignInProvider } from './provider';
import type { ProviderInput } from './schema';

const { initial, plain, stored } = providerAttributes;

const whole = {
  omit: { clientSecret: true },
  include: {
    organizations: {
      select: { organization: { select: { name: true } } },
      orderBy: { organization: { name: 'asc' } },
    },
  },
} as const;

/** The kind of the rows that this file manages. Rows of other kinds are providers with separate settings. */
const kind = 'oidc';

type WholeRow = Omit<SignInProvider, 'organizations'> & { organizations: { organization: { name: string } }[] };

function toProvider({ organizations, ...row }: WholeRow): SignInProvider {
  return { ...row, organizations: organizations.length === 0 ? null : organizations.map((o) => o.organization.name) };
}

/** Providers by id; unknown ids are left out. */
export async function findMany(db: Database, ids: readonly string[]): Promise<SignInProvider[]> {
  return (await db.prisma.signInProvider.findMany({ where: { id: { in: [...ids] }, kind }, ...whole })).map(toProvider);
}

/** One provider. */
export async function find(db: Database, id: string): Promise<SignInProvider | undefined> {
  return (await findMany(db, [id]))[0];
}

/** All providers, oldest first. */
export async function list(
  db: Database,
  page: { offset: number; size: number },
): Promise<{ items: SignInProvider[]; total: number }> {
  const rows = await db.prisma.signInProvider.findMany({
    ...whole,
    where: { kind },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
    skip: page.offset,
    take: page.size,
  });
  return { items: rows.map(toProvider), total: await db.prisma.signInProvider.count({ where: { kind } }) };
}

/** The client secret as it is stored. */
const sealed = (keyring: Keyring, id: string, text: string): Uint8Array<ArrayBuffer> =>
  new Uint8Array(keyring.seal(Buffer.from(text), cellOf(id)));

const cellOf = (row: string) => ({ table: 'sign_in_provider', row, column: 'client_secret' });

/** The client secret of a provider; undefined if the provider no longer exists. */
export async function secretOf(db: Database, keyring: Keyring, id: string): Promise<string | undefined> {
  const row = await db.prisma.signInProvider.findUnique({ where: { id }, select: { clientSecret: true } });
  return row === null ? undefined : keyring.open(row.clientSecret, cellOf(id)).toString('utf8');
}

/** Adds a provider. Throws `invalid` for a name that is taken, and for unknown organizations. */
export async function create(
  db: Database,
  keyring: Keyring,
  actor: Actor,
  input: ProviderInput & { clientSecret: string },
): Promise<SignInProvider> {
  const id = newId('sip');
  return db.transaction(async (tx) => {
    const { scopes, ...columns } = { ...initial, ...plain(input) };
    await tx.prisma.signInProvider.create({
      data: { id, ...columns, scopes: [...scopes], clientSecret: sealed(keyring, id, input.clientSecret) },
    });
    await setOrganizations(tx, id, input.organizations);
    const provider = still(await find(tx, id));
    requireGroups(provider);
    await recordChange(tx, actor, { ...changeOf(provider, 'create'), after: shown(provider) });
    return provider;
  });
}

/**
 * Changes the settings in a request. If the provider is switched off, or its issuer or client changes, its sessions
 * end.
 */
export async function update(
  db: Database,
  keyring: Keyring,
  actor: Actor,
  id: string,
  input: ProviderInput,
): Promise<SignInProvider> {
  return db.transaction(async (tx) => {
    await lockRow(tx, 'sign_in_provider', id);
    const before = still(await find(tx, id));
    const { scopes, ...columns } = plain(input);
    // Subjects identify users only at this issuer. At another issuer they may identify other users.
    if (columns.issuer !== undefined && columns.issuer !== before.issuer) {
      const count = await tx.prisma.externalIdentity.count({ where: { providerId: id } });
      if (count > 0) throw invalid('issuer', 'cannot be changed after users have signed in: add another provider');
    }
    await tx.prisma.signInProvider.update({
      where: { id },
      data: {
        ...columns,
        ...(scopes === undefined ? {} : { scopes: [...scopes] }),
        ...(input.clientSecret === undefined ? {} : { clientSecret: sealed(keyring, id, input.clientSecret) }),
      },
    });
    await setOrganizations(tx, id, input.organizations);
    const after = still(await find(tx, id));
    requireGroups(after);
    if (!after.enabled) await endSessionsOf(tx, { providerId: id });
    await recordChange(tx, actor, { ...changeOf(after, 'update'), before: shown(before), after: shown(after) });
    return after;
  });
}

/** Removes a provider. Its sessions end, and site administrators lose the rights that it gave them. */
export async function remove(db: Database, actor: Actor, provider: SignInProvider): Promise<void> {
  const { id } = provider;
  await db.transaction(async (tx) => {
    await endSessionsOf(tx, { providerId: id });
    await tx.prisma.user.updateMany({
      where: { siteAdminBy: id, id: { not: actor.id } },
      data: { siteAdmin: false, siteAdminBy: null },
    });
    await tx.prisma.signInProvider.deleteMany({ where: { id } });
    await recordChange(tx, actor, { ...changeOf(provider, 'delete'), before: shown(provider) });
  });
}

function requireGroups({ siteAdminGroup, groupsClaim }: SignInProvider): void {
  if (siteAdminGroup !== null && groupsClaim === null) {
    throw invalid('siteAdminGroup', 'requires groups-claim: without it, users have no groups');
  }
}

async function setOrganizations(tx: Database, providerId: string, names?: readonly string[] | null): Promise<void> {
  if (names === undefined) return;
  await tx.prisma.signInProviderOrganization.deleteMany({ where: { providerId } });
  const distinct = [...new Set(names ?? [])];
  const found = await tx.prisma.organization.findMany({
    where: { name: { in: distinct }, removedAt: null },
    select: { id: true },
  });
  if (found.length < distinct.length) throw invalid('organizations', 'were not all found');
  await tx.prisma.signInProviderOrganization.createMany({
    data: found.map(({ id }) => ({ providerId, organizationId: id })),
  });
}

const shown = (provider: SignInProvider) => ({ ...stored(provider), organizations: provider.organizations });

function changeOf({ id, name }: SignInProvider, verb: string) {
  return {
    organizationId: null,
    action: `sign-in-provider.${verb}`,
    target: { type: 'sign-in-providers', id, name },
  };
}
