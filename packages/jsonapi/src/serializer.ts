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

/** How a kind of resource is shown. Wire names out, and nothing else. Methods, so that lists may hold specs of many kinds. */
export interface SerializerSpec<
  T,
  View,
  S extends AttributeShape = AttributeShape,
  R extends RelationShape = RelationShape,
> {
  type: string | TypeOf<T, View>;
  id(item: T): string;
  /** What attributes there are, and of which types: the compiler holds `attributes` to it, and tests every answer. */
  shape: S;
  /** What relationships there are, and to what: held to it like `shape`. */
  relations?: R;
  self?(item: T): string | undefined;
  attributes(item: T, view: View): AttributesOf<S>;
  relationships?: [keyof R] extends [never] ? undefined : RelationshipsFor<T, View, R>;
  links?(item: T): Record<string, string>;
  aliases?: Aliases;
}

/** Turns domain objects of one kind into resource objects. */
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

/** A serializer from its description; aliases are sent next to the neutral names when the view says so. */
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
