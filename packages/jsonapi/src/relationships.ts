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

/** Names a resource of a type, or none. */
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
