import { z } from 'zod';

/** A JSON schema as OpenAPI 3.0 writes it. */
export type JsonSchema = Record<string, unknown>;

/** The schema of a zod type, by zod's own exporter; wire fields bring their schema along. */
export function jsonSchema(type: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const exported = z.toJSONSchema(type, {
    target: 'openapi-3.0',
    unrepresentable: 'any',
    io,
    override: ({ jsonSchema: schema }) => {
      const carried = (schema as { json?: JsonSchema }).json;
      if (!carried) return;
      const { description } = schema;
      for (const key of Object.keys(schema)) delete (schema as JsonSchema)[key];
      Object.assign(schema, carried, description === undefined ? {} : { description });
    },
  }) as JsonSchema;
  delete exported.$schema;
  return exported;
}

/** Every answer that has an envelope, apart from its data. */
export const envelopeProperties: JsonSchema = {
  request_id: { type: 'string' },
  lease_id: { type: 'string' },
  renewable: { type: 'boolean' },
  lease_duration: { type: 'integer', description: 'Seconds.' },
};

export const sharedSchemas: Readonly<Record<string, JsonSchema>> = {
  Error: {
    type: 'object',
    properties: { errors: { type: 'array', items: { type: 'string' } }, data: {} },
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
      metadata: { type: 'object', additionalProperties: { type: 'string' }, nullable: true },
      lease_duration: { type: 'integer' },
      renewable: { type: 'boolean' },
      entity_id: { type: 'string' },
      token_type: { type: 'string' },
      orphan: { type: 'boolean' },
      mfa_requirement: { type: 'object', nullable: true },
      num_uses: { type: 'integer' },
    },
    required: ['client_token', 'accessor', 'policies', 'metadata', 'lease_duration', 'renewable', 'entity_id'],
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

/** The schema of an enveloped answer around its data. */
export function enveloped(data: JsonSchema | undefined, injected: boolean): JsonSchema {
  return {
    type: 'object',
    properties: {
      ...envelopeProperties,
      data: { ...(data ?? { type: 'object' }), nullable: true },
      wrap_info: { $ref: '#/components/schemas/WrapInfo' },
      warnings: { type: 'array', items: { type: 'string' }, nullable: true },
      auth: { $ref: '#/components/schemas/Auth' },
    },
    required: ['request_id', 'lease_id', 'renewable', 'lease_duration', 'data', 'wrap_info', 'warnings', 'auth'],
    ...(injected ? { additionalProperties: true, description: 'The fields of data stand at the top level too.' } : {}),
  };
}
