/** The schemas of users and groups, and of what enterprises add. */
export const urns = {
  user: 'urn:ietf:params:scim:schemas:core:2.0:User',
  enterprise: 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User',
  group: 'urn:ietf:params:scim:schemas:core:2.0:Group',
  patch: 'urn:ietf:params:scim:api:messages:2.0:PatchOp',
  list: 'urn:ietf:params:scim:api:messages:2.0:ListResponse',
} as const;

/**
 * What an attribute holds: a text or a switch; parts by name; or a list of values with parts. `given` ones are the service's
 * own: they may be sent, as clients send back what they read, and change nothing.
 */
export interface ScimAttribute {
  readonly name: string;
  readonly kind: 'text' | 'flag' | 'complex' | 'plural' | 'given';
  readonly parts?: readonly string[];
  readonly required?: true;
  readonly unique?: true;
  readonly description: string;
}

const text = (name: string, description: string): ScimAttribute => ({ name, kind: 'text', description });
const complex = (name: string, description: string, ...parts: string[]): ScimAttribute => ({
  name,
  kind: 'complex',
  parts,
  description,
});
const plural = (name: string, description: string, ...parts: string[]): ScimAttribute => ({
  name,
  kind: 'plural',
  parts: [...parts, 'type', 'primary'],
  description,
});
const given: readonly ScimAttribute[] = [
  { name: 'schemas', kind: 'given', description: 'The schemas of the resource.' },
  { name: 'id', kind: 'given', description: 'The id of the resource here.' },
  { name: 'meta', kind: 'given', description: 'What the service knows of the resource.' },
];

/** What a directory may say of a person. Names, addresses and the like are kept as they are said. */
export const userAttributes: readonly ScimAttribute[] = [
  { name: 'userName', kind: 'text', required: true, unique: true, description: 'Their name in the directory.' },
  { name: 'externalId', kind: 'text', unique: true, description: 'Their id in the directory.' },
  { name: 'active', kind: 'flag', description: 'Whether they may sign in.' },
  complex(
    'name',
    'Their name in parts.',
    'formatted',
    'familyName',
    'givenName',
    'middleName',
    'honorificPrefix',
    'honorificSuffix',
  ),
  text('displayName', 'Their name as people read it.'),
  text('nickName', 'What they are called.'),
  text('profileUrl', 'A page about them.'),
  text('title', 'What they do.'),
  text('userType', 'How they belong to the organization.'),
  text('preferredLanguage', 'The language they read.'),
  text('locale', 'Where they are, for numbers and dates.'),
  text('timezone', 'Their time zone.'),
  plural('emails', 'Their addresses; the primary one is that of the account.', 'value', 'display'),
  plural('phoneNumbers', 'Their telephones.', 'value', 'display'),
  plural('ims', 'Where they chat.', 'value', 'display'),
  plural('photos', 'Pictures of them.', 'value', 'display'),
  plural('addresses', 'Where they are.', 'formatted', 'streetAddress', 'locality', 'region', 'postalCode', 'country'),
  plural('entitlements', 'What they may use in the directory.', 'value', 'display'),
  plural('roles', 'What they are in the directory.', 'value', 'display'),
  complex(
    urns.enterprise,
    'What enterprises say of people.',
    'employeeNumber',
    'costCenter',
    'organization',
    'division',
    'department',
    'manager',
  ),
  { name: 'groups', kind: 'given', description: 'The groups they are in: change the groups.' },
  ...given,
];

/** What a directory may say of a group; members are dealt with by themselves. */
export const groupAttributes: readonly ScimAttribute[] = [
  { name: 'displayName', kind: 'text', required: true, unique: true, description: 'The name of the group.' },
  { name: 'externalId', kind: 'text', unique: true, description: 'Its id in the directory.' },
  { name: 'members', kind: 'plural', parts: ['value', 'display', 'type', '$ref'], description: 'Who is in it.' },
  ...given,
];

/** Finds an attribute or a part by its name, in any case. */
export function named<T extends { readonly name: string }>(all: readonly T[], name: string): T | undefined {
  const wanted = name.toLowerCase();
  return all.find((one) => one.name.toLowerCase() === wanted);
}
