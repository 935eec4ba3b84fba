import { createHash } from 'node:crypto';
import type { Policy } from '../kernel/access/policy';
import { endpoints, type Raw, type Resource } from '../kernel/endpoints/endpoint';
import type { Environment } from '../kernel/endpoints/environment';
import { openapiDocument } from '../kernel/endpoints/openapi';

const { raw } = endpoints({} as Policy<undefined>, undefined);

/** The description of all other resources, at `/api/v2/openapi.json`. Public: it contains no data. */
export function openapiResource(described: readonly Resource[]): Resource {
  // The document is built on first use and does not change while the service runs. The key is the keyring, because each
  // request has a separate environment, but each service has only one keyring.
  const documents = new WeakMap<Environment['keyring'], { readonly body: Buffer; readonly etag: string }>();
  const documentOf = (env: Environment) => {
    const cached = documents.get(env.keyring);
    if (cached) return cached;
    const { edition, aliases, publicUrl } = env;
    const options = { edition, aliases, publicUrl, prefix: '/api/v2' };
    const body = Buffer.from(JSON.stringify(openapiDocument(described, options)));
    const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 27)}"`;
    const document = { body, etag };
    documents.set(env.keyring, document);
    return document;
  };
  const show = raw('GET')('/openapi.json', {
    summary: 'Show the OpenAPI document of this API.',
    answers: {
      200: { description: 'The document.', type: 'application/json', schema: { type: 'object' } },
      304: { description: 'The document is still the one that If-None-Match names.' },
    },
    auth: 'none',
    run: async ({ env, request }): Promise<Raw> => {
      const { body, etag } = documentOf(env);
      if (request.headers['if-none-match'] === etag) return { status: 304, headers: { ETag: etag } };
      return { status: 200, headers: { 'Content-Type': 'application/json', ETag: etag }, body };
    },
  });
  return { name: 'openapi', endpoints: [show] };
}
