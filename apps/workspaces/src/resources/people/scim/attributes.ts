/** The schemas of users and groups, and of the enterprise extension. */
export const urns = {
  user: 'urn:ietf:params:scim:schemas:core:2.0:User',
  enterprise: 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User',
  group: 'urn:ietf:params:scim:schemas:core:2.0:Group',
  patch: 'urn:ietf:params:scim:api:messages:2.0:PatchOp',
  list: 'urn:ietf:params:scim:api:messages:2.0:ListResponse',
} as const;

/**
 * An attribute and its type: a string, a boolean, a value with named parts, or a list of such values. `readOnly`
 * attributes belong to the service: clients may send them back without effect.
 */
export interface ScimAttribute {
  readonly name: string;
  readonly kind: 'text' | 'flag' | 'complex' | 'plural' | 'readOnly';
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
const readOnly: readonly ScimAttribute[] = [
  { name: 'schemas', kind: 'readOnly', description: 'The schemas of the resource.' },
  { name: 'id', kind: 'readOnly', description: 'The ID of the resource in this service.' },
  { name: 'meta', kind: 'readOnly', description: 'Metadata of the resource.' },
];

/** The attributes of a user that a directory may set. Names, addresses and similar values are stored as sent. */
export const userAttributes: readonly ScimAttribute[] = [
  { name: 'userName', kind: 'text', required: true, unique: true, description: 'The user name in the directory.' },
  { name: 'externalId', kind: 'text', unique: true, description: 'The user’s ID in the directory.' },
  { name: 'active', kind: 'flag', description: 'Whether the user may sign in.' },
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
  text('displayName', 'The display name.'),
  text('nickName', 'The nickname.'),
  text('profileUrl', 'URL of the user’s profile.'),
  text('title', 'The job title.'),
  text('userType', 'The user’s relationship to the organization, such as employee.'),
  text('preferredLanguage', 'The preferred language.'),
  text('locale', 'The locale, for numbers and dates.'),
  text('timezone', 'The time zone.'),
  plural('emails', 'Their email addresses; the primary one is that of the account.', 'value', 'display'),
  plural('phoneNumbers', 'Their telephones.', 'value', 'display'),
  plural('ims', 'Their addresses for instant messages.', 'value', 'display'),
  plural('photos', 'Pictures of them.', 'value', 'display'),
  plural(
    'addresses',
    'Their postal addresses.',
    'formatted',
    'streetAddress',
    'locality',
    'region',
    'postalCode',
    'country',
  ),
  plural('entitlements', 'Their entitlements in the directory.', 'value', 'display'),
  plural('roles', 'Their roles in the directory.', 'value', 'display'),
  complex(
    urns.enterprise,
    'The attributes of the enterprise extension.',
    'employeeNumber',
    'costCenter',
    'organization',
    'division',
    'department',
    'manager',
  ),
  { name: 'groups', kind: 'readOnly', description: 'The user’s groups. Read-only: change the groups instead.' },
  ...readOnly,
];

/** The attributes of a group that a directory may set; members are handled separately. */
export const groupAttributes: readonly ScimAttribute[] = [
  { name: 'displayName', kind: 'text', required: true, unique: true, description: 'The name of the group.' },
  { name: 'externalId', kind: 'text', unique: true, description: 'The group’s ID in the directory.' },
  {
    name: 'members',
    kind: 'plural',
    parts: ['value', 'display', 'type', '$ref'],
    description: 'The members of the group.',
  },
  ...readOnly,
];

/** Finds an attribute or a part by its name, in any case. */
export function named<T extends { readonly name: string }>(all: readonly T[], name: string): T | undefined {
  const lowerCase = name.toLowerCase();
  return all.find((one) => one.name.toLowerCase() === lowerCase);
}
