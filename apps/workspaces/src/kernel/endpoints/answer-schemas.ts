import { attributesSchema, type Serializer } from '@keystead/jsonapi';
import type { Endpoint, Includable, Resource, View } from './endpoint';
import { type Json, pascal, RelationSchemas, ref } from './relation-schemas';

const link = { type: 'string', nullable: true };
const count = { type: 'integer', nullable: true };

/** The common shapes of all responses. */
const sharedSchemas: Json = {
  // `nullable` is valid only next to a type, and a reference has none.
  Nothing: { type: 'object', nullable: true, enum: [null] },
  Reference: {
    type: 'object',
    required: ['id', 'type'],
    properties: { id: { type: 'string' }, type: { type: 'string' } },
  },
  RelationshipLinks: { type: 'object', required: ['related'], properties: { related: { type: 'string' } } },
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

/**
 * The schemas of all answers: one for each way of showing a resource, with the attribute types that its serializer
 * declares. If two serializers have the same type, the later one is named with its area (`AdminUsersResource`).
 */
export class AnswerSchemas {
  readonly schemas: Json = { ...sharedSchemas };
  private readonly names = new Map<Serializer<never, View>, string>();
  private readonly relations = new RelationSchemas(this.schemas);
  private readonly includables: ReadonlyMap<string, Includable>;

  constructor(
    resources: readonly Resource[],
    private readonly options: { readonly aliases: boolean },
  ) {
    this.includables = new Map(resources.flatMap(({ includable }) => Object.entries(includable ?? {})));
    for (const { name, endpoints } of resources) {
      for (const { serializer, shows } of endpoints) {
        if (serializer !== undefined && (shows === 'one' || shows === 'many')) this.add(name, serializer);
      }
    }
    for (const [name, { serializer }] of this.includables) this.add(name, serializer);
  }

  /** The schema of a document with one resource, or with a list of resources. */
  documentOf(endpoint: Endpoint): Json {
    const resource = ref(this.names.get(endpoint.serializer!)!);
    const included = this.includedIn(endpoint);
    const many = endpoint.shows === 'many';
    const pagination = ref(endpoint.uncounted ? 'UncountedPagination' : 'Pagination');
    return {
      type: 'object',
      required: ['data'],
      properties: {
        data: many ? { type: 'array', items: resource } : { anyOf: [resource, ref('Nothing')] },
        ...(included === undefined ? {} : { included }),
        ...(many && endpoint.paging !== 'none' ? { links: ref('PageLinks') } : {}),
        meta: { type: 'object', properties: many ? { pagination } : {}, additionalProperties: true },
      },
    };
  }

  /**
   * The types that `include` can add: all types on the paths of relationships. Undefined if nothing can be included.
   */
  private includedIn({ serializer, include, alwaysIncludes }: Endpoint): Json | undefined {
    const paths = [...alwaysIncludes, ...include];
    if (paths.length === 0) return undefined;
    const found = new Set<string>();
    for (const path of paths) {
      let level: readonly Serializer<never, View>[] = [serializer!];
      for (const step of path.split('.')) {
        const types = level.flatMap(({ spec: { relations = {} } }) => {
          const relation = relations[step] ?? relations[step.replace(/_/g, '-')];
          return relation?.types ?? [];
        });
        level = types.flatMap((type) => this.includables.get(type)?.serializer ?? []);
        for (const one of level) found.add(this.names.get(one)!);
      }
    }
    return found.size === 0
      ? { type: 'array', maxItems: 0, items: ref('Reference') }
      : { type: 'array', items: { anyOf: [...found].sort().map(ref) } };
  }

  private add(area: string, serializer: Serializer<never, View>): void {
    if (this.names.has(serializer)) return;
    const { type, spec } = serializer;
    const plain = `${pascal(type || area)}Resource`;
    const name = plain in this.schemas ? pascal(area) + plain : plain;
    if (name in this.schemas) throw new Error(`two serializers would have the name ${name}`);
    this.names.set(serializer, name);
    this.schemas[name] = {
      type: 'object',
      required: ['id', 'type', 'attributes', ...(spec.relations ? ['relationships'] : [])],
      properties: {
        id: { type: 'string' },
        type: { type: 'string', ...(type === '' ? {} : { enum: [type] }) },
        attributes: attributesSchema(spec.shape, this.options.aliases ? spec.aliases : {}),
        ...(spec.relations ? { relationships: this.relations.of(spec.relations) } : {}),
        links: { type: 'object', additionalProperties: { type: 'string' } },
      },
    };
  }
}
