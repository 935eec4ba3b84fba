import { flag, hasMany, instant, text, toMany } from '@keystead/jsonapi';
import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import type { Prisma } from '../../../generated/prisma/client';
import type { Policy } from '../../../kernel/access/policy';
import { type Actor, actorOf, recordChange } from '../../../kernel/audit/audit';
import { type Database, still } from '../../../kernel/database/database';
import { partOfText } from '../../../kernel/database/like';
import { type Call, type Endpoint, endpoints, type LookupBy, serializerOf } from '../../../kernel/endpoints/endpoint';
import { accountInclude, directoryAttributes } from '../../people/users/service';

const whole = {
  ...accountInclude,
  memberships: {
    where: { organization: { removedAt: null } },
    select: { organization: { select: { name: true } } },
    orderBy: { organization: { name: 'asc' } },
  },
} as const;

/** A person as site administrators see them. */
type AdminUser = Prisma.UserGetPayload<{ include: typeof whole }>;

const userSerializer = serializerOf<AdminUser>()({
  type: 'users',
  shape: {
    username: text,
    email: text,
    'avatar-url': text.nullable(),
    'is-admin': flag,
    'is-suspended': flag,
    'is-service-account': flag,
    'two-factor': z.object({
      enabled: flag,
      verified: flag,
    }),
    'is-scim-managed': flag.nullable(),
    'scim-username': text.nullable(),
    'scim-updated-at': instant.nullable(),
  },
  relations: { organizations: hasMany('organizations') },
  id: ({ id }) => id,
  self: ({ id }) => `/api/v2/users/${id}`,
  attributes: (user, { settings }) => ({
    username: user.username,
    email: user.email,
    'avatar-url': null,
    'is-admin': user.siteAdmin,
    'is-suspended': user.suspendedAt !== null,
    'is-service-account': false,
    'two-factor': { enabled: user.twoFactor !== null, verified: user.twoFactor?.verifiedAt != null },
    ...directoryAttributes(user.scimUser, settings.scimEnabled),
  }),
  relationships: ({ memberships }) => ({
    organizations: toMany(
      'organizations',
      memberships.map(({ organization }) => organization.name),
    ),
  }),
});

async function find(db: Database, id: string): Promise<AdminUser | undefined> {
  return (await db.prisma.user.findUnique({ where: { id }, include: whole })) ?? undefined;
}

const { list, remove, action } = endpoints({} as Policy<undefined>, userSerializer, { organizationsOf: () => [] });
const admin = { siteAdmin: true, edition: 'self-hosted' } as const;
const path = '/admin/users/:user_id';
const load = ({ db, params }: LookupBy<'user_id'>) => find(db, params.user_id);

const readFlag = (text: string | undefined): boolean | undefined => (text === undefined ? undefined : text === 'true');

const index = list('/admin/users', {
  ...admin,
  summary: 'List all users.',
  query: {
    q: 'Part of the user name or email address.',
    'filter[admin]': 'true: only site administrators; false: only other users.',
    'filter[suspended]': 'true: only suspended users; false: only other users.',
  },
  include: ['organizations'],
  async run({ db, query, page }) {
    const text = query.get('q');
    const suspended = readFlag(query.get('filter[suspended]'));
    const where: Prisma.UserWhereInput = {
      siteAdmin: readFlag(query.get('filter[admin]')),
      suspendedAt: suspended === undefined ? undefined : suspended ? { not: null } : null,
      ...(text === undefined
        ? {}
        : {
            OR: [{ username: partOfText(text) }, { email: partOfText(text) }],
          }),
    };
    const order = [{ username: 'asc' as const }, { id: 'asc' as const }];
    const rows = { where, include: whole, orderBy: order, skip: page!.offset, take: page!.size };
    return { items: await db.prisma.user.findMany(rows), total: await db.prisma.user.count({ where }) };
  },
});

async function requireOther(db: Database, actor: Actor, user: AdminUser): Promise<void> {
  if (actor.id === user.id) throw new Refusal('denied', 'You cannot do this to your own account');
  // All of them are locked in a fixed order, so that if two administrators remove each other's permissions at the same
  // time, the second sees what the first did.
  const administrators = await db.prisma.$queryRaw<{ id: string }[]>`
    SELECT id FROM user_account WHERE site_admin AND suspended_at IS NULL ORDER BY id FOR UPDATE`;
  if (user.siteAdmin && !administrators.some(({ id }) => id !== user.id))
    throw new Refusal('denied', 'At least one active user must remain a site administrator');
}

async function record(db: Database, actor: Actor, user: AdminUser, verb: string): Promise<void> {
  const target = { type: 'users', id: user.id, name: user.username };
  await recordChange(db, actor, { organizationId: null, action: `user.${verb}`, target });
}

const destroy = remove(path, {
  ...admin,
  summary: 'Delete a user account with its tokens and memberships.',
  stepUp: true,
  load,
  async run({ db, target, ...call }) {
    const actor = actorOf(call);
    await db.transaction(async (tx) => {
      await requireOther(tx, actor, target);
      await tx.prisma.user.delete({ where: { id: target.id } });
      await record(tx, actor, target, 'delete');
    });
  },
});

interface AccountAction {
  readonly verb: string;
  readonly summary: string;
  /** Whether the action is refused for the caller's own account, and for the last administrator. */
  readonly guarded: boolean;
  readonly stepUp?: true;
  readonly apply: (db: Database, user: AdminUser) => Promise<unknown>;
}

const set = (data: Prisma.UserUpdateInput) => (db: Database, user: AdminUser) =>
  db.prisma.user.update({ where: { id: user.id }, data });

const changes: readonly AccountAction[] = [
  {
    verb: 'grant_admin',
    summary: 'Make a user a site administrator.',
    guarded: false,
    stepUp: true,
    apply: set({ siteAdmin: true }),
  },
  {
    verb: 'revoke_admin',
    summary: 'Remove site administrator rights from a user.',
    guarded: true,
    apply: set({ siteAdmin: false }),
  },
  {
    verb: 'suspend',
    summary: 'Suspend a user account. Its tokens stop working.',
    guarded: true,
    stepUp: true,
    apply: async (db, user) => {
      await set({ suspendedAt: new Date() })(db, user);
      // After this, the directory can no longer end the suspension.
      await db.prisma.scimUser.updateMany({ where: { userId: user.id }, data: { suspends: false } });
    },
  },
  { verb: 'unsuspend', summary: 'Unsuspend a user account.', guarded: false, apply: set({ suspendedAt: null }) },
  {
    verb: 'disable_two_factor',
    summary: 'Disable a user’s two-factor authentication, for example after the loss of a device.',
    guarded: false,
    stepUp: true,
    apply: (db, user) => db.prisma.twoFactor.deleteMany({ where: { userId: user.id } }),
  },
];

const actions = changes.map(({ verb, summary, guarded, stepUp, apply }) =>
  action(`${path}/actions/${verb}`, {
    ...admin,
    summary,
    stepUp,
    load,
    async run({ db, target, ...call }: Call<string, undefined, AdminUser>) {
      const actor = actorOf(call);
      await db.transaction(async (tx) => {
        if (guarded) {
          await requireOther(tx, actor, target);
        }
        await apply(tx, target);
        await record(tx, actor, target, verb.replace('_', '-'));
      });
      return still(await find(db, target.id));
    },
  }),
);

/** Site administration of people. */
export const userEndpoints: readonly Endpoint[] = [index, destroy, ...actions];
