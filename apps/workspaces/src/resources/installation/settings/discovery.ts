import type { Policy } from '../../../kernel/access/policy';
import { endpoints, type Resource } from '../../../kernel/endpoints/endpoint';

const { raw } = endpoints({} as Policy<undefined>, undefined);

const ping = raw('GET')('/ping', {
  summary: 'Check that the service is up. Response headers contain the API version.',
  answers: { 204: { description: 'The service is up.' } },
  auth: 'none',
  run: async () => ({ status: 204, headers: {} }),
});

const BASE = '/api/v2/';

/** The sign-in of the tool's `login` command, which takes place on a page of the console; see the sessions resource. */
const login = {
  client: 'keystead-cli',
  grant_types: ['authz_code'],
  authz: '/app/oauth2/auth',
  token: '/oauth2/token',
  ports: [10000, 10010],
};

const discovery = raw('GET')('/.well-known/terraform.json', {
  summary: 'Show the URLs of the service’s APIs (service discovery).',
  answers: { 200: { description: 'The URLs of the APIs.', type: 'application/json', schema: { type: 'object' } } },
  auth: 'none',
  outside: true,
  run: async ({ env }) => ({
    status: 200,
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({
      'tfe.v2': BASE,
      'tfe.v2.1': BASE,
      'tfe.v2.2': BASE,
      'state.v2': BASE,
      'modules.v1': '/api/registry/v1/modules/',
      'providers.v1': '/api/registry/v1/providers/',
      ...(env.hasConsole ? { 'login.v1': login } : {}),
    }),
  }),
});

/** Ping and service discovery. */
export const serviceResource: Resource = { name: 'service', endpoints: [ping, discovery] };
