import type { BodyShape } from '@keystead/jsonapi';
import { groupAttributes, type ScimAttribute, userAttributes } from './attributes';
import { type PatchOperation, readOperations } from './patch';
import { readValues, type ScimValues } from './values';

const text = { type: 'string', maxLength: 1024 };

function schemaOf({ kind, parts = [] }: ScimAttribute): Record<string, unknown> {
  const properties = Object.fromEntries(
    // Validators would treat a property named `$ref` as a reference.
    parts
      .filter((part) => part !== '$ref')
      .map((part) => [part, part === 'primary' ? { type: 'boolean' } : part === 'manager' ? {} : text]),
  );
  const types = {
    text,
    flag: { type: 'boolean' },
    complex: { type: 'object', properties },
    plural: { type: 'array', items: { type: 'object', properties } },
    readOnly: {},
  };
  return types[kind];
}

const shape = (attributes: readonly ScimAttribute[]): BodyShape<ScimValues> => ({
  optional: false,
  parse: (raw) => ({ value: readValues(raw, attributes), pointers: new Map() }),
  jsonSchema: () => ({
    type: 'object',
    required: attributes.filter(({ required }) => required).map(({ name }) => name),
    properties: Object.fromEntries(attributes.map((one) => [one.name, schemaOf(one)])),
  }),
});

/** The whole data of a person. */
export const UserBody = shape(userAttributes);
/** The whole data of a group. */
export const GroupBody = shape(groupAttributes);

/** Changes of a user or a group. */
export const PatchBody: BodyShape<PatchOperation[]> = {
  optional: false,
  parse: (raw) => ({ value: readOperations(raw), pointers: new Map() }),
  jsonSchema: () => ({
    type: 'object',
    required: ['Operations'],
    properties: {
      schemas: { type: 'array', items: { type: 'string' } },
      Operations: {
        type: 'array',
        minItems: 1,
        maxItems: 1000,
        items: {
          type: 'object',
          required: ['op'],
          properties: {
            op: { type: 'string', enum: ['add', 'replace', 'remove'] },
            path: { type: 'string', maxLength: 512 },
            value: {},
          },
        },
      },
    },
  }),
};
