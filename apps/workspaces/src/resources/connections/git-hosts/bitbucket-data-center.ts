import { buildKey, shownText } from './bitbucket';
import type { GitHost, HostCommit, HostTag, PullRequest } from './git-host';
import { type HostApi, HostRefused } from './host-api';
import { findHook } from './known-hook';
import {
  addressBelow,
  cloneAddress,
  header,
  idOfFirst,
  listAt,
  mostPages,
  moved,
  pathsIn,
  repositoriesPerPage,
  signedIn,
  textAt,
  textOrNull,
  at as valueAt,
} from './reading';

const part = encodeURIComponent;

/** The states of a commit in the words of Bitbucket. */
const states = { pending: 'INPROGRESS', success: 'SUCCESSFUL', failure: 'FAILED', error: 'FAILED' } as const;

/** The base URL of its APIs. A connection may contain the URL of one API or only the host. */
const root = ({ base }: HostApi): string => base.replace(/\/rest(?:\/[\w.-]+){0,2}$/, '');

/** The address of a repository, `PROJECT/repository` or `~person/repository`. */
function repo(api: HostApi, identifier: string): string {
  const [project = '', name = '', ...more] = identifier.split('/');
  if (project === '' || name === '' || more.length > 0) {
    throw new HostRefused(404, 'the identifier must have the form PROJECT/repository');
  }
  return `${root(api)}/rest/api/latest/projects/${part(project)}/repos/${part(name)}`;
}

const shownCommit = (api: HostApi, at: string, json: unknown): HostCommit => {
  const [project = '', name = ''] = at.split('/');
  const sha = textAt(json, 'id');
  const place = project.startsWith('~') ? `users/${part(project.slice(1))}` : `projects/${part(project)}`;
  return {
    sha,
    message: textAt(json, 'message'),
    url: `${root(api)}/${place}/repos/${part(name)}/commits/${sha}`,
    author: textAt(json, 'author', 'slug') || textAt(json, 'author', 'name'),
  };
};

/** Every page of a list; undefined if there are too many pages, or the list does not exist. */
async function everyPage(api: HostApi, url: string): Promise<readonly unknown[] | undefined> {
  const all: unknown[] = [];
  let start = '0';
  for (let page = 0; page < mostPages; page++) {
    const json = await api.find(`${url}${url.includes('?') ? '&' : '?'}limit=100&start=${part(start)}`);
    if (json === undefined) return undefined;
    all.push(...listAt(json, 'values'));
    start = textAt(json, 'nextPageStart');
    if (valueAt(json, 'isLastPage') !== false || start === '') return all;
  }
  return undefined;
}

async function findCommit(api: HostApi, at: string, sha: string): Promise<HostCommit | undefined> {
  const json = await api.find(`${repo(api, at)}/commits/${part(sha)}`);
  return json === undefined ? undefined : shownCommit(api, at, json);
}

/** A branch or a tag with exactly this name, searched among those whose names contain it. */
async function findRef(api: HostApi, at: string, kind: 'branches' | 'tags', name: string) {
  const found = await everyPage(api, `${repo(api, at)}/${kind}?filterText=${part(name)}&orderBy=ALPHABETICAL`);
  const sha = textAt(
    found?.find((one) => textAt(one, 'displayId') === name),
    'latestCommit',
  );
  return sha === '' ? undefined : findCommit(api, at, sha);
}

const pullRequestOf = (json: unknown): PullRequest => ({
  number: Number(textAt(json, 'id')),
  title: textAt(json, 'title'),
  body: textAt(json, 'description'),
  url: textAt(json, 'links', 'self', 0, 'href'),
  isOpen: textAt(json, 'state') === 'OPEN',
  head: textAt(json, 'fromRef', 'latestCommit'),
  headBranch: textAt(json, 'fromRef', 'displayId'),
  baseBranch: textAt(json, 'toRef', 'displayId'),
  fromFork: textAt(json, 'fromRef', 'repository', 'id') !== textAt(json, 'toRef', 'repository', 'id'),
});

const pathsOf = (files: readonly unknown[]) => pathsIn(files, ['path', 'toString'], ['srcPath', 'toString']);

/** The REST API of Bitbucket Data Center (`https://bitbucket.example.com`). */
export const bitbucketDataCenter: GitHost = {
  oauth: {
    authorize: (http) => addressBelow(http, '/rest/oauth2/latest/authorize'),
    exchange: (http) => addressBelow(http, '/rest/oauth2/latest/token'),
    scope: 'REPO_ADMIN',
    pkce: true,
    basic: false,
  },
  authorization: (token) => ({ authorization: `Bearer ${token}` }),

  async findRepository(api, at) {
    const json = await api.get(repo(api, at));
    const http = listAt(json, 'links', 'clone').find((one) => textAt(one, 'name') === 'http');
    const branch = await api.find(`${repo(api, at)}/default-branch`);
    return {
      id: textAt(json, 'id'),
      identifier: `${textAt(json, 'project', 'key')}/${textAt(json, 'slug')}`,
      httpUrl: textAt(json, 'links', 'self', 0, 'href').replace(/\/browse$/, ''),
      cloneUrl: cloneAddress(textAt(http, 'href')),
      defaultBranch: textAt(branch, 'displayId'),
    };
  },

  async listRepositories(api, page) {
    const from = `start=${(page - 1) * repositoriesPerPage}&limit=${repositoriesPerPage}`;
    const json = await api.get(`${root(api)}/rest/api/latest/repos?permission=REPO_READ&${from}`);
    return {
      repositories: listAt(json, 'values').map((one) => ({
        identifier: `${textAt(one, 'project', 'key')}/${textAt(one, 'slug')}`,
        name: textAt(one, 'slug'),
        isPrivate: valueAt(one, 'public') !== true,
      })),
      more: valueAt(json, 'isLastPage') === false,
    };
  },

  async listFolders(api, at, sha) {
    const entries = listAt(await api.find(`${repo(api, at)}/browse?at=${sha}&limit=1000`), 'children', 'values');
    const folders = entries.filter((one) => textAt(one, 'type') === 'DIRECTORY');
    return folders.map((one) => textAt(one, 'path', 'toString'));
  },

  findHead: (api, at, branch) => findRef(api, at, 'branches', branch),

  findTag: (api, at, tag) => findRef(api, at, 'tags', tag),

  async listTags(api, at) {
    const tags = (await everyPage(api, `${repo(api, at)}/tags?orderBy=MODIFICATION`)) ?? [];
    return tags.map((one): HostTag => ({ name: textAt(one, 'displayId'), sha: textAt(one, 'latestCommit') }));
  },

  findCommit,

  async findPullRequest(api, at, number) {
    const json = await api.find(`${repo(api, at)}/pull-requests/${number}`);
    return json === undefined ? undefined : pullRequestOf(json);
  },

  async listPullRequests(api, at) {
    return ((await everyPage(api, `${repo(api, at)}/pull-requests?state=OPEN`)) ?? []).map(pullRequestOf);
  },

  async listChanges(api, at, base, head) {
    const files = await everyPage(api, `${repo(api, at)}/commits/${head}/changes?since=${base}`);
    return files && pathsOf(files);
  },

  async listProposed(api, at, number) {
    const files = await everyPage(api, `${repo(api, at)}/pull-requests/${number}/changes`);
    return files && pathsOf(files);
  },

  async createHook(api, at, { url, secret }) {
    const listed = { list: ['values'], url: ['url'], id: ['id'] };
    const existing = await findHook(api, `${repo(api, at)}/webhooks?limit=100`, url, listed);
    if (existing !== undefined) return existing;
    const events = ['repo:refs_changed', 'pr:opened', 'pr:from_ref_updated', 'pr:modified'];
    const hook = { name: 'Keystead', url, active: true, events, configuration: { secret } };
    return textAt(await api.call('POST', `${repo(api, at)}/webhooks`, hook), 'id');
  },

  deleteHook: (api, at, id) => api.remove(`${repo(api, at)}/webhooks/${part(id)}`),

  isGenuine: signedIn('x-hub-signature'),

  deliveryId: (headers) => header(headers, 'x-request-id') || undefined,

  eventsOf(headers, body) {
    const sender = {
      username: textAt(body, 'actor', 'slug') || textAt(body, 'actor', 'name'),
      avatarUrl: null,
      url: textOrNull(body, 'actor', 'links', 'self', 0, 'href'),
    };
    const event = header(headers, 'x-event-key');
    if (event === 'repo:refs_changed') {
      const about = { repositoryId: textAt(body, 'repository', 'id'), sender };
      return listAt(body, 'changes').flatMap((change) =>
        moved(
          about,
          textAt(change, 'ref', 'id') || textAt(change, 'refId'),
          textAt(change, 'fromHash'),
          textAt(change, 'toHash'),
        ),
      );
    }
    const repositoryId = textAt(body, 'pullRequest', 'toRef', 'repository', 'id');
    const number = Number(textAt(body, 'pullRequest', 'id'));
    return event.startsWith('pr:') && number > 0 ? [{ repositoryId, sender, kind: 'pull-request', number }] : [];
  },

  async setStatus(api, _at, sha, { state, context, description, url }) {
    const status = { key: buildKey(context), state: states[state], name: context, description, url };
    await api.call('POST', `${root(api)}/rest/build-status/latest/commits/${sha}`, status);
  },

  async findComment(api, at, number, text) {
    // The newest activities come first.
    const activities = await everyPage(api, `${repo(api, at)}/pull-requests/${number}/activities`);
    return idOfFirst(activities && [...activities].reverse(), text, ['comment', 'text'], ['comment', 'id']);
  },

  async writeComment(api, at, number, text, id) {
    const comments = `${repo(api, at)}/pull-requests/${number}/comments`;
    const comment = id === null ? undefined : await api.find(`${comments}/${part(id)}`);
    if (id !== null && comment !== undefined) {
      const version = Number(textAt(comment, 'version'));
      await api.call('PUT', `${comments}/${part(id)}`, { text: shownText(text), version });
      return id;
    }
    return textAt(await api.call('POST', comments, { text: shownText(text) }), 'id');
  },

  gitAuthorization: (token) => `Authorization: Bearer ${token}`,
};
