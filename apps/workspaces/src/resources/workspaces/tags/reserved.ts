import { document, flag, hasOne, instant, invalid, text, toOne } from '@keystead/jsonapi';
import { z } from 'zod';
import { policy } from '../../../kernel/access/policy';
import { actorOf, recordChange } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { endpoints, type Lookup, serializerOf } from '../../../kernel/endpoints/endpoint';
import { organizationPolicy } from '../../organizations/organizations/policy';
import * as organizations from '../../organizations/organizations/service';
import { isBindingKey } from '../projects/tag-bindings';

/** A key of bindings with a meaning in its organization. */
interface ReservedTagKey {
  readonly id: string;
  readonly organizationId: string;
  readonly key: string;
  readonly disableOverrides: boolean;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly organization: { readonly name: string };
}

const key = z.string().refine(isBindingKey, 'is invalid');
const disableOverrides = z.boolean().nullish();

const CreateKey = document('reserved-tag-keys', { attributes: { key, 'disable-overrides': disableOverrides } });
const ChangeKey = document('reserved-tag-keys', {
  attributes: { key: key.optional(), 'disable-overrides': disableOverrides },
});

/** A reserved key of bindings. */
export const reservedTagKeySerializer = serializerOf<ReservedTagKey>()({
  type: 'reserved-tag-keys',
  shape: {
    key: text,
    'disable-overrides': flag,
    'created-at': instant,
    'updated-at': instant,
  },
  relations: { organization: hasOne('organizations') },
  id: ({ id }) => id,
  attributes: (reserved) => ({
    key: reserved.key,
    'disable-overrides': reserved.disableOverrides,
    'created-at': reserved.createdAt,
    'updated-at': reserved.updatedAt,
  }),
  relationships: ({ organization }) => ({ organization: toOne('organizations', organization.name) }),
});

const keyPolicy = policy<ReservedTagKey>()({
  'can-read': (access, { organizationId }) => access.isMember(organizationId),
  'can-update': (access, { organizationId }) => access.can(organizationId, 'manage-projects'),
});

const include = { organization: { select: { name: true } } } as const;
const path = '/organizations/:organization_name/reserved-tag-keys';
const loadOrganization = ({ db, env, params }: Lookup<typeof path>) =>
  organizations.findByName(db, env, params.organization_name);
const byId = '/reserved-tag-keys/:reserved_tag_key_id';
const load = ({ db, params }: Lookup<typeof byId>) => find(db, params.reserved_tag_key_id);
const find = (db: Database, id: string) =>
  db.prisma.reservedTagKey.findFirst({ where: { id, organization: { removedAt: null } }, include });

/** The reserved keys with the given ids. */
export const findReservedTagKeys = (db: Database, ids: readonly string[]) =>
  db.prisma.reservedTagKey.findMany({ where: { id: { in: [...ids] }, organization: { removedAt: null } }, include });

const onKeys = endpoints(keyPolicy, reservedTagKeySerializer, { visible: keyPolicy['can-read'] });
const onOrganization = endpoints(organizationPolicy, reservedTagKeySerializer, {
  visible: (access, { id }) => access.isMember(id),
});

const changeOf = (reserved: ReservedTagKey, verb: string) => ({
  organizationId: reserved.organizationId,
  action: `reserved-tag-key.${verb}`,
  target: { type: 'reserved-tag-keys', id: reserved.id, name: reserved.key },
});
const auditOf = (reserved: ReservedTagKey) => ({ key: reserved.key, disableOverrides: reserved.disableOverrides });

async function requireFree(db: Database, organizationId: string, key: string | undefined, id = ''): Promise<void> {
  if (key === undefined) return;
  const where = { organizationId, key, NOT: { id } };
  if ((await db.prisma.reservedTagKey.count({ where })) > 0) throw invalid('key', 'has already been taken');
}

/** Reserved keys of bindings: members read them, callers who manage all projects set them. */
export const reservedTagKeyEndpoints = [
  onOrganization.list(path, {
    summary: 'List the reserved tag keys of an organization.',
    load: loadOrganization,
    run: async ({ db, target, page }) => {
      const where = { organizationId: target.id };
      const [total, items] = await Promise.all([
        db.prisma.reservedTagKey.count({ where }),
        db.prisma.reservedTagKey.findMany({
          where,
          include,
          orderBy: { key: 'asc' },
          skip: page?.offset,
          take: page?.size,
        }),
      ]);
      return { items, total };
    },
  }),
  onOrganization.post(path, {
    summary: 'Reserve a tag key.',
    requires: (access, { id }) => access.can(id, 'manage-projects'),
    body: CreateKey,
    load: loadOrganization,
    run: ({ db, target, body, ...call }) =>
      db.transaction(async (tx) => {
        await requireFree(tx, target.id, body.key);
        const data = { organizationId: target.id, key: body.key, disableOverrides: body.disableOverrides ?? false };
        const created = await tx.prisma.reservedTagKey.create({ data: { id: newId('rtk'), ...data }, include });
        await recordChange(tx, actorOf(call), { ...changeOf(created, 'create'), after: auditOf(created) });
        return created;
      }),
  }),
  onKeys.patch(byId, {
    summary: 'Change a reserved tag key.',
    requires: 'can-update',
    body: ChangeKey,
    load,
    run: ({ db, target, body, ...call }) =>
      db.transaction(async (tx) => {
        await requireFree(tx, target.organizationId, body.key, target.id);
        const data = { key: body.key, disableOverrides: body.disableOverrides ?? undefined, updatedAt: new Date() };
        const after = await tx.prisma.reservedTagKey.update({ where: { id: target.id }, data, include });
        await recordChange(tx, actorOf(call), {
          ...changeOf(after, 'update'),
          before: auditOf(target),
          after: auditOf(after),
        });
        return after;
      }),
  }),
  onKeys.remove(byId, {
    summary: 'Delete a reserved tag key.',
    requires: 'can-update',
    load,
    run: ({ db, target, ...call }) =>
      db.transaction(async (tx) => {
        await tx.prisma.reservedTagKey.deleteMany({ where: { id: target.id } });
        await recordChange(tx, actorOf(call), { ...changeOf(target, 'delete'), before: auditOf(target) });
      }),
  }),
];
