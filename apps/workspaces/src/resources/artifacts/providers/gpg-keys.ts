import { badParameter, document, instant, invalid, text } from '@keystead/jsonapi';
import { Refusal } from '@keystead/refusal';
import { readKeys } from 'openpgp';
import { z } from 'zod';
import type { GpgKey as Row } from '../../../generated/prisma/client';
import type { Access } from '../../../kernel/access/access';
import { actorOf, recordChange } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { lockRow } from '../../../kernel/database/lock-row';
import { endpoints, includable, type LookupBy, type Resource, serializerOf } from '../../../kernel/endpoints/endpoint';
import type { Environment } from '../../../kernel/endpoints/environment';
import * as organizations from '../../organizations/organizations/service';
import { keyPolicy } from './policy';

/** The public half of a key, with the organization that is its namespace. */
interface GpgKey extends Row {
  readonly organizationName: string;
}

const mostKeys = 100;
const mostArmor = 64 * 1024;
const namespace = z.string().min(1).max(255);

const CreateKey = document('gpg-keys', {
  untyped: true,
  attributes: { namespace, 'ascii-armor': z.string().min(1).max(mostArmor) },
});
const MoveKey = document('gpg-keys', { untyped: true, attributes: { namespace } });

const keySerializer = serializerOf<GpgKey>()({
  type: 'gpg-keys',
  shape: {
    'ascii-armor': text,
    'key-id': text,
    namespace: text,
    source: text,
    'source-url': text.nullable(),
    'trust-signature': text,
    'created-at': instant,
    'updated-at': instant,
  },
  id: ({ id }) => id,
  self: ({ organizationName, keyId }) => `${base}/${organizationName}/${keyId}`,
  attributes: (key) => ({
    'ascii-armor': key.asciiArmor,
    'key-id': key.keyId,
    namespace: key.organizationName,
    source: '',
    'source-url': null,
    'trust-signature': '',
    'created-at': key.createdAt,
    'updated-at': key.updatedAt,
  }),
});

const isMember = (access: Access, { organizationId }: Row): boolean => access.isMember(organizationId);
const onKeys = endpoints(keyPolicy, keySerializer, { visible: isMember });

const include = { organization: { select: { name: true } } } as const;

const named = ({ organization, ...row }: Row & { organization: { name: string } }): GpgKey => ({
  ...row,
  organizationName: organization.name,
});

/**
 * The id of the one public key in a string. Throws `invalid` for a string that contains no key, several keys, or a
 * private key.
 */
async function keyIdIn(asciiArmor: string): Promise<string> {
  const [key, ...more] = await readKeys({ armoredKeys: asciiArmor }).catch(() => []);
  if (!key || more.length > 0) throw invalid('asciiArmor', 'must be one OpenPGP public key, armored');
  if (key.isPrivate()) throw invalid('asciiArmor', 'must be a public key: this is a private one');
  return key.getKeyID().toHex().toUpperCase();
}

const base = '/api/registry/private/v2/gpg-keys' as const;
const byName = `${base}/:namespace/:key_id` as const;

async function load({ db, env, params }: LookupBy<'namespace' | 'key_id'>): Promise<GpgKey | undefined> {
  const organization = await organizations.findByName(db, env, params.namespace);
  if (!organization) return undefined;
  const where = { organizationId: organization.id, keyId: params.key_id.toUpperCase() };
  const found = await db.prisma.gpgKey.findFirst({ where, include });
  return found ? named(found) : undefined;
}

const changeOf = ({ id, keyId, organizationId }: Row, verb: string) => ({
  organizationId,
  action: `gpg-key.${verb}`,
  target: { type: 'gpg-keys', id, name: keyId },
});

/** An organization for which the caller may manage keys. Throws `invalid`. */
async function requireNamespace(
  { db, env, accessTo }: { db: Database; env: Environment; accessTo(ids: readonly string[]): Promise<Access> },
  name: string,
): Promise<string> {
  const found = await organizations.findByName(db, env, name);
  const may = found && keyPolicy['can-manage'](await accessTo([found.id]), { organizationId: found.id });
  if (!may) throw invalid('namespace', 'namespace not authorized');
  return found.id;
}

/** Locks an organization until the transaction ends, and refuses a key beyond the limit. */
async function requireRoom(tx: Database, organizationId: string): Promise<void> {
  await lockRow(tx, 'organization', organizationId);
  if ((await tx.prisma.gpgKey.count({ where: { organizationId } })) < mostKeys) return;
  throw invalid('namespace', `already has the maximum of ${mostKeys} keys`);
}

const index = onKeys.list(base, {
  outside: true,
  summary: 'List the GPG keys of organizations.',
  query: { 'filter[namespace]': 'Comma-separated names of organizations; required.' },
  run: async ({ db, env, query, page, accessTo }) => {
    const names = query.list('filter[namespace]');
    if (names.length === 0) throw badParameter('filter[namespace]', 'filter[namespace] must name an organization');
    const found = await organizations.findMany(db, env, names);
    const access = await accessTo(found.map(({ id }) => id));
    const ids = found.map(({ id }) => id).filter((id) => access.isMember(id));
    const where = { organizationId: { in: ids } };
    const rows = await db.prisma.gpgKey.findMany({
      where,
      include,
      orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
      skip: page!.offset,
      take: page!.size,
    });
    return { items: rows.map(named), total: await db.prisma.gpgKey.count({ where }) };
  },
});

const create = onKeys.post(base, {
  outside: true,
  summary: 'Add a GPG public key, which verifies the signatures of provider versions.',
  body: CreateKey,
  run: async ({ body, ...call }) => {
    const organizationId = await requireNamespace(call, body.namespace);
    const { asciiArmor } = body;
    const keyId = await keyIdIn(asciiArmor);
    return call.db.transaction(async (tx) => {
      await requireRoom(tx, organizationId);
      const data = { id: newId('gpg'), organizationId, keyId, asciiArmor };
      const created = await tx.prisma.gpgKey.create({ data, include });
      await recordChange(tx, actorOf(call), { ...changeOf(created, 'create'), after: { keyId } });
      return named(created);
    });
  },
});

const show = onKeys.get(byName, { outside: true, summary: 'Show a GPG key.', load, run: async ({ target }) => target });

/** Throws `conflict` for a key whose signatures are in use. */
async function requireUnused(tx: Database, { id }: Row): Promise<void> {
  await tx.prisma.$queryRaw`SELECT 1 FROM gpg_key WHERE id = ${id} FOR UPDATE`;
  const used = await tx.prisma.registryProviderVersion.count({ where: { signedBy: id } });
  if (used > 0) throw new Refusal('conflict', `this key signed ${used} provider versions: delete them first`);
}

const move = onKeys.patch(byName, {
  outside: true,
  summary: 'Move a GPG key to another organization of the caller. Refused if it has signed a version.',
  requires: 'can-manage',
  body: MoveKey,
  load,
  run: async ({ target: key, body, ...call }) => {
    const organizationId = await requireNamespace(call, body.namespace);
    return call.db.transaction(async (tx) => {
      await requireUnused(tx, key);
      if (organizationId !== key.organizationId) await requireRoom(tx, organizationId);
      const data = { organizationId, updatedAt: new Date() };
      const moved = named(await tx.prisma.gpgKey.update({ where: { id: key.id }, data, include }));
      const changes = { before: { namespace: key.organizationName }, after: { namespace: moved.organizationName } };
      for (const one of [key, moved]) await recordChange(tx, actorOf(call), { ...changeOf(one, 'update'), ...changes });
      return moved;
    });
  },
});

const destroy = onKeys.remove(byName, {
  outside: true,
  summary: 'Delete a GPG key. Refused if it signed an existing version.',
  requires: 'can-manage',
  load,
  run: ({ db, target: key, ...call }) =>
    db.transaction(async (tx) => {
      await requireUnused(tx, key);
      await tx.prisma.gpgKey.deleteMany({ where: { id: key.id } });
      await recordChange(tx, actorOf(call), changeOf(key, 'delete'));
    }),
});

/** Keys that sign providers. */
export const gpgKeyResource: Resource = {
  name: 'gpg-keys',
  endpoints: [index, create, show, move, destroy],
  includable: {
    'gpg-keys': includable<GpgKey>({
      serializer: keySerializer,
      load: async (db, ids) =>
        (await db.prisma.gpgKey.findMany({ where: { id: { in: [...ids] } }, include })).map(named),
      visible: isMember,
    }),
  },
};
