import { buildKey, shownText } from './bitbucket';
import type { GitHost, HostCommit, HostTag, PullRequest } from './git-host';
import type { HostApi } from './host-api';
import { findHook } from './known-hook';
import {
  addressBelow,
  basic,
  cloneAddress,
  header,
  idOfFirst,
  listAt,
  mostPages,
  moved,
  pathsIn,
  repositoriesPerPage,
  segments,
  signedIn,
  textAt,
  textOrNull,
  at as valueAt,
} from './reading';

const repo = (identifier: string): string => `/repositories/${segments(identifier)}`;
const part = encodeURIComponent;

/** The states of a commit in the words of Bitbucket. */
const states = { pending: 'INPROGRESS', success: 'SUCCESSFUL', failure: 'FAILED', error: 'STOPPED' } as const;

const shownCommit = (json: unknown): HostCommit => ({
  sha: textAt(json, 'hash'),
  message: textAt(json, 'message'),
  url: textAt(json, 'links', 'html', 'href'),
  author: textAt(json, 'author', 'user', 'display_name') || textAt(json, 'author', 'raw').replace(/ <.*$/, ''),
});

/**
 * All pages of a list, following the links of the host; they may not lead to another host. Undefined if there are too
 * many.
 */
async function everyPage(api: HostApi, path: string): Promise<readonly unknown[] | undefined> {
  const all: unknown[] = [];
  let next = path;
  for (let page = 0; page < mostPages; page++) {
    const json = await api.find(next);
    if (json === undefined) return undefined;
    all.push(...listAt(json, 'values'));
    next = textAt(json, 'next');
    if (next === '') return all;
    if (!next.startsWith(`${api.base}/`)) return undefined;
  }
  return undefined;
}

/** A branch or a tag with exactly this name; names with slashes cannot be part of an address. */
async function findRef(api: HostApi, at: string, kind: 'branches' | 'tags', name: string): Promise<unknown> {
  const query = part(`name = "${name.replace(/["\\]/g, '\\$&')}"`);
  const found = listAt(await api.find(`${repo(at)}/refs/${kind}?q=${query}`), 'values');
  return found.find((one) => textAt(one, 'name') === name);
}

async function findCommit(api: HostApi, at: string, sha: string): Promise<HostCommit | undefined> {
  const json = await api.find(`${repo(at)}/commit/${part(sha)}`);
  return json === undefined ? undefined : shownCommit(json);
}

/** A pull request. It contains its commit as a short hash, which only the source repository can resolve. */
async function pullRequestOf(api: HostApi, json: unknown): Promise<PullRequest | undefined> {
  const from = textAt(json, 'source', 'repository', 'full_name');
  const fromFork = textAt(json, 'source', 'repository', 'uuid') !== textAt(json, 'destination', 'repository', 'uuid');
  const short = textAt(json, 'source', 'commit', 'hash');
  // The commits of a fork are deleted with it.
  const commit = from === '' || short === '' ? undefined : await findCommit(api, from, short);
  if (commit === undefined) return undefined;
  const clone = fromFork ? cloneAddress(`${textAt(json, 'source', 'repository', 'links', 'html', 'href')}.git`) : '';
  return {
    number: Number(textAt(json, 'id')),
    title: textAt(json, 'title'),
    body: textAt(json, 'summary', 'raw') || textAt(json, 'description'),
    url: textAt(json, 'links', 'html', 'href'),
    isOpen: textAt(json, 'state') === 'OPEN',
    head: commit.sha,
    headBranch: textAt(json, 'source', 'branch', 'name'),
    baseBranch: textAt(json, 'destination', 'branch', 'name'),
    fromFork,
    ...(fromFork ? { from: { identifier: from, cloneUrl: clone } } : {}),
  };
}

/** The API of Bitbucket Cloud, version 2.0 (`https://api.bitbucket.org/2.0`). */
export const bitbucketCloud: GitHost = {
  oauth: {
    authorize: (http) => addressBelow(http, '/site/oauth2/authorize'),
    exchange: (http) => addressBelow(http, '/site/oauth2/access_token'),
    scope: null,
    pkce: false,
    basic: true,
    person: { path: '/user', name: 'display_name' },
  },
  // A token with a name before it is a user's API token or an app password. Without a name, it is an access token or
  // OAuth token.
  authorization: (token) => ({
    authorization: token.includes(':') ? `Basic ${Buffer.from(token).toString('base64')}` : `Bearer ${token}`,
  }),

  async findRepository(api, at) {
    const json = await api.get(repo(at));
    const https = listAt(json, 'links', 'clone').find((one) => textAt(one, 'name') === 'https');
    return {
      id: textAt(json, 'uuid'),
      identifier: textAt(json, 'full_name'),
      httpUrl: textAt(json, 'links', 'html', 'href'),
      cloneUrl: cloneAddress(textAt(https, 'href')),
      defaultBranch: textAt(json, 'mainbranch', 'name'),
    };
  },

  async listRepositories(api, page, owner) {
    const of = owner === '' ? '/repositories' : `/repositories/${part(owner)}`;
    const json = await api.get(`${of}?role=member&sort=full_name&page=${page}&pagelen=${repositoriesPerPage}`);
    return {
      repositories: listAt(json, 'values').map((one) => ({
        identifier: textAt(one, 'full_name'),
        name: textAt(one, 'slug') || textAt(one, 'name'),
        isPrivate: valueAt(one, 'is_private') === true,
      })),
      more: textAt(json, 'next') !== '',
    };
  },

  async listFolders(api, at, sha) {
    const entries = (await everyPage(api, `${repo(at)}/src/${sha}/?pagelen=100`)) ?? [];
    return entries.filter((one) => textAt(one, 'type') === 'commit_directory').map((one) => textAt(one, 'path'));
  },

  async findHead(api, at, branch) {
    const found = valueAt(await findRef(api, at, 'branches', branch), 'target');
    return found === undefined ? undefined : shownCommit(found);
  },

  async findTag(api, at, tag) {
    const found = valueAt(await findRef(api, at, 'tags', tag), 'target');
    return found === undefined ? undefined : shownCommit(found);
  },

  async listTags(api, at) {
    const tags = (await everyPage(api, `${repo(at)}/refs/tags?pagelen=100&sort=-target.date`)) ?? [];
    return tags.map((one): HostTag => ({ name: textAt(one, 'name'), sha: textAt(one, 'target', 'hash') }));
  },

  findCommit,

  async findPullRequest(api, at, number) {
    const json = await api.find(`${repo(at)}/pullrequests/${number}`);
    return json === undefined ? undefined : pullRequestOf(api, json);
  },

  async listPullRequests(api, at) {
    const open = (await everyPage(api, `${repo(at)}/pullrequests?state=OPEN&pagelen=50`)) ?? [];
    const found: PullRequest[] = [];
    for (const json of open) {
      const pull = await pullRequestOf(api, json);
      if (pull) found.push(pull);
    }
    return found;
  },

  async listChanges(api, at, base, head) {
    const files = await everyPage(api, `${repo(at)}/diffstat/${part(`${head}..${base}`)}?topic=false&pagelen=500`);
    return files && pathsIn(files, ['new', 'path'], ['old', 'path']);
  },

  async listProposed(api, at, number) {
    const json = await api.find(`${repo(at)}/pullrequests/${number}`);
    const [from, to] = [textAt(json, 'source', 'commit', 'hash'), textAt(json, 'destination', 'commit', 'hash')];
    // The target repository does not have all commits of a fork.
    if (textAt(json, 'source', 'repository', 'full_name') !== textAt(json, 'destination', 'repository', 'full_name')) {
      return undefined;
    }
    if (from === '' || to === '') return undefined;
    const files = await everyPage(api, `${repo(at)}/diffstat/${part(`${from}..${to}`)}?topic=true&pagelen=500`);
    return files && pathsIn(files, ['new', 'path'], ['old', 'path']);
  },

  async createHook(api, at, { url, secret }) {
    const listed = { list: ['values'], url: ['url'], id: ['uuid'] };
    const existing = await findHook(api, `${repo(at)}/hooks?pagelen=100`, url, listed);
    if (existing !== undefined) return existing;
    const events = ['repo:push', 'pullrequest:created', 'pullrequest:updated'];
    const hook = { description: 'Keystead', url, active: true, secret, events };
    return textAt(await api.call('POST', `${repo(at)}/hooks`, hook), 'uuid');
  },

  deleteHook: (api, at, id) => api.remove(`${repo(at)}/hooks/${part(id)}`),

  isGenuine: signedIn('x-hub-signature'),

  deliveryId: (headers) => header(headers, 'x-request-uuid') || undefined,

  eventsOf(headers, body) {
    const sender = {
      username: textAt(body, 'actor', 'nickname') || textAt(body, 'actor', 'display_name'),
      avatarUrl: textOrNull(body, 'actor', 'links', 'avatar', 'href'),
      url: textOrNull(body, 'actor', 'links', 'html', 'href'),
    };
    const about = { repositoryId: textAt(body, 'repository', 'uuid'), sender };
    const event = header(headers, 'x-event-key');
    if (event === 'repo:push') {
      return listAt(body, 'push', 'changes').flatMap((change) => {
        const named = valueAt(change, 'new') ?? valueAt(change, 'old');
        const folder = { branch: 'refs/heads/', tag: 'refs/tags/' }[textAt(named, 'type')] ?? '';
        const [before, after] = [textAt(change, 'old', 'target', 'hash'), textAt(change, 'new', 'target', 'hash')];
        return moved(about, folder + textAt(named, 'name'), before, after);
      });
    }
    const number = Number(textAt(body, 'pullrequest', 'id'));
    return event.startsWith('pullrequest:') && number > 0 ? [{ ...about, kind: 'pull-request', number }] : [];
  },

  async setStatus(api, at, sha, { state, context, description, url }) {
    const status = { key: buildKey(context), state: states[state], name: context, description, url };
    await api.call('POST', `${repo(at)}/commit/${sha}/statuses/build`, status);
  },

  async findComment(api, at, number, text) {
    const comments = await everyPage(api, `${repo(at)}/pullrequests/${number}/comments?sort=created_on&pagelen=100`);
    const living = comments?.filter((one) => valueAt(one, 'deleted') !== true);
    return idOfFirst(living, text, ['content', 'raw'], ['id']);
  },

  async writeComment(api, at, number, text, id) {
    const comments = `${repo(at)}/pullrequests/${number}/comments`;
    const content = { content: { raw: shownText(text) } };
    if (id !== null) {
      const comment = await api.find(`${comments}/${part(id)}`);
      if (comment !== undefined && valueAt(comment, 'deleted') !== true) {
        await api.call('PUT', `${comments}/${part(id)}`, content);
        return id;
      }
    }
    return textAt(await api.call('POST', comments, content), 'id');
  },

  gitAuthorization(token) {
    if (!token.includes(':')) return basic('x-token-auth', token);
    const [name = '', ...rest] = token.split(':');
    // For Git, an API token needs this user name, which is the same for everyone.
    return basic(name.includes('@') ? 'x-bitbucket-api-token-auth' : name, rest.join(':'));
  },
};
