import { endpoints, type Resource } from '../kernel/endpoint';
import { openapiDocument } from '../kernel/openapi';
import type { Policy } from '../kernel/policy';

const { raw } = endpoints({} as Policy<undefined>, undefined);

/** The description of all other resources, at `/api/v2/openapi.json`. Open to everybody: it tells nothing of anybody. */
export function openapiResource(described: readonly Resource[]): Resource {
  const show = raw('GET')('/openapi.json', {
    summary: 'Describe this interface as an OpenAPI document.',
    answers: { 200: { description: 'The document.', type: 'application/json', schema: { type: 'object' } } },
    auth: 'none',
    run: async ({ env }) => {
      const options = { edition: env.edition, publicUrl: env.publicUrl, prefix: '/api/v2' };
      const body = JSON.stringify(openapiDocument(described, options));
      return { status: 200, headers: { 'Content-Type': 'application/json' }, body };
    },
  });
  return { name: 'openapi', endpoints: [show] };
}
