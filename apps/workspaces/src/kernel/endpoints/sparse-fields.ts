import { badParameter, type Query, type ResourceObject } from '@keystead/jsonapi';
import type { Endpoint, Includable, SparseFields } from './endpoint';

const parameter = /^fields\[([a-z_-]+)\](?:\[\])?$/;

/**
 * Parses `fields[workspaces]=name,locked` and `fields[workspace][]=name`, which JSON:API allows in every read.
 * Undefined if none is sent. Throws `malformed` for a type that the answer cannot contain.
 */
export function sparseFields(
  { method, serializer, include, outside, query: declared }: Endpoint,
  includables: ReadonlyMap<string, Includable>,
  query: Query,
): SparseFields | undefined {
  let found: Map<string, Set<string>> | undefined;
  if (outside) return undefined;
  for (const name of query.entries.keys()) {
    const rawType = parameter.exec(name)?.[1];
    const dashed = rawType?.replaceAll('_', '-');
    // An endpoint that declares the parameter has other names for its fields.
    if (rawType === undefined || dashed === undefined || Object.hasOwn(declared, name)) continue;
    const type = [dashed, `${dashed}s`, rawType].find(
      (one) =>
        method === 'GET' && serializer && (one === serializer.type || (include.length > 0 && includables.has(one))),
    );
    if (type === undefined) throw badParameter(name, `${name} names no type of resource in this answer`);
    found ??= new Map();
    const fields = found.get(type) ?? new Set();
    for (const field of query.list(name)) fields.add(field.replaceAll('_', '-'));
    found.set(type, fields);
  }
  return found;
}

/** Whether a parameter selects fields. */
export const asksForFields = (name: string): boolean => parameter.test(name);

/** A resource with only the requested fields, or all fields if none were requested for its type. */
export function withFields(resource: ResourceObject, asked: SparseFields): ResourceObject {
  const fields = asked.get(resource.type);
  if (fields === undefined) return resource;
  const only = <T>(all: Record<string, T>): Record<string, T> =>
    Object.fromEntries(Object.entries(all).filter(([name]) => fields.has(name)));
  return {
    ...resource,
    attributes: only(resource.attributes),
    ...(resource.relationships && { relationships: only(resource.relationships) }),
  };
}
