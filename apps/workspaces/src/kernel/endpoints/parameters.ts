import { badParameter, type Query } from '@keystead/jsonapi';
import type { Endpoint } from './endpoint';
import { asksForFields } from './sparse-fields';

/** Clients that page through everything send these even where there is only one page. */
const always: ReadonlySet<string> = new Set(['page[number]', 'page[size]', 'sort', 'include']);

/** `[i]` of a declared name is any number; `[field]` and `[operator]` are words that the endpoint checks itself. */
const anyNumber = (name: string): RegExp =>
  new RegExp(
    `^${name
      .replace(/[[\]]/g, '\\$&')
      .replaceAll('\\[i\\]', '\\[\\d+\\]')
      .replace(/\\\[(field|operator)\\\]/g, '\\[[a-z_-]+\\]')}$`,
  );

/** Families that JSON:API reserves; a name with any other letter is the client's own, and harmless. */
const meansSomething = /^[a-z]+(\[|$)/;

/**
 * Refuses query parameters that an endpoint does not declare, because ignoring a filter, for example, would do more than
 * was asked. Names with other than small letters are ignored, as clients send some without meaning (`TagBindings={k v}`);
 * so are those of pages for browsers, whose addresses are added to on their way. Throws `malformed`, which names the
 * parameter.
 */
export function requireDeclared(endpoint: Endpoint, query: Query): void {
  if (query.entries.size === 0 || endpoint.outside) return;
  for (const name of query.entries.keys()) {
    if (always.has(name) || asksForFields(name) || !meansSomething.test(name)) continue;
    if (Object.hasOwn(endpoint.query, name)) continue;
    const counted = Object.keys(endpoint.query).filter((declared) => declared.includes('[i]'));
    if (!counted.some((declared) => anyNumber(declared).test(name))) {
      throw badParameter(name, `${name} is not a parameter of this request`);
    }
  }
}
