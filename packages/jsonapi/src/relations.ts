import type { Linked, Relationship, ToMany, ToOne } from './relationships';

/** A declared relationship: how many resources it names, and of which types; of any type if none is given. */
export interface Relation<R extends Relationship = Relationship> {
  readonly names: 'one' | 'many' | 'nothing';
  readonly types: readonly string[];
  readonly optional?: true;
  /** What the serializer has to answer. Only the compiler looks at it. */
  readonly shown?: R;
}

/** The relationships of a kind of resource, by wire name: what the serializer answers, and the document says. */
export type RelationShape = Readonly<Record<string, Relation>>;

type Shown<R> = R extends Relation<infer S> ? S : never;
type Sometimes<R extends RelationShape> = {
  [K in keyof R]: R[K] extends { readonly optional: true } ? K : never;
}[keyof R];

/** What a serializer has to answer for its declared relationships. */
export type RelationshipsOf<R extends RelationShape> = {
  [K in Exclude<keyof R, Sometimes<R>>]: Shown<R[K]>;
} & { [K in Sometimes<R>]?: Shown<R[K]> };

/** Names a resource of one of these types, or none. */
export function hasOne<T extends string>(...types: T[]): Relation<ToOne<T>> {
  return { names: 'one', types };
}

/** The same where the type is kept as text: one of a closed list, or any if there is none. */
export function hasOneOf(types: readonly string[] = []): Relation<ToOne<string>> {
  return { names: 'one', types };
}

/** Names resources of a type. */
export function hasMany<T extends string>(type: T): Relation<ToMany<T>> {
  return { names: 'many', types: [type] };
}

/** Says where to look. With a type, answers that include what is there name it as well. */
export function linksTo(...types: string[]): Relation<Linked> {
  return { names: 'nothing', types };
}

/** Not in every answer. */
export function sometimes<R extends Relation>(relation: R): R & { readonly optional: true } {
  return { ...relation, optional: true };
}
