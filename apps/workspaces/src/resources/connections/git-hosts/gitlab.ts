import type { GitHost, HostCommit, PullRequest } from './git-host';
import { everyPage } from './gitea';
import { type HostApi, HostRefused } from './host-api';
import { findHook } from './known-hook';
import {
  addressBelow,
  basic,
  header,
  idOfFirst,
  listAt,
  moved,
  pathsIn,
  repositoriesPerPage,
  sameSecret,
  textAt,
  textOrNull,
  at as valueAt,
} from './reading';

const project = (identifier: string): string => `/projects/${encodeURIComponent(identifier)}`;
const part = encodeURIComponent;

/** The states of a commit in the words of GitLab. */
const states = new Map([
  ['pending', 'pending'],
  ['success', 'success'],
  ['failure', 'failed'],
  ['error', 'failed'],
]);

const shownCommit = (json: unknown): HostCommit => ({
  sha: textAt(json, 'id'),
  message: textAt(json, 'message'),
  url: textAt(json, 'web_url'),
  author: textAt(json, 'author_name'),
});

const pullRequestOf = (json: unknown): PullRequest => ({
  number: Number(textAt(json, 'iid')),
  title: textAt(json, 'title'),
  body: textAt(json, 'description'),
  url: textAt(json, 'web_url'),
  isOpen: textAt(json, 'state') === 'opened',
  head: textAt(json, 'sha'),
  headBranch: textAt(json, 'source_branch'),
  baseBranch: textAt(json, 'target_branch'),
  fromFork: textAt(json, 'source_project_id') !== textAt(json, 'target_project_id'),
});

const pathsOf = (files: readonly unknown[]): string[] => pathsIn(files, ['new_path'], ['old_path']);

async function findCommit(api: HostApi, at: string, ref: string): Promise<HostCommit | undefined> {
  const json = await api.find(`${project(at)}/repository/commits/${part(ref)}`);
  return json === undefined ? undefined : shownCommit(json);
}

/** The API of GitLab, hosted or self-managed, version 4 (`https://host/api/v4`). */
export const gitlab: GitHost = {
  oauth: {
    authorize: (http) => addressBelow(http, '/oauth/authorize'),
    exchange: (http) => addressBelow(http, '/oauth/token'),
    scope: 'api',
    pkce: true,
    basic: false,
    person: { path: '/user', name: 'username' },
  },
  authorization: (token) => ({ authorization: `Bearer ${token}` }),

  async findRepository(api, at) {
    const json = await api.get(project(at));
    return {
      id: textAt(json, 'id'),
      identifier: textAt(json, 'path_with_namespace'),
      httpUrl: textAt(json, 'web_url'),
      cloneUrl: textAt(json, 'http_url_to_repo'),
      defaultBranch: textAt(json, 'default_branch'),
    };
  },

  async listRepositories(api, page) {
    const order = 'order_by=path&sort=asc&membership=true';
    const found = listAt(await api.get(`/projects?${order}&page=${page}&per_page=${repositoriesPerPage}`));
    return {
      repositories: found.map((one) => ({
        identifier: textAt(one, 'path_with_namespace'),
        name: textAt(one, 'path'),
        isPrivate: textAt(one, 'visibility') !== 'public',
      })),
      more: found.length === repositoriesPerPage,
    };
  },

  async listFolders(api, at, sha) {
    const entries = (await everyPage(api, `${project(at)}/repository/tree?ref=${sha}`)) ?? [];
    return entries.filter((one) => textAt(one, 'type') === 'tree').map((one) => textAt(one, 'path'));
  },

  async findHead(api, at, branch) {
    const json = valueAt(await api.find(`${project(at)}/repository/branches/${part(branch)}`), 'commit');
    return json === undefined ? undefined : shownCommit(json);
  },

  async findTag(api, at, tag) {
    const json = valueAt(await api.find(`${project(at)}/repository/tags/${part(tag)}`), 'commit');
    return json === undefined ? undefined : shownCommit(json);
  },

  async listTags(api, at) {
    const tags = (await everyPage(api, `${project(at)}/repository/tags?order_by=updated&sort=desc`)) ?? [];
    return tags.map((one) => ({ name: textAt(one, 'name'), sha: textAt(one, 'commit', 'id') }));
  },

  findCommit,

  async findPullRequest(api, at, number) {
    const json = await api.find(`${project(at)}/merge_requests/${number}`);
    return json === undefined ? undefined : pullRequestOf(json);
  },

  async listPullRequests(api, at) {
    return ((await everyPage(api, `${project(at)}/merge_requests?state=opened`)) ?? []).map(pullRequestOf);
  },

  async listChanges(api, at, base, head) {
    const json = await api.find(`${project(at)}/repository/compare?from=${base}&to=${head}&straight=true`);
    const diffs = valueAt(json, 'diffs');
    if (!Array.isArray(diffs) || valueAt(json, 'compare_timeout') === true) return undefined;
    return pathsOf(diffs);
  },

  async listProposed(api, at, number) {
    const files = await everyPage(api, `${project(at)}/merge_requests/${number}/diffs`);
    return files && pathsOf(files);
  },

  async createHook(api, at, { url, secret }) {
    const hook = await findHook(api, `${project(at)}/hooks?per_page=100`, url, { url: ['url'], id: ['id'] });
    if (hook !== undefined) return hook;
    const events = { push_events: true, tag_push_events: true, merge_requests_events: true };
    const more = { url, token: secret, enable_ssl_verification: true };
    return textAt(await api.call('POST', `${project(at)}/hooks`, { ...more, ...events }), 'id');
  },

  deleteHook: (api, at, id) => api.remove(`${project(at)}/hooks/${part(id)}`),

  // GitLab sends the secret itself.
  isGenuine: (headers, _body, secret) => sameSecret(header(headers, 'x-gitlab-token'), secret),

  deliveryId: (headers) => header(headers, 'idempotency-key') || header(headers, 'x-gitlab-event-uuid') || undefined,

  eventsOf(_headers, body) {
    const sender = {
      username: textAt(body, 'user_username') || textAt(body, 'user', 'username'),
      avatarUrl: textOrNull(body, 'user_avatar') ?? textOrNull(body, 'user', 'avatar_url'),
      url: null,
    };
    const about = { repositoryId: textAt(body, 'project', 'id'), sender };
    const kind = textAt(body, 'object_kind');
    if (kind === 'push' || kind === 'tag_push') {
      return moved(about, textAt(body, 'ref'), textAt(body, 'before'), textAt(body, 'after'));
    }
    const number = Number(textAt(body, 'object_attributes', 'iid'));
    return kind === 'merge_request' && number > 0 ? [{ ...about, kind: 'pull-request', number }] : [];
  },

  async setStatus(api, at, sha, { state, context, description, url }) {
    const status = { state: states.get(state) ?? 'pending', name: context, description, target_url: url };
    try {
      await api.call('POST', `${project(at)}/statuses/${sha}`, status);
    } catch (error) {
      // This error means that the commit already has this state.
      if (!(error instanceof HostRefused && /cannot transition/i.test(error.message))) throw error;
    }
  },

  async findComment(api, at, number, text) {
    const notes = `${project(at)}/merge_requests/${number}/notes?sort=asc&order_by=created_at`;
    return idOfFirst(await everyPage(api, notes), text, ['body'], ['id']);
  },

  async writeComment(api, at, number, body, id) {
    const notes = `${project(at)}/merge_requests/${number}/notes`;
    if (id !== null && (await api.find(`${notes}/${part(id)}`)) !== undefined) {
      await api.call('PUT', `${notes}/${part(id)}`, { body });
      return id;
    }
    return textAt(await api.call('POST', notes, { body }), 'id');
  },

  gitAuthorization: (token) => basic('oauth2', token),
};
