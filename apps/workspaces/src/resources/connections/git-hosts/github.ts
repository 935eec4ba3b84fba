import type { GitHost, HostCommit } from './git-host';
import { everyPage, gitea, pathsOf, pullRequestOf } from './gitea';
import type { HostApi } from './host-api';
import { basic, header, isHmacOf, listAt, moved, segments, textAt, textOrNull } from './reading';

const repo = (identifier: string): string => `/repos/${segments(identifier)}`;
/** What a comparison names at most. */
const mostFiles = 300;

async function findCommit(api: HostApi, at: string, ref: string): Promise<HostCommit | undefined> {
  const json = await api.find(`${repo(at)}/commits/${segments(ref)}`);
  if (json === undefined) return undefined;
  return {
    sha: textAt(json, 'sha'),
    message: textAt(json, 'commit', 'message'),
    url: textAt(json, 'html_url'),
    author: textAt(json, 'author', 'login') || textAt(json, 'commit', 'author', 'name'),
  };
}

/** GitHub and GitHub Enterprise, by their REST interface. Gitea took many of its words from there. */
export const github: GitHost = {
  ...gitea,
  oauth: { ...gitea.oauth!, scope: 'repo', person: { path: '/user', name: 'login' } },
  authorization: (token) => ({
    authorization: `Bearer ${token}`,
    accept: 'application/vnd.github+json',
    'x-github-api-version': '2022-11-28',
    'user-agent': 'keystead',
  }),
  findCommit,

  async findHead(api, at, branch) {
    const json = await api.find(`${repo(at)}/git/ref/heads/${segments(branch)}`);
    const sha = textAt(json, 'object', 'sha');
    return sha === '' ? undefined : findCommit(api, at, sha);
  },

  // The commit behind an annotated tag as well.
  findTag: (api, at, tag) => findCommit(api, at, `tags/${tag}`),

  async listPullRequests(api, at) {
    return ((await everyPage(api, `${repo(at)}/pulls?state=open`)) ?? []).map(pullRequestOf);
  },

  async listChanges(api, at, base, head) {
    const json = await api.find(`${repo(at)}/compare/${base}...${head}`);
    const files = listAt(json, 'files');
    const isWhole = ['ahead', 'identical'].includes(textAt(json, 'status')) && files.length < mostFiles;
    return isWhole ? pathsOf(files) : undefined;
  },

  async createHook(api, at, { url, secret }) {
    const config = { url, content_type: 'json', secret, insecure_ssl: '0' };
    const events = ['push', 'pull_request'];
    return textAt(await api.call('POST', `${repo(at)}/hooks`, { name: 'web', active: true, events, config }), 'id');
  },

  isGenuine(headers, body, secret) {
    return isHmacOf(body, secret, header(headers, 'x-hub-signature-256').replace(/^sha256=/, ''));
  },

  deliveryId: (headers) => header(headers, 'x-github-delivery') || undefined,

  eventsOf(headers, body) {
    const sender = {
      username: textAt(body, 'sender', 'login'),
      avatarUrl: textOrNull(body, 'sender', 'avatar_url'),
      url: textOrNull(body, 'sender', 'html_url'),
    };
    const about = { repositoryId: textAt(body, 'repository', 'id'), sender };
    const event = header(headers, 'x-github-event');
    if (event === 'push') return moved(about, textAt(body, 'ref'), textAt(body, 'before'), textAt(body, 'after'));
    const number = Number(textAt(body, 'number'));
    return event === 'pull_request' && number > 0 ? [{ ...about, kind: 'pull-request', number }] : [];
  },

  gitAuthorization: (token) => basic('x-access-token', token),
};
