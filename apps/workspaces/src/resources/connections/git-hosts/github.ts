import type { GitHost, HostCommit } from './git-host';
import { commitOf, eventsNamed, everyPage, gitea, pathsOf, repo } from './gitea';
import type { HostApi } from './host-api';
import { findHook } from './known-hook';
import { basic, header, idOfFirst, listAt, segments, signedIn, textAt } from './reading';

/** The maximum number of files in a comparison. */
const mostFiles = 300;

async function findCommit(api: HostApi, at: string, ref: string): Promise<HostCommit | undefined> {
  const json = await api.find(`${repo(at)}/commits/${segments(ref)}`);
  return json === undefined ? undefined : commitOf(json);
}

/** The REST API of GitHub and GitHub Enterprise. Much of Gitea's API has the same form. */
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

  queuedIn(branch) {
    const [, baseBranch, number] = /^gh-readonly-queue\/(.+)\/pr-(\d{1,9})-[0-9a-f]+$/.exec(branch) ?? [];
    return baseBranch === undefined ? undefined : { baseBranch, number: Number(number) };
  },

  // This also finds the commit behind an annotated tag.
  findTag: (api, at, tag) => findCommit(api, at, `tags/${tag}`),

  async listChanges(api, at, base, head) {
    const json = await api.find(`${repo(at)}/compare/${segments(base)}...${head}`);
    const files = listAt(json, 'files');
    const isWhole = ['ahead', 'identical'].includes(textAt(json, 'status')) && files.length < mostFiles;
    return isWhole ? pathsOf(files) : undefined;
  },

  async createHook(api, at, { url, secret }) {
    const hook = await findHook(api, `${repo(at)}/hooks?per_page=100`, url, { url: ['config', 'url'], id: ['id'] });
    if (hook !== undefined) return hook;
    const config = { url, content_type: 'json', secret, insecure_ssl: '0' };
    const events = ['push', 'pull_request'];
    return textAt(await api.call('POST', `${repo(at)}/hooks`, { name: 'web', active: true, events, config }), 'id');
  },

  async findComment(api, at, number, text) {
    return idOfFirst(await everyPage(api, `${repo(at)}/issues/${number}/comments`), text, ['body'], ['id']);
  },

  isGenuine: signedIn('x-hub-signature-256'),

  deliveryId: (headers) => header(headers, 'x-github-delivery') || undefined,

  eventsOf(headers, body) {
    const event = header(headers, 'x-github-event');
    // Reviews and their comments refer to a pull request that has not changed.
    return event.startsWith('pull_request_') ? [] : eventsNamed(event, body);
  },

  gitAuthorization: (token) => basic('x-access-token', token),
};
