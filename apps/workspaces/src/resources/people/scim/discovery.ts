import { groupAttributes, type ScimAttribute, urns, userAttributes } from './attributes';

const schemasUrn = 'urn:ietf:params:scim:schemas:core:2.0';

/** The supported parts of SCIM. */
export const serviceProviderConfig = (publicUrl: string) => ({
  schemas: [`${schemasUrn}:ServiceProviderConfig`],
  patch: { supported: true },
  bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
  filter: { supported: true, maxResults: 200 },
  changePassword: { supported: false },
  sort: { supported: false },
  etag: { supported: false },
  authenticationSchemes: [
    {
      type: 'oauthbearertoken',
      name: 'Token for SCIM',
      description: 'A token that a site administrator creates for the directory.',
      primary: true,
    },
  ],
  meta: { resourceType: 'ServiceProviderConfig', location: `${publicUrl}/scim/v2/ServiceProviderConfig` },
});

/** The kinds of resources. */
export const resourceTypes = (publicUrl: string) =>
  [
    { name: 'User', endpoint: '/Users', schema: urns.user, extension: [{ schema: urns.enterprise, required: false }] },
    { name: 'Group', endpoint: '/Groups', schema: urns.group, extension: [] },
  ].map(({ name, endpoint, schema, extension }) => ({
    schemas: [`${schemasUrn}:ResourceType`],
    id: name,
    name,
    endpoint,
    schema,
    ...(extension.length === 0 ? {} : { schemaExtensions: extension }),
    meta: { resourceType: 'ResourceType', location: `${publicUrl}/scim/v2/ResourceTypes/${name}` },
  }));

const plain = (name: string, type = 'string') => ({
  name,
  type,
  multiValued: false,
  required: false,
  caseExact: false,
  mutability: 'readWrite',
  returned: 'default',
  uniqueness: 'none',
});

function described({ name, kind, parts, required, unique, description }: ScimAttribute) {
  const types = { text: 'string', flag: 'boolean', complex: 'complex', plural: 'complex', readOnly: 'complex' };
  return {
    ...plain(name, types[kind]),
    description,
    multiValued: kind === 'plural' || kind === 'readOnly',
    required: required ?? false,
    caseExact: name === 'externalId',
    mutability: kind === 'readOnly' ? 'readOnly' : 'readWrite',
    uniqueness: unique ? 'server' : 'none',
    ...(parts === undefined
      ? {}
      : { subAttributes: parts.map((part) => plain(part, part === 'primary' ? 'boolean' : 'string')) }),
  };
}

/** The schemas, with all supported attributes. */
export const schemas = (publicUrl: string) => {
  const common = ['schemas', 'id', 'meta'];
  const own = (all: readonly ScimAttribute[]) =>
    all.filter(({ name }) => !common.includes(name) && name !== urns.enterprise).map(described);
  const extension = userAttributes.find(({ name }) => name === urns.enterprise);
  return [
    { id: urns.user, name: 'User', description: 'A user.', attributes: own(userAttributes) },
    {
      id: urns.enterprise,
      name: 'EnterpriseUser',
      description: 'The enterprise extension of users.',
      attributes: (extension?.parts ?? []).map((part) => plain(part)),
    },
    { id: urns.group, name: 'Group', description: 'A group of users.', attributes: own(groupAttributes) },
  ].map((schema) => ({
    schemas: [`${schemasUrn}:Schema`],
    ...schema,
    meta: { resourceType: 'Schema', location: `${publicUrl}/scim/v2/Schemas/${schema.id}` },
  }));
};
