import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Reach } from '@keystead/outside';
import type { CommitStatus, GitHost } from './git-host';
import { directly, HostApi, HostRefused } from './host-api';
import { hostOf } from './hosts';

const first = 'a'.repeat(40);
const second = 'b'.repeat(40);
const forked = 'c'.repeat(40);
const status: CommitStatus = {
  state: 'failure',
  context: 'keystead/acme/a-workspace-with-a-long-name-of-its-own',
  description: 'The run failed',
  url: 'https://keystead.test/run',
  number: 7,
};
const hook = { url: 'https://keystead.test/webhooks/vcs/vr-1', secret: 's3cret' };

/** The answers of a host, by method and address; functions receive the body. */
type Answers = Readonly<Record<string, unknown | ((body: unknown) => unknown)>>;

/** One host: the shapes of its public documentation, reduced to the parts that are read. */
interface Recorded {
  readonly provider: string;
  readonly base?: string;
  readonly at: string;
  readonly token: string;
  readonly authorization: string;
  readonly answers: (origin: string) => Answers;
  readonly hookId: string;
  readonly commentId: string;
  /** The bodies of the calls that change something, in order. */
  readonly sent: readonly unknown[];
}

const cloudPull = (id: number, origin: string, source: string, hash: string) => ({
  id,
  title: 'Three',
  summary: { raw: 'why' },
  state: 'OPEN',
  links: { html: { href: `https://bitbucket.org/acme/net/pull-requests/${id}` } },
  source: {
    branch: { name: 'three' },
    commit: { hash: hash.slice(0, 12) },
    repository: { full_name: source, uuid: `{${source}}`, links: { html: { href: `${origin}/${source}` } } },
  },
  destination: {
    branch: { name: 'main' },
    commit: { hash: first.slice(0, 12) },
    repository: { full_name: 'acme/net', uuid: '{acme/net}' },
  },
});
const cloudCommit = (hash: string) => ({
  hash,
  message: 'Say it',
  links: { html: { href: `https://bitbucket.org/acme/net/commits/${hash}` } },
  author: { raw: 'Grace <grace@example.com>' },
});
const centerCommit = (id: string) => ({ id, message: 'Say it', author: { name: 'grace' } });
const centerPull = (id: number, repository: number, head: string) => ({
  id,
  title: 'Three',
  description: 'why',
  state: 'OPEN',
  links: { self: [{ href: `https://git.test/projects/ACME/repos/net/pull-requests/${id}` }] },
  fromRef: { displayId: 'three', latestCommit: head, repository: { id: repository } },
  toRef: { displayId: 'main', latestCommit: first, repository: { id: 42 } },
});
const azureCommit = (commitId: string) => ({
  commitId,
  comment: 'Say it',
  author: { name: 'Grace' },
  remoteUrl: `https://dev.azure.com/acme/p/_git/net/commit/${commitId}`,
});
const azurePull = (id: number, head: string, fork: boolean) => ({
  pullRequestId: id,
  title: 'Three',
  description: 'why',
  status: 'active',
  sourceRefName: 'refs/heads/three',
  targetRefName: 'refs/heads/main',
  lastMergeSourceCommit: { commitId: head },
  repository: { webUrl: 'https://dev.azure.com/acme/p/_git/net' },
  ...(fork ? { forkSource: { repository: { id: 'other' } } } : {}),
});
const azureRefs = (...names: string[]) => ({
  value: names.map((name) => ({
    name,
    objectId: first,
    peeledObjectId: name.startsWith('refs/tags') ? second : undefined,
  })),
});

const cloud = '/repositories/acme/net';
const center = '/rest/api/latest/projects/ACME/repos/net';
const azure = '/acme/p/_apis/git/repositories/net';
const version = 'api-version=5.0';

const recorded: readonly Recorded[] = [
  {
    provider: 'bitbucket_hosted',
    base: '/2.0',
    at: 'acme/net',
    token: 'grace@example.com:token',
    authorization: `Basic ${Buffer.from('grace@example.com:token').toString('base64')}`,
    answers: (origin) => ({
      [`GET ${cloud}`]: {
        uuid: '{acme/net}',
        full_name: 'acme/net',
        links: {
          html: { href: 'https://bitbucket.org/acme/net' },
          clone: [
            { name: 'ssh', href: 'git@bitbucket.org:acme/net.git' },
            { name: 'https', href: 'https://grace@bitbucket.org/acme/net.git' },
          ],
        },
        mainbranch: { name: 'main' },
      },
      [`GET ${cloud}/refs/branches?q=name%20%3D%20%22team%2Fmain%22`]: {
        values: [{ name: 'team/main', target: cloudCommit(first) }],
      },
      [`GET ${cloud}/refs/tags?q=name%20%3D%20%22v1%22`]: { values: [{ name: 'v1', target: cloudCommit(second) }] },
      [`GET ${cloud}/refs/tags?pagelen=100&sort=-target.date`]: {
        values: [{ name: 'v2', target: { hash: first } }],
        next: `${origin}/2.0${cloud}/refs/tags?page=2`,
      },
      [`GET ${cloud}/refs/tags?page=2`]: { values: [{ name: 'v1', target: { hash: second } }] },
      [`GET ${cloud}/commit/${first}`]: cloudCommit(first),
      [`GET ${cloud}/commit/${second.slice(0, 12)}`]: cloudCommit(second),
      [`GET /repositories/eve/net/commit/${forked.slice(0, 12)}`]: cloudCommit(forked),
      [`GET ${cloud}/pullrequests/7`]: cloudPull(7, origin, 'acme/net', second),
      [`GET ${cloud}/pullrequests/8`]: cloudPull(8, origin, 'eve/net', forked),
      [`GET ${cloud}/pullrequests?state=OPEN&pagelen=50`]: {
        values: [cloudPull(7, origin, 'acme/net', second), cloudPull(8, origin, 'eve/net', forked)],
      },
      [`GET ${cloud}/diffstat/${second}..${first}?topic=false&pagelen=500`]: {
        values: [{ new: { path: 'b.tf' }, old: { path: 'a.tf' } }],
      },
      [`GET ${cloud}/diffstat/${second.slice(0, 12)}..${first.slice(0, 12)}?topic=true&pagelen=500`]: {
        values: [{ new: null, old: { path: 'ü/a.tf' } }],
      },
      [`POST ${cloud}/hooks`]: { uuid: '{h-1}' },
      [`DELETE ${cloud}/hooks/%7Bh-1%7D`]: undefined,
      [`POST ${cloud}/commit/${second}/statuses/build`]: {},
      [`POST ${cloud}/pullrequests/7/comments`]: { id: 9 },
      [`GET ${cloud}/pullrequests/7/comments?sort=created_on&pagelen=100`]: {
        values: [
          { id: 7, content: { raw: 'gone\n\n[//]: # (keystead 0a)' }, deleted: true },
          { id: 8, content: { raw: 'keystead' } },
          { id: 9, content: { raw: 'one\n\n[//]: # (keystead 0a)' } },
          { id: 10, content: { raw: 'copied: keystead 0a' } },
        ],
      },
      [`GET ${cloud}/pullrequests/7/comments/9`]: { id: 9, deleted: false },
      [`PUT ${cloud}/pullrequests/7/comments/9`]: { id: 9 },
    }),
    hookId: '{h-1}',
    commentId: '9',
    sent: [
      {
        description: 'Keystead',
        url: hook.url,
        active: true,
        secret: hook.secret,
        events: ['repo:push', 'pullrequest:created', 'pullrequest:updated'],
      },
      expect.objectContaining({ state: 'FAILED', key: expect.stringMatching(/^keystead-[0-9a-f]{30}$/) }),
      { content: { raw: 'one\n\n[//]: # (keystead 0a)' } },
      { content: { raw: 'two\n\n[//]: # (keystead 0a)' } },
    ],
  },
  {
    provider: 'bitbucket_data_center',
    base: '/rest/api/1.0',
    at: 'ACME/net',
    token: 'token',
    authorization: 'Bearer token',
    answers: () => ({
      [`GET ${center}`]: {
        id: 42,
        slug: 'net',
        project: { key: 'ACME' },
        links: {
          clone: [
            { name: 'ssh', href: 'ssh://git@git.test:7999/acme/net.git' },
            { name: 'http', href: 'https://grace@git.test/scm/acme/net.git' },
          ],
          self: [{ href: 'https://git.test/projects/ACME/repos/net/browse' }],
        },
      },
      [`GET ${center}/default-branch`]: { displayId: 'main' },
      [`GET ${center}/branches?filterText=team%2Fmain&orderBy=ALPHABETICAL&limit=100&start=0`]: {
        isLastPage: false,
        nextPageStart: 100,
        values: [{ displayId: 'a-team/main', latestCommit: second }],
      },
      [`GET ${center}/branches?filterText=team%2Fmain&orderBy=ALPHABETICAL&limit=100&start=100`]: {
        isLastPage: true,
        values: [{ displayId: 'team/main', latestCommit: first }],
      },
      [`GET ${center}/tags?filterText=v1&orderBy=ALPHABETICAL&limit=100&start=0`]: {
        isLastPage: true,
        values: [{ displayId: 'v1', latestCommit: second }],
      },
      [`GET ${center}/tags?orderBy=MODIFICATION&limit=100&start=0`]: {
        isLastPage: true,
        values: [
          { displayId: 'v2', latestCommit: first },
          { displayId: 'v1', latestCommit: second },
        ],
      },
      [`GET ${center}/commits/${first}`]: centerCommit(first),
      [`GET ${center}/commits/${second}`]: centerCommit(second),
      [`GET ${center}/pull-requests/7`]: centerPull(7, 42, second),
      [`GET ${center}/pull-requests/8`]: centerPull(8, 43, forked),
      [`GET ${center}/pull-requests?state=OPEN&limit=100&start=0`]: {
        isLastPage: true,
        values: [centerPull(7, 42, second), centerPull(8, 43, forked)],
      },
      [`GET ${center}/commits/${second}/changes?since=${first}&limit=100&start=0`]: {
        isLastPage: true,
        values: [{ path: { toString: 'b.tf' }, srcPath: { toString: 'a.tf' } }],
      },
      [`GET ${center}/pull-requests/7/changes?limit=100&start=0`]: {
        isLastPage: true,
        values: [{ path: { toString: 'ü/a.tf' } }],
      },
      [`POST ${center}/webhooks`]: { id: 5 },
      [`DELETE ${center}/webhooks/5`]: undefined,
      [`POST /rest/build-status/latest/commits/${second}`]: undefined,
      [`POST ${center}/pull-requests/7/comments`]: { id: 9, version: 0 },
      [`GET ${center}/pull-requests/7/activities?limit=100&start=0`]: {
        values: [
          { action: 'COMMENTED', comment: { id: 10, text: 'copied: keystead 0a' } },
          { action: 'COMMENTED', comment: { id: 9, text: 'one\n\n[//]: # (keystead 0a)' } },
          { action: 'OPENED' },
        ],
        isLastPage: true,
      },
      [`GET ${center}/pull-requests/7/comments/9`]: { id: 9, version: 3 },
      [`PUT ${center}/pull-requests/7/comments/9`]: { id: 9, version: 4 },
    }),
    hookId: '5',
    commentId: '9',
    sent: [
      {
        name: 'Keystead',
        url: hook.url,
        active: true,
        events: ['repo:refs_changed', 'pr:opened', 'pr:from_ref_updated', 'pr:modified'],
        configuration: { secret: hook.secret },
      },
      expect.objectContaining({ state: 'FAILED', url: status.url }),
      { text: 'one\n\n[//]: # (keystead 0a)' },
      { text: 'two\n\n[//]: # (keystead 0a)', version: 3 },
    ],
  },
  {
    provider: 'ado_services',
    at: 'acme/p/_git/net',
    token: 'pat',
    authorization: `Basic ${Buffer.from(':pat').toString('base64')}`,
    answers: () => ({
      [`GET ${azure}?${version}`]: {
        id: 'r-42',
        project: { id: 'p-1' },
        webUrl: 'https://dev.azure.com/acme/p/_git/net',
        remoteUrl: 'https://acme@dev.azure.com/acme/p/_git/net',
        defaultBranch: 'refs/heads/main',
      },
      [`GET ${azure}/refs?filter=heads%2Fteam%2Fmain&peelTags=true&$top=1000&${version}`]: azureRefs(
        'refs/heads/team/main2',
        'refs/heads/team/main',
      ),
      [`GET ${azure}/refs?filter=tags%2Fv1&peelTags=true&$top=1000&${version}`]: azureRefs('refs/tags/v1'),
      [`GET ${azure}/refs?filter=tags%2F&peelTags=true&$top=1000&${version}`]: {
        value: [
          { name: 'refs/tags/v2', objectId: first },
          { name: 'refs/tags/v1', objectId: forked, peeledObjectId: second },
        ],
      },
      [`GET ${azure}/commits/${first}?${version}`]: azureCommit(first),
      [`GET ${azure}/commits/${second}?${version}`]: azureCommit(second),
      [`GET ${azure}/pullrequests/7?${version}`]: azurePull(7, second, false),
      [`GET ${azure}/pullrequests/8?${version}`]: azurePull(8, forked, true),
      [`GET ${azure}/pullrequests?searchCriteria.status=active&$top=1000&${version}`]: {
        value: [azurePull(7, second, false), azurePull(8, forked, true)],
      },
      [`GET ${azure}/diffs/commits?baseVersion=${first}&baseVersionType=commit&targetVersion=${second}&targetVersionType=commit&diffCommonCommit=false&$top=1000&${version}`]:
        {
          allChangesIncluded: true,
          changes: [{ item: { path: '/', isFolder: true } }, { item: { path: '/b.tf' }, sourceServerItem: '/a.tf' }],
        },
      [`GET ${azure}/pullRequests/7/iterations?${version}`]: { value: [{ id: 1 }, { id: 2 }] },
      [`GET ${azure}/pullRequests/7/iterations/2/changes?$compareTo=0&$top=1000&$skip=0&${version}`]: {
        changeEntries: [{ item: { path: '/ü/a.tf' } }],
        nextSkip: 0,
      },
      [`POST /acme/_apis/hooks/subscriptions?${version}`]: (body: unknown) => ({
        id: `s-${(body as { eventType: string }).eventType.split('.').at(-1)}`,
      }),
      [`DELETE /acme/_apis/hooks/subscriptions/s-push?${version}`]: undefined,
      [`DELETE /acme/_apis/hooks/subscriptions/s-created?${version}`]: undefined,
      [`DELETE /acme/_apis/hooks/subscriptions/s-updated?${version}`]: undefined,
      [`POST ${azure}/commits/${second}/statuses?${version}`]: {},
      [`POST ${azure}/pullRequests/7/statuses?${version}`]: {},
      [`POST ${azure}/pullRequests/7/threads?${version}`]: { id: 3, comments: [{ id: 1 }] },
      [`GET ${azure}/pullRequests/7/threads?${version}`]: {
        value: [
          { id: 1, comments: [{ id: 1, content: 'gone: keystead 0a', isDeleted: true }] },
          { id: 2, comments: [{ id: 1, content: 'keystead' }] },
          { id: 3, comments: [{ id: 1, content: '<!-- keystead 0a -->\none' }] },
          { id: 4, comments: [{ id: 1, content: 'copied: keystead 0a' }] },
        ],
      },
      [`GET ${azure}/pullRequests/7/threads/3/comments/1?${version}`]: { id: 1 },
      [`PATCH ${azure}/pullRequests/7/threads/3/comments/1?${version}`]: { id: 1 },
    }),
    hookId: 's-push s-created s-updated',
    commentId: '3/1',
    sent: [
      ...['git.push', 'git.pullrequest.created', 'git.pullrequest.updated'].map((eventType) =>
        expect.objectContaining({
          eventType,
          publisherInputs: { projectId: 'p-1', repository: 'r-42' },
          consumerInputs: expect.objectContaining({ url: hook.url, basicAuthPassword: hook.secret }),
        }),
      ),
      ...[1, 2].map(() =>
        expect.objectContaining({
          state: 'failed',
          context: { genre: 'keystead', name: 'acme/a-workspace-with-a-long-name-of-its-own' },
        }),
      ),
      expect.objectContaining({
        comments: [{ parentCommentId: 0, content: `<!-- keystead 0a -->\none`, commentType: 1 }],
      }),
      { content: `<!-- keystead 0a -->\ntwo` },
    ],
  },
];

describe.each(recorded)('the requests to $provider, and the parsing of its answers', (one) => {
  const host: GitHost = hostOf(one.provider)!;
  let server: Server;
  let origin = '';
  let asked: { call: string; authorization: string | undefined; body: unknown }[] = [];
  let override: Record<string, { status: number; body: unknown }> = {};

  beforeAll(async () => {
    server = createServer((req, res) => {
      const pieces: Buffer[] = [];
      req.on('data', (piece: Buffer) => pieces.push(piece));
      req.on('end', () => {
        const text = Buffer.concat(pieces).toString();
        const body: unknown = text === '' ? undefined : JSON.parse(text);
        const prefix = one.base?.startsWith('/2') ? one.base : '';
        const call = `${req.method} ${req.url!.slice(prefix.length)}`;
        asked.push({ call, authorization: req.headers.authorization, body });
        const answers = one.answers(origin);
        const other = override[call];
        const known = other !== undefined || Object.hasOwn(answers, call);
        const answer = other?.body ?? answers[call];
        res.writeHead(other?.status ?? (known ? 200 : 404), { 'content-type': 'application/json' });
        res.end(JSON.stringify(typeof answer === 'function' ? answer(body) : answer) ?? '');
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => void server.close());
  beforeEach(() => {
    asked = [];
    override = {};
  });
  const api = () =>
    new HostApi(origin + (one.base ?? ''), host.authorization(one.token), directly(new Reach(['127.0.0.1/32'])));

  it('a repository, with a clone address without a user name', async () => {
    const found = await host.findRepository(api(), one.at);
    expect(found).toMatchObject({ identifier: one.at, defaultBranch: 'main', id: expect.stringMatching(/./) });
    expect(found.cloneUrl).toMatch(/^https:\/\/[\w.]+\/.*net/);
    expect(found.cloneUrl).not.toContain('@');
    expect(new Set(asked.map(({ authorization }) => authorization))).toEqual(new Set([one.authorization]));
  });

  it('branches with slashes, tags, commits; undefined if there is none', async () => {
    expect(await host.findHead(api(), one.at, 'team/main')).toMatchObject({ sha: first, message: 'Say it' });
    expect(await host.findHead(api(), one.at, 'team/other')).toBeUndefined();
    expect(await host.findTag(api(), one.at, 'v1')).toMatchObject({ sha: second });
    expect(await host.findCommit(api(), one.at, first)).toMatchObject({
      sha: first,
      author: expect.stringMatching(/grace/i),
    });
    expect(await host.findCommit(api(), one.at, 'd'.repeat(40))).toBeUndefined();
    expect(await host.listTags(api(), one.at)).toEqual([
      { name: 'v2', sha: first },
      { name: 'v1', sha: second },
    ]);
  });

  it('pull requests, including those of forks', async () => {
    const own = { number: 7, title: 'Three', body: 'why', isOpen: true, head: second, headBranch: 'three' };
    expect(await host.findPullRequest(api(), one.at, 7)).toMatchObject({ ...own, baseBranch: 'main', fromFork: false });
    expect(await host.findPullRequest(api(), one.at, 8)).toMatchObject({ number: 8, head: forked, fromFork: true });
    expect(await host.findPullRequest(api(), one.at, 9)).toBeUndefined();
    expect((await host.listPullRequests(api(), one.at)).map(({ number }) => number)).toEqual([7, 8]);
  });

  it('the files that differ, under both of their names', async () => {
    expect([...((await host.listChanges(api(), one.at, first, second)) ?? [])].sort()).toEqual(['a.tf', 'b.tf']);
    expect(await host.listChanges(api(), one.at, second, first)).toBeUndefined();
    expect(await host.listProposed(api(), one.at, 7)).toEqual(['ü/a.tf']);
  });

  it('webhooks, statuses, and one comment that is replaced', async () => {
    expect(await host.createHook(api(), one.at, hook)).toBe(one.hookId);
    await host.deleteHook(api(), one.at, one.hookId);
    await host.setStatus(api(), one.at, second, status);
    const id = await host.writeComment(api(), one.at, 7, '<!-- keystead 0a -->\none', null);
    expect(id).toBe(one.commentId);
    expect(await host.writeComment(api(), one.at, 7, '<!-- keystead 0a -->\ntwo', id)).toBe(id);
    expect(await host.findComment(api(), one.at, 7, 'keystead 0a')).toBe(one.commentId);
    expect(await host.findComment(api(), one.at, 7, 'keystead 0b')).toBeUndefined();
    const changing = asked.filter(({ call }) => /^(?:POST|PUT|PATCH)/.test(call));
    expect(changing.map(({ body }) => body)).toEqual(one.sent);
    expect(asked.filter(({ call }) => call.startsWith('DELETE'))).toHaveLength(one.hookId.split(' ').length);
    // Something that is already gone is not a failure.
    await host.deleteHook(api(), one.at, '6');
  });

  it('refusals with the message of the host', async () => {
    const repository = asked.length;
    await host.findRepository(api(), one.at);
    const { call } = asked[repository]!;
    override = {
      [call]: {
        status: 403,
        body: { error: { message: 'no right' }, errors: [{ message: 'no right' }], message: 'no right' },
      },
    };
    await expect(host.findRepository(api(), one.at)).rejects.toMatchObject({
      status: 403,
      message: expect.stringMatching(/no right/),
    });
    override = { [call]: { status: 203, body: {} } };
    await expect(host.findRepository(api(), one.at)).rejects.toBeInstanceOf(HostRefused);
  });
});

describe('the use of credentials at hosts', () => {
  it('the next page of a list does not lead to another address', async () => {
    const asked: string[] = [];
    const api = {
      base: 'https://api.bitbucket.org/2.0',
      find: async (path: string) => {
        asked.push(path);
        return { values: [{ new: { path: 'a.tf' } }], next: 'https://api.bitbucket.org/2.0.evil.example/x' };
      },
    } as unknown as HostApi;
    expect(await hostOf('bitbucket_hosted')!.listChanges(api, 'acme/net', first, second)).toBeUndefined();
    expect(asked).toHaveLength(1);
  });

  it('an incomplete set of subscriptions at Azure DevOps is removed again', async () => {
    const removed: string[] = [];
    const api = {
      get: async () => ({ id: 'r', project: { id: 'p' } }),
      find: async () => undefined,
      call: async (_method: string, _path: string, { eventType }: { eventType: string }) => {
        if (eventType !== 'git.push') throw new HostRefused(403, 'no right');
        return { id: 's-1' };
      },
      remove: async (path: string) => void removed.push(path),
    } as unknown as HostApi;
    await expect(hostOf('ado_server')!.createHook(api, 'acme/p/_git/net', hook)).rejects.toThrow('no right');
    expect(removed).toEqual([`/acme/_apis/hooks/subscriptions/s-1?${version}`]);
  });

  it.each([
    ['gitea', [{ id: 6, config: { url: hook.url } }]],
    ['github', [{ id: 6, config: { url: hook.url } }]],
    ['gitlab_hosted', [{ id: 6, url: hook.url }]],
    ['bitbucket_hosted', { values: [{ uuid: '6', url: hook.url }] }],
    ['bitbucket_data_center', { values: [{ id: 6, url: hook.url }] }],
  ])('a webhook of %s whose creation got no answer is found, not created twice', async (provider, listed) => {
    let found: unknown = listed;
    const made: string[] = [];
    const api = {
      base: '',
      find: async () => found,
      call: async (method: string) => {
        made.push(method);
        return { id: 7, uuid: '7' };
      },
    } as unknown as HostApi;
    const create = () => hostOf(provider)!.createHook(api, 'acme/net', hook);
    expect(await create()).toBe('6');
    expect(made).toEqual([]);
    found = JSON.parse(JSON.stringify(listed).replaceAll(hook.url, `${hook.url}-of-another`));
    expect(await create()).toBe('7');
    found = undefined;
    expect(await create()).toBe('7');
  });

  it('subscriptions at Azure DevOps whose creation got no answer are replaced by complete ones', async () => {
    const removed: string[] = [];
    let made = 0;
    const api = {
      get: async () => ({ id: 'r', project: { id: 'p' } }),
      find: async () => ({
        value: [
          { id: 's-old', consumerInputs: { url: hook.url } },
          { id: 's-other', consumerInputs: { url: 'https://other.test' } },
        ],
      }),
      call: async () => ({ id: `s-${++made}` }),
      remove: async (path: string) => void removed.push(path),
    } as unknown as HostApi;
    expect(await hostOf('ado_server')!.createHook(api, 'acme/p/_git/net', hook)).toBe('s-1 s-2 s-3');
    expect(removed).toEqual([`/acme/_apis/hooks/subscriptions/s-old?${version}`]);
  });

  const size = 50;
  it.each<[string, string, string, unknown, object]>([
    [
      'gitlab_hosted',
      '',
      `/projects?order_by=path&sort=asc&membership=true&page=2&per_page=${size}`,
      [{ path_with_namespace: 'acme/sub/net', path: 'net', visibility: 'internal' }],
      { repositories: [{ identifier: 'acme/sub/net', name: 'net', isPrivate: true }], more: false },
    ],
    [
      'bitbucket_hosted',
      'acme',
      `/repositories/acme?role=member&sort=full_name&page=2&pagelen=${size}`,
      { values: [{ full_name: 'acme/net', slug: 'net', is_private: false }], next: 'https://more' },
      { repositories: [{ identifier: 'acme/net', name: 'net', isPrivate: false }], more: true },
    ],
    [
      'bitbucket_data_center',
      '',
      `https://git.test/rest/api/latest/repos?permission=REPO_READ&start=${size}&limit=${size}`,
      { values: [{ slug: 'net', project: { key: 'ACME' }, public: false }], isLastPage: true },
      { repositories: [{ identifier: 'ACME/net', name: 'net', isPrivate: true }], more: false },
    ],
    [
      'ado_services',
      'acme',
      `/acme/_apis/git/repositories?${version}`,
      {
        value: Array.from({ length: 51 }, (_, at) => ({
          name: `n${at}`,
          project: { name: 'p', visibility: 'private' },
        })),
      },
      { repositories: [{ identifier: 'acme/p/_git/n50', name: 'n50', isPrivate: true }], more: false, total: 51 },
    ],
    [
      'github_app',
      '',
      `/installation/repositories?page=2&per_page=${size}`,
      { total_count: 51, repositories: [{ full_name: 'acme/net', name: 'net', private: true }] },
      { repositories: [{ identifier: 'acme/net', name: 'net', isPrivate: true }], more: false, total: 51 },
    ],
  ])('page 2 of the repositories at %s is read in the host’s format', async (provider, owner, path, answer, listed) => {
    const asked: string[] = [];
    const get = async (at: string) => {
      asked.push(at);
      return answer;
    };
    const api = { base: 'https://git.test', get } as unknown as HostApi;
    expect(await hostOf(provider)!.listRepositories(api, 2, owner)).toEqual(listed);
    expect(asked).toEqual([path]);
  });

  it.each<[string, string, unknown]>([
    [
      'gitlab_hosted',
      'acme/net',
      [
        { type: 'tree', path: 'modules' },
        { type: 'blob', path: 'main.tf' },
      ],
    ],
    [
      'bitbucket_hosted',
      'acme/net',
      {
        values: [
          { type: 'commit_directory', path: 'modules' },
          { type: 'commit_file', path: 'main.tf' },
        ],
      },
    ],
    [
      'bitbucket_data_center',
      'ACME/net',
      {
        children: {
          values: [
            { type: 'DIRECTORY', path: { toString: 'modules' } },
            { type: 'FILE', path: { toString: 'main.tf' } },
          ],
        },
      },
    ],
    [
      'ado_services',
      'acme/p/_git/net',
      { value: [{ isFolder: true, path: '/' }, { isFolder: true, path: '/modules' }, { path: '/main.tf' }] },
    ],
    [
      'github',
      'acme/net',
      [
        { type: 'dir', path: 'modules' },
        { type: 'file', path: 'main.tf' },
      ],
    ],
  ])('the folders of a commit at %s are distinguished from its files', async (provider, at, answer) => {
    const read = async (path: string) => (path.includes(first) ? answer : undefined);
    const api = { base: 'https://git.test', find: read, get: read } as unknown as HostApi;
    expect(await hostOf(provider)!.listFolders(api, at, first)).toEqual(['modules']);
  });

  it('repositories at Azure DevOps need an organization', async () => {
    const api = new HostApi('https://git.test', {}, directly(new Reach()));
    await expect(hostOf('ado_server')!.listRepositories(api, 1, '')).rejects.toMatchObject({ status: 400 });
  });

  it('identifiers in another format are not repositories', async () => {
    const api = new HostApi('https://git.test', {}, directly(new Reach()));
    await expect(hostOf('ado_server')!.findRepository(api, 'acme/net')).rejects.toMatchObject({ status: 404 });
    await expect(hostOf('bitbucket_server')!.findRepository(api, 'a/b/c')).rejects.toMatchObject({ status: 404 });
  });

  it.each([
    ['gitea', 'acme/..', 'main'],
    ['gitea', '../user', 'main'],
    ['github', 'acme/net', '../../..'],
    ['gitlab_hosted', 'acme/net', '..'],
    ['bitbucket_hosted', '../user', 'main'],
    ['bitbucket_data_center', 'ACME/..', 'main'],
    ['ado_services', 'acme/../_git/net', 'main'],
  ])('names at %s with dot segments (%s, %s) lead to no other address', async (provider, identifier, branch) => {
    const host = hostOf(provider)!;
    const asked: string[] = [];
    const api = new HostApi('https://git.test/api', {}, async (url) => {
      asked.push(url);
      return { status: 200, headers: {}, json: { id: 1, commit: { id: first } }, retryAfterSeconds: 0 } as never;
    });
    await host.findRepository(api, identifier).catch(() => undefined);
    await host.findHead(api, identifier, branch).catch(() => undefined);
    await host.findTag(api, identifier, branch).catch(() => undefined);
    await host.findCommit(api, identifier, branch).catch(() => undefined);
    expect(asked.map((url) => new URL(url).href)).toEqual(asked);
  });

  it('Git gets each kind of credential in the form its host accepts', () => {
    const given = (provider: string, token: string) =>
      hostOf(provider)!
        .gitAuthorization(token)
        .replace(/Basic (.*)$/, (_, text: string) => Buffer.from(text, 'base64').toString());
    expect(given('bitbucket_hosted', 'access')).toBe('Authorization: x-token-auth:access');
    expect(given('bitbucket_hosted', 'grace:app:word')).toBe('Authorization: grace:app:word');
    expect(given('bitbucket_hosted', 'grace@example.com:t')).toBe('Authorization: x-bitbucket-api-token-auth:t');
    expect(given('bitbucket_data_center', 'access')).toBe('Authorization: Bearer access');
    expect(given('ado_services', 'pat')).toBe('Authorization: :pat');
    expect(given('ado_services', 'eyJhbGciOi.eyJzdWIi.c2ln')).toBe('Authorization: Bearer eyJhbGciOi.eyJzdWIi.c2ln');
  });
});
