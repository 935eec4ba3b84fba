import type { Query } from '@keystead/jsonapi';
import type { Raw } from '../../../kernel/endpoints/endpoint';
import { urns } from './attributes';
import { ScimRefusal, scim } from './dialect';
import type { Member } from './group-members';
import type { ScimGroup } from './groups';
import type { ScimUser } from './users';

type Shown = Record<string, unknown>;

/** The address of a resource. */
const placeOf = (publicUrl: string, kind: 'Users' | 'Groups', id: string) => `${publicUrl}/scim/v2/${kind}/${id}`;

/** A person in SCIM format. */
export function showUser(user: ScimUser, publicUrl: string): Shown {
  const { id, userName, externalId, active, attributes, groups, createdAt, updatedAt } = user;
  return {
    schemas: [urns.user, ...(urns.enterprise in attributes ? [urns.enterprise] : [])],
    id,
    ...(externalId === null ? {} : { externalId }),
    userName,
    active,
    ...attributes,
    groups: groups.map((group) => ({
      value: group.id,
      display: group.displayName,
      $ref: placeOf(publicUrl, 'Groups', group.id),
    })),
    meta: {
      resourceType: 'User',
      created: createdAt.toISOString(),
      lastModified: updatedAt.toISOString(),
      location: placeOf(publicUrl, 'Users', id),
    },
  };
}

/** A group in SCIM format; without members unless they are requested. */
export function showGroup(group: ScimGroup, members: readonly Member[] | undefined, publicUrl: string): Shown {
  const { id, displayName, externalId, createdAt, updatedAt } = group;
  const shown = members?.map((member) => ({
    value: member.id,
    display: member.userName,
    type: 'User',
    $ref: placeOf(publicUrl, 'Users', member.id),
  }));
  return {
    schemas: [urns.group],
    id,
    ...(externalId === null ? {} : { externalId }),
    displayName,
    ...(shown === undefined ? {} : { members: shown }),
    meta: {
      resourceType: 'Group',
      created: createdAt.toISOString(),
      lastModified: updatedAt.toISOString(),
      location: placeOf(publicUrl, 'Groups', id),
    },
  };
}

/** The query parameters that select attributes, for the API description of every endpoint. */
export const choosing = {
  attributes: 'The attributes to return, separated by commas. id and schemas are always returned.',
  excludedAttributes: 'The attributes to leave out, separated by commas.',
} as const;

/** The query parameters of a list. */
export const listing = {
  ...choosing,
  filter: 'One comparison for equality: userName eq "ada".',
  startIndex: 'The first entry, from 1.',
  count: 'The maximum number of entries, up to 200.',
} as const;

/** Whether a response contains an attribute, according to the query. */
export function isAsked(query: Query, name: string): boolean {
  const names = (parameter: string) => query.list(parameter).map((one) => one.toLowerCase().split('.')[0]);
  const only = names('attributes');
  return (
    (only.length === 0 || only.includes(name.toLowerCase())) &&
    !names('excludedAttributes').includes(name.toLowerCase())
  );
}

/** A response with the attributes that the query requests. */
export function answer(status: number, shown: Shown, query: Query): Raw {
  const location = (shown.meta as { location: string }).location;
  const headers: Record<string, string> = { 'Content-Type': scim.mediaTypes[0], 'Content-Location': location };
  if (status === 201) headers.Location = location;
  return { status, headers, body: JSON.stringify(chosen(shown, query)) };
}

const chosen = (shown: Shown, query: Query): Shown =>
  Object.fromEntries(
    Object.entries(shown).filter(([name]) => name === 'id' || name === 'schemas' || isAsked(query, name)),
  );

const mostEntries = 200;

/** The offset and the maximum length of a requested list. Throws `invalidValue` unless these are whole numbers. */
export function windowOf(query: Query, most = mostEntries): { offset: number; size: number } {
  const whole = (name: string, fallback: number): number => {
    const text = query.get(name);
    if (text === undefined) return fallback;
    if (!/^-?\d{1,9}$/.test(text)) throw new ScimRefusal('invalidValue', `${name} must be a whole number.`);
    return Number(text);
  };
  const size = Math.min(Math.max(whole('count', 100), 0), most);
  return { offset: Math.max(whole('startIndex', 1), 1) - 1, size };
}

/** An answer with a list. */
export function answerList(items: readonly Shown[], total: number, offset: number, query: Query): Raw {
  const body = {
    schemas: [urns.list],
    totalResults: total,
    startIndex: offset + 1,
    itemsPerPage: items.length,
    Resources: items.map((shown) => chosen(shown, query)),
  };
  return { status: 200, headers: { 'Content-Type': scim.mediaTypes[0] }, body: JSON.stringify(body) };
}
