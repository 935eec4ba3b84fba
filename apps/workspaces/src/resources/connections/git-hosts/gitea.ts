import type { GitHost, HostCommit, PullRequest, RepositoryPage } from './git-host';
import type { HostApi } from './host-api';
import { findHook } from './known-hook';
import {
  addressBelow,
  basic,
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

/** The path of a repository, the same as in GitHub's API. */
export const repo = (identifier: string): string => `/repos/${segments(identifier)}`;
const pageSize = 50;

/** A commit, in the same form as in GitHub's API. */
export function commitOf(json: unknown): HostCommit {
  return {
    sha: textAt(json, 'sha'),
    message: textAt(json, 'commit', 'message'),
    url: textAt(json, 'html_url'),
    author: textAt(json, 'author', 'login') || textAt(json, 'commit', 'author', 'name'),
  };
}

/** A pull request, in the same form as in GitHub's API. */
function pullRequestOf(json: unknown): PullRequest {
  const [from, to] = [textAt(json, 'head', 'repo', 'id'), textAt(json, 'base', 'repo', 'id')];
  return {
    number: Number(textAt(json, 'number')),
    title: textAt(json, 'title'),
    body: textAt(json, 'body'),
    url: textAt(json, 'html_url'),
    isOpen: textAt(json, 'state') === 'open',
    head: textAt(json, 'head', 'sha'),
    headBranch: textAt(json, 'head', 'ref'),
    baseBranch: textAt(json, 'base', 'ref'),
    // A deleted repository is treated as a fork.
    fromFork: from === '' || from !== to,
  };
}

/** Every page of a list; undefined if there are too many pages. */
export async function everyPage(api: HostApi, path: string, size = pageSize): Promise<readonly unknown[] | undefined> {
  const all: unknown[] = [];
  for (let page = 1; page <= mostPages; page++) {
    const items = listAt(
      await api.get(`${path}${path.includes('?') ? '&' : '?'}page=${page}&limit=${size}&per_page=${size}`),
    );
    all.push(...items);
    if (items.length < size) return all;
  }
  return undefined;
}

/** A page of repositories, in the same form as in GitHub's API. */
export const repositoriesIn = (list: readonly unknown[]): RepositoryPage => ({
  repositories: list.map((one) => ({
    identifier: textAt(one, 'full_name'),
    name: textAt(one, 'name'),
    isPrivate: valueAt(one, 'private') === true,
  })),
  more: list.length === repositoriesPerPage,
});

/** Paths of files, named as in GitHub's API. */
export const pathsOf = (files: readonly unknown[]): string[] => pathsIn(files, ['filename'], ['previous_filename']);

async function findCommit(api: HostApi, at: string, sha: string): Promise<HostCommit | undefined> {
  const json = await api.find(`${repo(at)}/git/commits/${encodeURIComponent(sha)}`);
  return json === undefined ? undefined : commitOf(json);
}

/** The events in a delivery, by its event name, which GitHub sends in another header. */
export function eventsNamed(event: string, body: unknown): ReturnType<GitHost['eventsOf']> {
  const sender = {
    username: textAt(body, 'sender', 'login'),
    avatarUrl: textOrNull(body, 'sender', 'avatar_url'),
    url: textOrNull(body, 'sender', 'html_url'),
  };
  const about = { repositoryId: textAt(body, 'repository', 'id'), sender };
  if (event === 'push') return moved(about, textAt(body, 'ref'), textAt(body, 'before'), textAt(body, 'after'));
  const number = Number(textAt(body, 'number'));
  return event.startsWith('pull_request') && number > 0 ? [{ ...about, kind: 'pull-request', number }] : [];
}

/** The API of Gitea and Forgejo, version 1 (`https://host/api/v1`). */
export const gitea: GitHost = {
  oauth: {
    authorize: (http) => addressBelow(http, '/login/oauth/authorize'),
    exchange: (http) => addressBelow(http, '/login/oauth/access_token'),
    scope: 'write:repository write:issue read:user',
    pkce: true,
    basic: false,
    person: { path: '/user', name: 'login' },
  },
  authorization: (token) => ({ authorization: `token ${token}` }),

  async findRepository(api, at) {
    const json = await api.get(repo(at));
    return {
      id: textAt(json, 'id'),
      identifier: textAt(json, 'full_name'),
      httpUrl: textAt(json, 'html_url'),
      cloneUrl: textAt(json, 'clone_url'),
      defaultBranch: textAt(json, 'default_branch'),
    };
  },

  async listRepositories(api, page) {
    const size = repositoriesPerPage;
    return repositoriesIn(listAt(await api.get(`/user/repos?page=${page}&limit=${size}&per_page=${size}`)));
  },

  async listFolders(api, at, sha) {
    const entries = listAt(await api.find(`${repo(at)}/contents?ref=${sha}`));
    return entries.filter((one) => textAt(one, 'type') === 'dir').map((one) => textAt(one, 'path'));
  },

  async findHead(api, at, branch) {
    const json = await api.find(`${repo(at)}/branches/${segments(branch)}`);
    const sha = textAt(json, 'commit', 'id');
    return sha === '' ? undefined : findCommit(api, at, sha);
  },

  async findTag(api, at, tag) {
    const json = await api.find(`${repo(at)}/tags/${segments(tag)}`);
    const sha = textAt(json, 'commit', 'sha');
    return sha === '' ? undefined : findCommit(api, at, sha);
  },

  async listTags(api, at) {
    const tags = (await everyPage(api, `${repo(at)}/tags`)) ?? [];
    return tags.map((one) => ({ name: textAt(one, 'name'), sha: textAt(one, 'commit', 'sha') }));
  },

  findCommit,

  async findPullRequest(api, at, number) {
    const json = await api.find(`${repo(at)}/pulls/${number}`);
    return json === undefined ? undefined : pullRequestOf(json);
  },

  async listPullRequests(api, at) {
    return ((await everyPage(api, `${repo(at)}/pulls?state=open`)) ?? []).map(pullRequestOf);
  },

  async listChanges(api, at, base, head) {
    // Each commit lists its files. Commits that were dropped from the branch also change files, but are not listed, so
    // in this case the result is undefined.
    const back = await api.find(`${repo(at)}/compare/${head}...${base}`);
    const forth = await api.find(`${repo(at)}/compare/${base}...${head}`);
    if (back === undefined || forth === undefined || listAt(back, 'commits').length > 0) return undefined;
    const commits = listAt(forth, 'commits');
    if (Number(textAt(forth, 'total_commits')) !== commits.length) return undefined;
    if (commits.some((commit) => !Array.isArray(valueAt(commit, 'files')))) return undefined;
    return pathsOf(commits.flatMap((commit) => listAt(commit, 'files')));
  },

  async listProposed(api, at, number) {
    const files = await everyPage(api, `${repo(at)}/pulls/${number}/files`);
    return files && pathsOf(files);
  },

  async createHook(api, at, { url, secret }) {
    const hook = await findHook(api, `${repo(at)}/hooks?limit=50`, url, { url: ['config', 'url'], id: ['id'] });
    if (hook !== undefined) return hook;
    const config = { url, content_type: 'json', secret };
    const events = ['push', 'pull_request', 'pull_request_sync'];
    const json = await api.call('POST', `${repo(at)}/hooks`, { type: 'gitea', active: true, events, config });
    return textAt(json, 'id');
  },

  deleteHook: (api, at, id) => api.remove(`${repo(at)}/hooks/${encodeURIComponent(id)}`),

  isGenuine: signedIn('x-gitea-signature'),

  deliveryId: (headers) => header(headers, 'x-gitea-delivery') || undefined,

  eventsOf: (headers, body) => eventsNamed(header(headers, 'x-gitea-event'), body),

  async setStatus(api, at, sha, { state, context, description, url }) {
    await api.call('POST', `${repo(at)}/statuses/${sha}`, { state, context, description, target_url: url });
  },

  async findComment(api, at, number, text) {
    // The list has no pages; it contains all comments.
    return idOfFirst(listAt(await api.find(`${repo(at)}/issues/${number}/comments`)), text, ['body'], ['id']);
  },

  async writeComment(api, at, number, body, id) {
    if (id !== null) {
      const comment = await api.find(`${repo(at)}/issues/comments/${encodeURIComponent(id)}`);
      if (comment !== undefined) {
        await api.call('PATCH', `${repo(at)}/issues/comments/${encodeURIComponent(id)}`, { body });
        return id;
      }
    }
    return textAt(await api.call('POST', `${repo(at)}/issues/${number}/comments`, { body }), 'id');
  },

  gitAuthorization: (token) => basic('oauth2', token),
};
