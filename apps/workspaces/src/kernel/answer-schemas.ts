import { attributesSchema, type Serializer } from '@keystead/jsonapi';
import type { Endpoint, Resource, View } from './endpoint';

/** A JSON schema as OpenAPI 3.0 writes it. */
export type Json = Record<string, unknown>;

/** A schema of the document by its name. */
export const ref = (name: string): Json => ({ $ref: `#/components/schemas/${name}` });

const link = { type: 'string', nullable: true };
const count = { type: 'integer', nullable: true };

/** Shapes that every answer is made of. */
const sharedSchemas: Json = {
  // `nullable` counts only beside a type, and a reference has none beside it.
  Nothing: { type: 'object', nullable: true, enum: [null] },
  Reference: {
    type: 'object',
    required: ['id', 'type'],
    properties: { id: { type: 'string' }, type: { type: 'string' } },
  },
  Relationship: {
    type: 'object',
    properties: {
      data: {
        anyOf: [ref('Reference'), { type: 'array', items: ref('Reference') }, ref('Nothing')],
      },
      links: { type: 'object', additionalProperties: { type: 'string' } },
      meta: { type: 'object', additionalProperties: true },
    },
  },
  Resource: {
    type: 'object',
    required: ['id', 'type'],
    properties: {
      id: { type: 'string' },
      type: { type: 'string' },
      attributes: { type: 'object', additionalProperties: true },
      relationships: { type: 'object', additionalProperties: ref('Relationship') },
      links: { type: 'object', additionalProperties: { type: 'string' } },
    },
  },
  Pagination: {
    type: 'object',
    required: ['current-page', 'page-size', 'prev-page', 'next-page', 'total-pages', 'total-count'],
    properties: {
      'current-page': { type: 'integer' },
      'page-size': { type: 'integer' },
      'prev-page': count,
      'next-page': count,
      'total-pages': { type: 'integer' },
      'total-count': { type: 'integer' },
    },
  },
  UncountedPagination: {
    type: 'object',
    required: ['current-page', 'page-size', 'prev-page', 'next-page'],
    properties: {
      'current-page': { type: 'integer' },
      'page-size': { type: 'integer' },
      'prev-page': count,
      'next-page': count,
    },
  },
  PageLinks: {
    type: 'object',
    properties: { self: link, first: link, prev: link, next: link, last: link },
  },
  Errors: {
    type: 'object',
    required: ['errors'],
    properties: {
      errors: {
        type: 'array',
        items: {
          type: 'object',
          required: ['status', 'title'],
          properties: {
            status: { oneOf: [{ type: 'string' }, { type: 'integer' }] },
            title: { type: 'string' },
            code: { type: 'string' },
            detail: { type: 'string' },
            source: {
              type: 'object',
              properties: { pointer: { type: 'string' }, parameter: { type: 'string' } },
            },
            meta: { type: 'object', additionalProperties: true },
          },
        },
      },
    },
  },
};

const pascal = (words: string): string =>
  words
    .split(/[^a-z0-9]+/i)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');

/**
 * The schemas of all answers: one for each way of showing a resource, typed attribute by attribute as its serializer
 * declares it. Of two serializers of one type the later is named with its area (`AdminUsersResource`).
 */
export class AnswerSchemas {
  readonly schemas: Json = { ...sharedSchemas };
  private readonly names = new Map<Serializer<never, View>, string>();

  constructor(
    resources: readonly Resource[],
    private readonly options: { readonly aliases: boolean },
  ) {
    for (const { name, endpoints } of resources) {
      for (const { serializer, shows } of endpoints) {
        if (serializer !== undefined && (shows === 'one' || shows === 'many')) this.add(name, serializer);
      }
    }
  }

  /** What a document with one or many of a resource looks like. */
  documentOf(endpoint: Endpoint): Json {
    const name = endpoint.serializer && this.names.get(endpoint.serializer);
    const resource = ref(name ?? 'Resource');
    const many = endpoint.shows === 'many';
    const pagination = ref(endpoint.uncounted ? 'UncountedPagination' : 'Pagination');
    return {
      type: 'object',
      required: ['data'],
      properties: {
        data: many ? { type: 'array', items: resource } : { anyOf: [resource, ref('Nothing')] },
        included: { type: 'array', items: ref('Resource') },
        ...(many && endpoint.paging !== 'none' ? { links: ref('PageLinks') } : {}),
        meta: { type: 'object', properties: many ? { pagination } : {}, additionalProperties: true },
      },
    };
  }

  private add(area: string, serializer: Serializer<never, View>): void {
    if (this.names.has(serializer)) return;
    const { type, spec } = serializer;
    const plain = `${pascal(type || area)}Resource`;
    const name = plain in this.schemas ? pascal(area) + plain : plain;
    if (name in this.schemas) throw new Error(`two serializers would be called ${name}`);
    this.names.set(serializer, name);
    this.schemas[name] = {
      type: 'object',
      required: ['id', 'type', 'attributes'],
      properties: {
        id: { type: 'string' },
        type: { type: 'string', ...(type === '' ? {} : { enum: [type] }) },
        attributes: attributesSchema(spec.shape, this.options.aliases ? spec.aliases : {}),
        relationships: { type: 'object', additionalProperties: ref('Relationship') },
        links: { type: 'object', additionalProperties: { type: 'string' } },
      },
    };
  }
}
