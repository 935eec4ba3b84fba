import type { Aliases, AttributeShape, AttributesOf } from './attributes';

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
 * How a resource is serialized, under wire names. Its functions are declared as methods, so that a list can contain
 * specs of different resources.
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

/** A serializer from its spec; aliases are sent next to the main names if the view requests them. */
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

/** Names a resource without its content. */
export interface Reference {
  id: string;
  type: string;
}

/** A relationship in a resource object. */
export interface Relationship {
  data?: Reference | Reference[] | null;
  links?: { related?: string; self?: string };
  meta?: Record<string, unknown>;
}

/** Names a resource of a type; null if there is no resource. */
export interface ToOne<T extends string = string> {
  data: { id: string; type: T } | null;
  links?: { related: string };
}

/** Names resources of a type. */
export interface ToMany<T extends string = string> {
  data: { id: string; type: T }[];
  links?: { related: string };
}

/** Only a link, without resources. */
export interface Linked {
  links: { related: string };
}

/** A relationship to one resource; a missing id is `data: null`. */
export function toOne<T extends string>(type: T, id: string | null | undefined, related?: string): ToOne<T> {
  const data = id === null || id === undefined ? null : { id, type };
  return related === undefined ? { data } : { data, links: { related } };
}

/** A relationship to many resources of one type. */
export function toMany<T extends string>(type: T, ids: readonly string[], related?: string): ToMany<T> {
  const data = ids.map((id) => ({ id, type }));
  return related === undefined ? { data } : { data, links: { related } };
}

/** A relationship that is only a link. */
export function related(url: string): Linked {
  return { links: { related: url } };
}

/** A declared relationship: to one resource or many, with the allowed types. An empty list allows any type. */
export interface Relation<R extends Relationship = Relationship> {
  readonly names: 'one' | 'many' | 'nothing';
  readonly types: readonly string[];
  readonly optional?: true;
  /** The type that the serializer must return. It exists only for the compiler. */
  readonly shown?: R;
}

/** The relationships of a resource, by wire name: the serializer returns them, and the OpenAPI document lists them. */
export type RelationShape = Readonly<Record<string, Relation>>;

type Shown<R> = R extends Relation<infer S> ? S : never;
type Sometimes<R extends RelationShape> = {
  [K in keyof R]: R[K] extends { readonly optional: true } ? K : never;
}[keyof R];

/** The type that a serializer must return for its declared relationships. */
export type RelationshipsOf<R extends RelationShape> = {
  [K in Exclude<keyof R, Sometimes<R>>]: Shown<R[K]>;
} & { [K in Sometimes<R>]?: Shown<R[K]> };

/** Declares a relationship to a resource of one of these types, or to no resource. */
export function hasOne<T extends string>(...types: T[]): Relation<ToOne<T>> {
  return { names: 'one', types };
}

/**
 * Like `hasOne`, for a resource whose type is stored as text. The type is in the list; an empty list allows any type.
 */
export function hasOneOf(types: readonly string[] = []): Relation<ToOne<string>> {
  return { names: 'one', types };
}

/** Declares a relationship to resources of a type. */
export function hasMany<T extends string>(type: T): Relation<ToMany<T>> {
  return { names: 'many', types: [type] };
}

/** Declares a relationship that is only a link. With a type, answers that include the resources also name them. */
export function linksTo(...types: string[]): Relation<Linked> {
  return { names: 'nothing', types };
}

/** A relationship that is not in every answer. */
export function sometimes<R extends Relation>(relation: R): R & { readonly optional: true } {
  return { ...relation, optional: true };
}
