import { badParameter, type Query, type ResourceObject } from '@keystead/jsonapi';
import type { Endpoint, Includable, SparseFields } from './endpoint';

/** Parameters that every endpoint accepts, because some clients send them even if there is only one page. */
const always: ReadonlySet<string> = new Set(['page[number]', 'page[size]', 'sort', 'include']);

/**
 * `[i]` in a declared name matches any number. `[field]` and `[operator]` match words that the endpoint checks itself.
 */
const anyNumber = (name: string): RegExp =>
  new RegExp(
    `^${name
      .replace(/[[\]]/g, '\\$&')
      .replaceAll('\\[i\\]', '\\[\\d+\\]')
      .replace(/\\\[(field|operator)\\\]/g, '\\[[a-z_-]+\\]')}$`,
  );

/**
 * Parameter families that JSON:API reserves. JSON:API leaves all other names to the implementation, so unknown names
 * are ignored.
 */
const meansSomething = /^[a-z]+(\[|$)/;

/** Matches a parameter that selects the fields of a type. */
const fieldsOfType = /^fields\[([a-z_-]+)\](?:\[\])?$/;

/**
 * Refuses query parameters that an endpoint does not declare. If it ignored a filter, for example, the request would do
 * more than the caller wanted. Names with characters other than small letters are ignored, because some clients send
 * meaningless parameters (`TagBindings={k v}`). Pages for browsers are exempt, because other sites append parameters to
 * their addresses. Throws `malformed`, which names the parameter.
 */
export function requireDeclared(endpoint: Endpoint, query: Query): void {
  if (query.entries.size === 0 || endpoint.outside) return;
  for (const name of query.entries.keys()) {
    if (always.has(name) || fieldsOfType.test(name) || !meansSomething.test(name)) continue;
    if (Object.hasOwn(endpoint.query, name)) continue;
    const counted = Object.keys(endpoint.query).filter((declared) => declared.includes('[i]'));
    if (!counted.some((declared) => anyNumber(declared).test(name))) {
      throw badParameter(name, `${name} is not a parameter of this request`);
    }
  }
}

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
    const rawType = fieldsOfType.exec(name)?.[1];
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

/** A resource with only the requested fields, or all fields if none were requested for its type. */
export function withFields(resource: ResourceObject, sparseFields: SparseFields): ResourceObject {
  const fields = sparseFields.get(resource.type);
  if (fields === undefined) return resource;
  const only = <T>(all: Record<string, T>): Record<string, T> =>
    Object.fromEntries(Object.entries(all).filter(([name]) => fields.has(name)));
  return {
    ...resource,
    attributes: only(resource.attributes),
    ...(resource.relationships && { relationships: only(resource.relationships) }),
  };
}
