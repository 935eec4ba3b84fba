import type { OauthClient, VcsRepository } from '../../../generated/prisma/client';
import type { Policy } from '../../../kernel/access/policy';
import { endpoints, type Resource } from '../../../kernel/endpoints/endpoint';
import { gather } from '../agents/wire';
import { deliveryBytes, findApp, findRepository, receive, receiveOfApp } from './deliveries';

const { raw } = endpoints({} as Policy<undefined>, undefined, { organizationsOf: () => [] });

const readBody = (stream: AsyncIterable<Uint8Array> | undefined): Promise<Buffer> =>
  gather(stream, deliveryBytes, 'a delivery');

const delivered = {
  outside: true,
  auth: 'none',
  streams: true,
  takes: 'application/json',
  refuses: [413],
  answers: {
    202: { description: 'Accepted, or already known.' },
    400: { description: 'The body is not JSON.' },
    403: { description: 'The signature is wrong, or the event is about another repository.' },
  },
} as const;
const accepted = { status: 202, headers: {}, body: '' };

const webhook = raw('POST')('/webhooks/vcs/:vcs_repository_id', {
  summary: 'Webhook for events of a repository. The Git host signs them with the secret of the webhook.',
  ...delivered,
  load: ({ db, env, params }) =>
    env.vcsReach === undefined ? Promise.resolve(undefined) : findRepository(db, params.vcs_repository_id),
  run: async ({ db, env, target, request }) => {
    const body = await readBody(request.stream);
    await receive({ db, env }, target as unknown as VcsRepository, request.headers, body);
    return accepted;
  },
});

const appWebhook = raw('POST')('/webhooks/github-app/:oauth_client_id', {
  ...delivered,
  summary: 'Webhook for events of the repositories of a GitHub App, signed with its webhook secret.',
  load: ({ db, env, params }) =>
    env.vcsReach === undefined ? Promise.resolve(undefined) : findApp(db, params.oauth_client_id),
  run: async ({ db, env, target, request }) => {
    const body = await readBody(request.stream);
    await receiveOfApp({ db, env }, target as unknown as OauthClient, request.headers, body);
    return accepted;
  },
});

/** Deliveries of Git hosts. */
export const vcsResource: Resource = { name: 'vcs', endpoints: [webhook, appWebhook] };
