import { choice, instant, text } from '@keystead/jsonapi';
import { notFound } from '@keystead/refusal';
import type { ReleasedName } from '../../../generated/prisma/client';
import type { Policy } from '../../../kernel/access/policy';
import { actorOf, recordChange } from '../../../kernel/audit/audit';
import { partOfText } from '../../../kernel/database/like';
import { type Endpoint, endpoints, type LookupBy, serializerOf } from '../../../kernel/endpoints/endpoint';

const kinds = ['organization', 'user'] as const;

const serializer = serializerOf<ReleasedName>()({
  type: 'reserved-names',
  shape: { kind: choice(kinds), name: text, 'holder-id': text, 'released-at': instant },
  id: ({ kind, name }) => `${kind}-${name}`,
  attributes: ({ kind, name, holderId, releasedAt }) => ({
    kind: kind as (typeof kinds)[number],
    name,
    'holder-id': holderId,
    'released-at': releasedAt,
  }),
});

const { list, remove } = endpoints({} as Policy<undefined>, serializer, { organizationsOf: () => [] });
const admin = { siteAdmin: true, edition: 'self-hosted' } as const;

const index = list('/admin/reserved-names', {
  ...admin,
  summary: 'List the former names of organizations and accounts that are reserved for them, newest first.',
  query: { q: 'Part of the name.' },
  async run({ db, query, page }) {
    const where = { name: partOfText(query.get('q') ?? '') };
    const orderBy = [{ releasedAt: 'desc' as const }, { kind: 'asc' as const }, { name: 'asc' as const }];
    const [items, total] = await Promise.all([
      db.prisma.releasedName.findMany({ where, orderBy, skip: page!.offset, take: page!.size }),
      db.prisma.releasedName.count({ where }),
    ]);
    return { items, total };
  },
});

const free = remove('/admin/reserved-names/:reserved_name_id', {
  ...admin,
  summary: 'Release a reserved name, so that any account can take it.',
  load: async ({ db, params }: LookupBy<'reserved_name_id'>) => {
    const [, kind = '', name = ''] = /^([a-z]+)-(.*)$/.exec(params.reserved_name_id) ?? [];
    return (await db.prisma.releasedName.findUnique({ where: { kind_name: { kind, name } } })) ?? undefined;
  },
  run: ({ db, target: { kind, name, holderId }, ...call }) =>
    db.transaction(async (tx) => {
      const { count } = await tx.prisma.releasedName.deleteMany({ where: { kind, name, holderId } });
      if (count === 0) throw notFound();
      await recordChange(tx, actorOf(call), {
        organizationId: null,
        action: 'reserved-name.delete',
        target: { type: 'reserved-names', id: `${kind}-${name}`, name },
        before: { kind, holderId },
      });
    }),
});

/** Names that are reserved for their previous owners. */
export const reservedNameEndpoints: readonly Endpoint[] = [index, free];
