import type { Linked, Relationship, ToMany, ToOne } from './relationships';

/** A declared relationship: one resource or many, and their types; any type if none is given. */
export interface Relation<R extends Relationship = Relationship> {
  readonly names: 'one' | 'many' | 'nothing';
  readonly types: readonly string[];
  readonly optional?: true;
  /** What the serializer must return. Only for the compiler. */
  readonly shown?: R;
}

/** The relationships of a resource, by wire name: the serializer returns them, and the OpenAPI document lists them. */
export type RelationShape = Readonly<Record<string, Relation>>;

type Shown<R> = R extends Relation<infer S> ? S : never;
type Sometimes<R extends RelationShape> = {
  [K in keyof R]: R[K] extends { readonly optional: true } ? K : never;
}[keyof R];

/** What a serializer must return for its declared relationships. */
export type RelationshipsOf<R extends RelationShape> = {
  [K in Exclude<keyof R, Sometimes<R>>]: Shown<R[K]>;
} & { [K in Sometimes<R>]?: Shown<R[K]> };

/** Names a resource of one of these types, or none. */
export function hasOne<T extends string>(...types: T[]): Relation<ToOne<T>> {
  return { names: 'one', types };
}

/** The same for a type that is stored as text: a type from a list, or any type if there is no list. */
export function hasOneOf(types: readonly string[] = []): Relation<ToOne<string>> {
  return { names: 'one', types };
}

/** Names resources of a type. */
export function hasMany<T extends string>(type: T): Relation<ToMany<T>> {
  return { names: 'many', types: [type] };
}

/** Only a link. With a type, answers that include the resources also name them. */
export function linksTo(...types: string[]): Relation<Linked> {
  return { names: 'nothing', types };
}

/** A relationship that is not in every answer. */
export function sometimes<R extends Relation>(relation: R): R & { readonly optional: true } {
  return { ...relation, optional: true };
}
