import { z } from 'zod';

/** A JSON schema as OpenAPI 3.0 writes it. */
export type JsonSchema = Record<string, unknown>;

/** The schema of a zod type, by zod's own exporter; wire fields define their own schema. */
export function jsonSchema(type: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const exported = z.toJSONSchema(type, {
    target: 'openapi-3.0',
    unrepresentable: 'any',
    io,
    override: ({ jsonSchema: schema }) => {
      const json = (schema as { json?: JsonSchema }).json;
      if (!json) return;
      const { description } = schema;
      for (const key of Object.keys(schema)) delete (schema as JsonSchema)[key];
      Object.assign(schema, json, description === undefined ? {} : { description });
    },
  }) as JsonSchema;
  delete exported.$schema;
  return exported;
}

/** The envelope around the data of an answer. */
const envelopeProperties = (data: JsonSchema): JsonSchema => ({
  request_id: { type: 'string' },
  lease_id: { type: 'string' },
  renewable: { type: 'boolean' },
  lease_duration: { type: 'integer', description: 'Seconds.' },
  data: orNull(data),
  wrap_info: { $ref: '#/components/schemas/WrapInfo' },
  warnings: { type: 'array', items: { type: 'string' }, nullable: true },
  auth: { $ref: '#/components/schemas/Auth' },
});

export const sharedSchemas: Readonly<Record<string, JsonSchema>> = {
  Error: {
    type: 'object',
    description:
      'Usually only messages. If the answer has warnings that point to another path, all keys of an envelope.',
    properties: { errors: { type: 'array', items: { type: 'string' } }, ...envelopeProperties({ type: 'object' }) },
    required: ['errors'],
  },
  Auth: {
    type: 'object',
    nullable: true,
    properties: {
      client_token: { type: 'string' },
      accessor: { type: 'string' },
      policies: { type: 'array', items: { type: 'string' }, nullable: true },
      token_policies: { type: 'array', items: { type: 'string' } },
      identity_policies: { type: 'array', items: { type: 'string' } },
      metadata: { $ref: '#/components/schemas/AuthMetadata' },
      lease_duration: { type: 'integer' },
      renewable: { type: 'boolean' },
      entity_id: { type: 'string' },
      token_type: { type: 'string' },
      orphan: { type: 'boolean' },
      mfa_requirement: { $ref: '#/components/schemas/MfaRequirement' },
      num_uses: { type: 'integer' },
    },
    required: ['client_token', 'accessor', 'policies', 'metadata', 'lease_duration', 'renewable', 'entity_id'],
  },
  AuthMetadata: { type: 'object', additionalProperties: { type: 'string' }, nullable: true },
  MfaRequirement: {
    type: 'object',
    nullable: true,
    description: 'The factors that a login still needs, by enforcement.',
    properties: {
      mfa_request_id: { type: 'string' },
      mfa_constraints: { $ref: '#/components/schemas/MfaConstraints' },
    },
    required: ['mfa_request_id', 'mfa_constraints'],
  },
  MfaConstraints: { type: 'object', additionalProperties: { $ref: '#/components/schemas/MfaConstraint' } },
  MfaConstraint: {
    type: 'object',
    properties: { any: { type: 'array', items: { $ref: '#/components/schemas/MfaChoice' } } },
    required: ['any'],
  },
  MfaChoice: {
    type: 'object',
    properties: {
      type: { type: 'string' },
      id: { type: 'string' },
      uses_passcode: { type: 'boolean' },
      name: { type: 'string' },
      self_enrollment_enabled: { type: 'boolean' },
    },
    required: ['type', 'id', 'uses_passcode', 'name'],
  },
  WrapInfo: {
    type: 'object',
    nullable: true,
    properties: {
      token: { type: 'string' },
      accessor: { type: 'string' },
      ttl: { type: 'integer' },
      creation_time: { type: 'string' },
      creation_path: { type: 'string' },
      wrapped_accessor: { type: 'string' },
    },
    required: ['token', 'accessor', 'ttl', 'creation_time', 'creation_path'],
  },
};

const refusal = (description: string): JsonSchema => ({
  description,
  content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
});

/** Refusals by status; each operation lists its own. */
export const refusals = {
  400: { name: 'BadRequest', response: refusal('The request is invalid. The error gives the reason.') },
  403: { name: 'Forbidden', response: refusal('The token is missing or unknown, or does not have permission.') },
  404: { name: 'NotFound', response: refusal('The object does not exist, or there is nothing to list.') },
  405: { name: 'Unsupported', response: refusal('The path does not support this operation.') },
  408: { name: 'TooSlow', response: refusal('The body was sent too slowly.') },
  413: { name: 'TooLarge', response: refusal('The body is too large.') },
  415: { name: 'WrongMediaType', response: refusal('The media type of the body is not supported.') },
  429: { name: 'Limited', response: refusal('Too many requests, or a quota is exhausted.') },
  502: { name: 'Upstream', response: refusal('An outside system refused the request or could not be reached.') },
  503: { name: 'Unavailable', response: refusal('Sealed, not initialised, or the storage is unavailable.') },
  504: { name: 'TooSlow', response: refusal('The request timed out.') },
} as const;

/** A status of `refusals`. */
export type RefusalStatus = keyof typeof refusals;

/** A schema that also allows null; in OpenAPI 3.0, each branch of a union must allow null. */
function orNull(schema: JsonSchema): JsonSchema {
  const branches = schema.anyOf as JsonSchema[] | undefined;
  return branches ? { ...schema, anyOf: branches.map(orNull) } : { ...schema, nullable: true };
}

/** The schema of an enveloped answer around its data. */
export function enveloped(data: JsonSchema | undefined, injected: boolean): JsonSchema {
  const properties = envelopeProperties(data ?? { type: 'object' });
  return {
    type: 'object',
    properties,
    required: Object.keys(properties),
    ...(injected ? { additionalProperties: true, description: 'The fields of data are at the top level too.' } : {}),
  };
}
