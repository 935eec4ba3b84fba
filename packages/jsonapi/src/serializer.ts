import type { Aliases } from './aliases';
import type { AttributeShape, AttributesOf } from './attributes';
import type { Relation, RelationShape, RelationshipsOf } from './relations';
import type { Relationship } from './relationships';

/** A resource object, ready to be written. */
export interface ResourceObject {
  id: string;
  type: string;
  attributes: Record<string, unknown>;
  relationships?: Record<string, Relationship>;
  links?: Record<string, string>;
}

type TypeOf<T, View> = { of(item: T, view: View): string }['of'];
type RelationshipsFor<T, View, R extends RelationShape> = { of(item: T, view: View): RelationshipsOf<R> }['of'];

/**
 * How a resource is serialized, under wire names. These are methods so that a list may hold specs of different
 * resources.
 */
export interface SerializerSpec<
  T,
  View,
  S extends AttributeShape = AttributeShape,
  R extends RelationShape = RelationShape,
> {
  type: string | TypeOf<T, View>;
  id(item: T): string;
  /** The attributes and their types: the compiler checks `attributes` against them, and tests check every answer. */
  shape: S;
  /** The relationships and their types, checked like `shape`. */
  relations?: R;
  self?(item: T): string | undefined;
  attributes(item: T, view: View): AttributesOf<S>;
  relationships?: [keyof R] extends [never] ? undefined : RelationshipsFor<T, View, R>;
  links?(item: T): Record<string, string>;
  aliases?: Aliases;
}

/** Converts domain objects of one kind to resource objects. */
export interface Serializer<T, View> {
  readonly type: string;
  readonly spec: SerializerSpec<T, View>;
  resource(item: T, view: View): ResourceObject;
}

function addAlias(attributes: Record<string, unknown>, from: readonly string[], to: readonly string[]): void {
  let holder = attributes;
  for (const step of from.slice(0, -1)) {
    const inner = holder[step];
    if (typeof inner !== 'object' || inner === null) return;
    holder = inner as Record<string, unknown>;
  }
  const key = from.at(-1)!;
  if (key in holder) {
    holder[to.at(-1)!] = holder[key];
  }
}

/** A serializer from its spec; aliases are sent next to the main names if the view says so. */
export function serializer<
  T,
  View extends { aliases: boolean },
  S extends AttributeShape,
  R extends RelationShape = Record<never, Relation>,
>(spec: SerializerSpec<T, View, S, R>): Serializer<T, View> {
  const aliases = Object.entries(spec.aliases ?? {}).map(([from, to]) => [from.split('.'), to.split('.')] as const);
  return {
    type: typeof spec.type === 'string' ? spec.type : '',
    spec: spec as unknown as SerializerSpec<T, View>,
    resource(item, view) {
      const attributes: Record<string, unknown> = spec.attributes(item, view);
      if (view.aliases) {
        for (const [from, to] of aliases) {
          addAlias(attributes, from, to);
        }
      }
      const object: ResourceObject = {
        id: spec.id(item),
        type: typeof spec.type === 'string' ? spec.type : spec.type(item, view),
        attributes,
      };
      if (spec.relationships !== undefined) {
        object.relationships = spec.relationships(item, view) as Record<string, Relationship>;
      }
      const self = spec.self?.(item);
      const links = { ...(self === undefined ? {} : { self }), ...spec.links?.(item) };
      if (Object.keys(links).length > 0) {
        object.links = links;
      }
      return object;
    },
  };
}
