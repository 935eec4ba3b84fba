import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { keepRepository } from '../src/resources/connections/repositories/repository';
import { configured } from './configurations';
import { FakeHost } from './fake-host';
import { fakeWorker } from './fake-worker';
import { resource, startWorkspaces } from './start-workspaces';

/** Gives the same answer to everything. */
class OneAnswer extends FakeHost {
  answer: readonly [number, unknown] = [404, {}];

  protected async respond(): Promise<readonly [number, unknown]> {
    return this.answer;
  }
}

const kinds = {
  gitea: 'team/net',
  forgejo: 'team/net',
  github: 'team/net',
  github_enterprise: 'team/net',
  gitlab_community_edition: 'team/net',
  bitbucket_hosted: 'team/net',
  bitbucket_data_center: 'team/net',
  ado_services: 'team/project/_git/net',
};

const gone = {
  'no such thing': [404, {}],
  'permanently gone': [410, {}],
  'an unknown token': [401, {}],
  'a token without the right': [403, { message: 'Resource not accessible' }],
  'another address': [301, {}],
} as const;

const away = {
  'too many requests': [429, {}],
  'too many requests, as GitHub says it': [403, { message: 'API rate limit exceeded for user 7.' }],
  'a fault': [500, {}],
  'a fault of its proxy': [502, {}],
  maintenance: [503, {}],
} as const;

describe('a run that a person starts in a workspace whose host answers', () => {
  const host = new OneAnswer();
  const workspaces = startWorkspaces({
    keyed: true,
    env: { WORKSPACES_VCS: 'on', WORKSPACES_VCS_NETWORKS: '127.0.0.1/32' },
  });
  const { admin } = workspaces;
  const ids = new Map<string, string>();
  const startRun = (id: string, attributes: object = {}) =>
    admin.post('runs', resource('runs', attributes, { workspace: { data: { type: 'workspaces', id } } }));

  beforeAll(async () => {
    await host.start();
    await workspaces.organization('acme', { 'default-execution-mode': 'remote' });
    const { db, env } = workspaces.service;
    for (const [kind, identifier] of Object.entries(kinds)) {
      const attributes = { 'service-provider': kind, 'http-url': host.origin, 'api-url': host.origin };
      const client = resource('oauth-clients', { ...attributes, 'oauth-token-string': 'text' });
      const made = await admin.post('organizations/acme/oauth-clients', client).expect(201);
      const tokenId = made.body.data.relationships['oauth-tokens'].data[0].id;
      const found = { id: '7', identifier, httpUrl: host.origin, cloneUrl: host.origin, defaultBranch: 'main' };
      await db.transaction((tx) => keepRepository(tx, env.keyring, { tokenId, identifier }, found));
      const { id } = await workspaces.workspace('acme', kind.replaceAll('_', '-'));
      await configured(workspaces, id);
      const data = { oauthTokenId: tokenId, vcsIdentifier: identifier, vcsBranch: 'release/1.0' };
      await db.prisma.workspace.update({ where: { id }, data });
      ids.set(kind, id);
    }
    await fakeWorker(workspaces).claim();
  });
  afterAll(() => host.stop());

  const cases = (answers: Readonly<Record<string, readonly [number, unknown]>>) =>
    Object.entries(answers).flatMap(([name, answer]) =>
      Object.keys(kinds).map((kind) => [name, kind, answer] as const),
    );

  it.each(cases(gone))('with %s (%s) is refused by name, and nothing starts', async (_name, kind, answer) => {
    host.answer = answer;
    const id = ids.get(kind)!;
    const before = await workspaces.service.db.prisma.run.count();
    const { body } = await startRun(id).expect(422);
    expect(body.errors[0]).toMatchObject({
      detail: expect.stringMatching(
        /no newest commit to run: its repository team\/.*(branch|not found|cannot be read|redirects)/,
      ),
      source: { pointer: '/data/relationships/workspace' },
    });
    expect(await workspaces.service.db.prisma.run.count()).toBe(before);
  });

  it.each(cases(away))('with %s (%s) uses the last commit that was fetched', async (_name, kind, answer) => {
    host.answer = answer;
    await startRun(ids.get(kind)!, { 'plan-only': true }).expect(201);
  });

  it('with an unusable response uses the configuration that it names', async () => {
    host.answer = gone['no such thing'];
    const id = ids.get('gitea')!;
    const { body } = await admin.get(`workspaces/${id}/configuration-versions`).expect(200);
    const named = { data: { type: 'configuration-versions', id: body.data[0].id } };
    const workspace = { data: { type: 'workspaces', id } };
    await admin
      .post('runs', resource('runs', { 'plan-only': true }, { workspace, 'configuration-version': named }))
      .expect(201);
  });
});
