import { notFound } from '@keystead/refusal';
import type { Policy } from '../../../kernel/access/policy';
import { actorOf } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { type Call, type Endpoint, endpoints, type Raw } from '../../../kernel/endpoints/endpoint';
import type { Environment } from '../../../kernel/endpoints/environment';
import { userAttributes } from './attributes';
import { GroupBody, PatchBody, UserBody } from './bodies';
import { scim } from './dialect';
import { resourceTypes, schemas, serviceProviderConfig } from './discovery';
import { readFilter } from './filter';
import { membersOf } from './group-members';
import * as groups from './groups';
import { applyTo, namedOperations, type PatchOperation } from './patch';
import * as settings from './settings';
import { answer, answerList, choosing, isAsked, listing, showGroup, showUser, windowOf } from './show';
import { userLimitOf } from './sync';
import * as users from './users';
import { readValues } from './values';

const { raw } = endpoints({} as Policy<undefined>, undefined, { organizationsOf: () => [] });

const scimOptions = { dialect: scim, outside: true, tokens: ['scim'], edition: 'self-hosted' } as const;
/** The options of endpoints that manage people and groups. They answer 403 while the settings do not allow changes. */
const memberOptions = { ...scimOptions, refuses: [403] } as const;
const [type] = scim.mediaTypes;
const resource = { type, schema: { type: 'object' } };
const found = { 200: { description: 'The resource.', ...resource } };
const createdAnswer = { 201: { description: 'The resource, with its ID.', ...resource } };
const listed = { 200: { description: 'A page of resources.', ...resource } };
const noContentAnswer = { 204: { description: 'Done.' } };

type AnyCall = Call<string, unknown, unknown>;

/** The dependencies of a change. Throws if the directory may currently not make changes. */
async function keepingOf({ db, env, principal, request }: Pick<AnyCall, 'db' | 'env' | 'principal' | 'request'>) {
  const actor = actorOf({ principal, request });
  return { db, actor, settings: await settings.requireOn(db), userLimit: userLimitOf(env), nowMs: env.now() };
}

const users_ = '/scim/v2/Users';
const user = `${users_}/:scim_user_id` as const;
const groups_ = '/scim/v2/Groups';
const group = `${groups_}/:scim_group_id` as const;

const loadUser = async ({ db, params }: { db: Database; params: { scim_user_id: string } }) => {
  await settings.requireOn(db);
  return users.find(db, params.scim_user_id);
};
const loadGroup = async ({ db, params }: { db: Database; params: { scim_group_id: string } }) => {
  await settings.requireOn(db);
  return groups.find(db, params.scim_group_id);
};

const userEndpoints: readonly Endpoint[] = [
  raw('GET')(users_, {
    ...memberOptions,
    summary: 'List the users of the directory.',
    query: listing,
    answers: listed,
    async run({ db, env, query }) {
      await settings.requireOn(db);
      const { offset, size } = windowOf(query);
      const filter = readFilter(query.get('filter'), ['userName', 'externalId']);
      const { items, total } = await users.list(db, filter, { offset, size });
      return answerList(
        items.map((one) => showUser(one, env.publicUrl)),
        total,
        offset,
        query,
      );
    },
  }),
  raw('POST')(users_, {
    ...memberOptions,
    summary: 'Create a user with an account.',
    turns: false,
    query: choosing,
    body: UserBody,
    answers: createdAnswer,
    run: async (call) => {
      const one = await users.create(await keepingOf(call), call.body);
      return answer(201, showUser(one, call.env.publicUrl), call.query);
    },
  }),
  raw('GET')(user, {
    ...memberOptions,
    summary: 'Show a user of the directory.',
    query: choosing,
    answers: found,
    load: loadUser,
    run: async ({ env, target, query }) => answer(200, showUser(target, env.publicUrl), query),
  }),
  raw('PUT')(user, {
    ...memberOptions,
    summary: 'Replace a user of the directory.',
    query: choosing,
    body: UserBody,
    answers: found,
    load: loadUser,
    run: async (call) => {
      const one = await users.update(await keepingOf(call), call.target.id, () => call.body);
      return answer(200, showUser(one, call.env.publicUrl), call.query);
    },
  }),
  raw('PATCH')(user, {
    ...memberOptions,
    summary: 'Change a user of the directory. A user who is no longer active loses access immediately.',
    query: choosing,
    body: PatchBody,
    answers: found,
    load: loadUser,
    run: async (call) => {
      const one = await users.update(await keepingOf(call), call.target.id, (before) => patched(before, call.body));
      return answer(200, showUser(one, call.env.publicUrl), call.query);
    },
  }),
  raw('DELETE')(user, {
    ...memberOptions,
    summary: 'Delete a user from the directory. The account is kept, but suspended.',
    answers: noContentAnswer,
    load: loadUser,
    async run(call): Promise<Raw> {
      await users.remove(await keepingOf(call), call.target);
      return { status: 204, headers: {} };
    },
  }),
];

/** The attributes of a person after some changes. */
function patched({ userName, externalId, active, attributes }: users.ScimUser, operations: readonly PatchOperation[]) {
  const values = { userName, ...(externalId === null ? {} : { externalId }), active, ...attributes };
  const isNamed = new Set(operations.map(({ path }) => path));
  for (const operation of namedOperations(operations)) {
    applyTo(values, operation, userAttributes, !isNamed.has(operation.path));
  }
  return readValues(values, userAttributes);
}

/** A group in the form that the query requests. Members are looked up only if they are requested. */
async function shownGroup(db: Database, env: Environment, one: groups.ScimGroup, query: AnyCall['query']) {
  const members = isAsked(query, 'members') ? await membersOf(db, [one.id]) : undefined;
  return showGroup(one, members, env.publicUrl);
}

/** The page size for groups with members. It is smaller, because a group may have thousands of members. */
const fewGroups = 20;

const groupEndpoints: readonly Endpoint[] = [
  raw('GET')(groups_, {
    ...memberOptions,
    summary: `List the groups of the directory. At most ${fewGroups} per page, unless members are excluded.`,
    query: { ...listing, filter: 'One comparison for equality: displayName eq "operators".' },
    answers: listed,
    async run({ db, env, query }) {
      await settings.requireOn(db);
      const isWhole = isAsked(query, 'members');
      const { offset, size } = windowOf(query, isWhole ? fewGroups : undefined);
      const filter = readFilter(query.get('filter'), ['displayName', 'externalId']);
      const { items, total } = await groups.list(db, { filter }, { offset, size });
      const members = isWhole
        ? await membersOf(
            db,
            items.map(({ id }) => id),
          )
        : undefined;
      const shown = items.map((one) =>
        showGroup(
          one,
          members?.filter(({ groupId }) => groupId === one.id),
          env.publicUrl,
        ),
      );
      return answerList(shown, total, offset, query);
    },
  }),
  raw('POST')(groups_, {
    ...memberOptions,
    summary: 'Create a group.',
    turns: false,
    query: choosing,
    body: GroupBody,
    answers: createdAnswer,
    run: async (call) => {
      const one = await groups.create(await keepingOf(call), call.body);
      return answer(201, await shownGroup(call.db, call.env, one, call.query), call.query);
    },
  }),
  raw('GET')(group, {
    ...memberOptions,
    summary: 'Show a group of the directory.',
    query: choosing,
    answers: found,
    load: loadGroup,
    run: async ({ db, env, target, query }) => answer(200, await shownGroup(db, env, target, query), query),
  }),
  raw('PUT')(group, {
    ...memberOptions,
    summary: 'Replace a group and its members.',
    query: choosing,
    body: GroupBody,
    answers: found,
    load: loadGroup,
    run: async (call) => {
      const one = await groups.replace(await keepingOf(call), call.target.id, call.body);
      return answer(200, await shownGroup(call.db, call.env, one, call.query), call.query);
    },
  }),
  raw('PATCH')(group, {
    ...memberOptions,
    summary: 'Change a group or its members.',
    body: PatchBody,
    answers: noContentAnswer,
    load: loadGroup,
    async run(call): Promise<Raw> {
      await groups.patch(await keepingOf(call), call.target.id, call.body);
      return { status: 204, headers: {} };
    },
  }),
  raw('DELETE')(group, {
    ...memberOptions,
    summary: 'Delete a group. Teams linked to it lose the members that it added.',
    answers: noContentAnswer,
    load: loadGroup,
    async run(call): Promise<Raw> {
      await groups.remove(await keepingOf(call), call.target);
      return { status: 204, headers: {} };
    },
  }),
];

const json = (body: unknown): Raw => ({ status: 200, headers: { 'Content-Type': type }, body: JSON.stringify(body) });

/** The endpoints that list the service's SCIM resources of a kind, and that return each of them by its id. */
function catalogue(name: 'ResourceTypes' | 'Schemas', all: (url: string) => readonly { id: string }[]): Endpoint[] {
  const what = name === 'Schemas' ? 'schemas' : 'kinds of resources';
  return [
    raw('GET')(`/scim/v2/${name}`, {
      ...scimOptions,
      summary: `List the ${what}.`,
      answers: listed,
      run: async ({ env, query }) => {
        const items = all(env.publicUrl);
        return answerList(items as readonly Record<string, unknown>[], items.length, 0, query);
      },
    }),
    raw('GET')(`/scim/v2/${name}/:scim_name`, {
      ...scimOptions,
      summary: `Show one of the ${what}.`,
      answers: found,
      run: async ({ env, params }) => {
        const one = all(env.publicUrl).find(({ id }) => id === params.scim_name);
        if (one === undefined) throw notFound();
        return json(one);
      },
    }),
  ];
}

/** The endpoints for directories. Decision 0124. */
export const directoryEndpoints: readonly Endpoint[] = [
  raw('GET')('/scim/v2/ServiceProviderConfig', {
    ...scimOptions,
    summary: 'Show the supported features of SCIM.',
    answers: found,
    run: async ({ env }) => json(serviceProviderConfig(env.publicUrl)),
  }),
  ...catalogue('ResourceTypes', resourceTypes),
  ...catalogue('Schemas', schemas),
  ...userEndpoints,
  ...groupEndpoints,
];
