import { badParameter, type Query } from '@keystead/jsonapi';
import type { Endpoint } from './endpoint';
import { asksForFields } from './sparse-fields';

/** Clients that page through everything send these even if there is only one page. */
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
 * Parameter families that JSON:API reserves. JSON:API leaves all other names to the implementation, so unknown ones are
 * harmless.
 */
const meansSomething = /^[a-z]+(\[|$)/;

/**
 * Refuses query parameters that an endpoint does not declare, because ignoring a filter, for example, would do more
 * than the caller requested. Names with characters other than small letters are ignored, because some clients send
 * meaningless ones (`TagBindings={k v}`). Pages for browsers are exempt, because other sites append parameters to their
 * addresses. Throws `malformed`, which names the parameter.
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
