import { notFound } from '@keystead/refusal';
import type { Policy } from '../../../kernel/access/policy';
import { endpoints, type Resource } from '../../../kernel/endpoints/endpoint';

const blocks = { type: 'array', items: { type: 'string' } };
const uses = ['api', 'notifications', 'polengine', 'vcs'];
const schema = {
  type: 'object',
  required: uses,
  properties: Object.fromEntries([...uses, 'sentinel'].map((use) => [use, blocks])),
};

// The ranges come from the configuration, so they do not change after the start of the process.
const since = new Date(Math.floor(Date.now() / 1000) * 1000);

const { raw } = endpoints({} as Policy<undefined>, undefined);

const show = raw('GET')('/api/meta/ip-ranges', {
  summary: 'Show the IP ranges of the service and of its outgoing calls. 404 unless configured.',
  auth: 'none',
  outside: true,
  answers: {
    200: { description: 'The IP ranges, as CIDR blocks.', type: 'application/json', schema },
    304: { description: 'The IP ranges have not changed since If-Modified-Since.' },
  },
  run: async ({ env, request }) => {
    if (!env.ipRanges) throw notFound();
    const headers = { 'Last-Modified': since.toUTCString() };
    const cachedMs = Date.parse(String(request.headers['if-modified-since'] ?? ''));
    if (cachedMs >= since.getTime()) return { status: 304, headers };
    const named = env.aliases ? [...uses, 'sentinel'] : uses;
    const body = Object.fromEntries(named.map((use) => [use, env.ipRanges]));
    return { status: 200, headers: { ...headers, 'Content-Type': 'application/json' }, body: JSON.stringify(body) };
  },
});

/** The service's addresses, for the firewalls of others. */
export const ipRangesResource: Resource = { name: 'ip-ranges', endpoints: [show] };
