import type { Relation, RelationShape } from '@keystead/jsonapi';

/** A JSON schema in the form of OpenAPI 3.0. */
export type Json = Record<string, unknown>;

/** A reference to a schema of the document. */
export const ref = (name: string): Json => ({ $ref: `#/components/schemas/${name}` });

/** A wire name in the spelling of schema names. */
export const pascal = (words: string): string =>
  words
    .split(/[^a-z0-9]+/i)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');

/**
 * The schemas of declared relationships. There are only a few. Each is added to the document under a name made from its
 * types.
 */
export class RelationSchemas {
  constructor(private readonly schemas: Json) {}

  /** The relationships of a kind of resource. */
  of(relations: RelationShape): Json {
    const entries = Object.entries(relations);
    const required = entries.filter(([, { optional }]) => !optional).map(([name]) => name);
    return {
      type: 'object',
      ...(required.length > 0 ? { required } : {}),
      properties: Object.fromEntries(entries.map(([name, relation]) => [name, this.one(relation)])),
    };
  }

  private one({ names, types }: Relation): Json {
    const about = types.length === 0 ? 'Any' : types.map(pascal).join('Or');
    const references = types.length === 0 ? [ref('Reference')] : types.map((type) => this.reference(type));
    const some = references.length === 1 ? references[0]! : { anyOf: references };
    const links = ref('RelationshipLinks');
    if (names === 'one') {
      const data = { anyOf: [...references, ref('Nothing')] };
      return this.named(`${about}ToOne`, { required: ['data'], properties: { data, links } });
    }
    const data = { type: 'array', items: some };
    if (names === 'many') return this.named(`${about}ToMany`, { required: ['data'], properties: { data, links } });
    const properties = types.length === 0 ? { links } : { data, links };
    return this.named(types.length === 0 ? 'Linked' : `${about}Linked`, { required: ['links'], properties });
  }

  private reference(type: string): Json {
    const properties = { id: { type: 'string' }, type: { type: 'string', enum: [type] } };
    return this.named(`${pascal(type)}Reference`, { required: ['id', 'type'], properties });
  }

  private named(name: string, schema: Json): Json {
    this.schemas[name] ??= { type: 'object', ...schema };
    return ref(name);
  }
}
