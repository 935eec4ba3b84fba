import type { CommitStatus, GitHost, HostCommit, HostTag, PullRequest } from './git-host';
import { type HostApi, HostRefused } from './host-api';
import {
  basic,
  cloneAddress,
  header,
  listAt,
  mostPages,
  moved,
  pathsIn,
  repositoriesPerPage,
  sameSecret,
  textAt,
  textOrNull,
  at as valueAt,
} from './reading';

const part = encodeURIComponent;
/** The oldest version with all of these APIs: Azure DevOps Server 2019. */
const version = 'api-version=5.0';
const pageSize = 1000;
const person = 'keystead';

/** The states of a commit in the words of Azure DevOps. */
const states = { pending: 'pending', success: 'succeeded', failure: 'failed', error: 'error' } as const;

/** The kinds of events that are delivered, each by a separate subscription. */
const subscribed = ['git.push', 'git.pullrequest.created', 'git.pullrequest.updated'] as const;

/** The parts of `organization/project/_git/repository`; a project's own repository may be named without the project. */
function parts(identifier: string): { organization: string; project: string; name: string } {
  const [, organization, project, name] = /^([^/]+)\/(?:([^/]+)\/)?_git\/([^/]+)$/.exec(identifier) ?? [];
  if (organization === undefined || name === undefined) {
    throw new HostRefused(404, 'the identifier must have the form organization/project/_git/repository');
  }
  return { organization, project: project ?? name, name };
}

/** The address of a resource in a repository. */
function repo(identifier: string, rest = '', query = ''): string {
  const { organization, project, name } = parts(identifier);
  const at = `/${part(organization)}/${part(project)}/_apis/git/repositories/${part(name)}`;
  return `${at}${rest}?${query}${query === '' ? '' : '&'}${version}`;
}

const hooks = (identifier: string, id = ''): string =>
  `/${part(parts(identifier).organization)}/_apis/hooks/subscriptions${id}?${version}`;

const shownCommit = (json: unknown): HostCommit => ({
  sha: textAt(json, 'commitId'),
  message: textAt(json, 'comment'),
  url: textAt(json, 'remoteUrl'),
  author: textAt(json, 'author', 'name'),
});

async function findCommit(api: HostApi, at: string, sha: string): Promise<HostCommit | undefined> {
  const json = await api.find(repo(at, `/commits/${part(sha)}`));
  return json === undefined ? undefined : shownCommit(json);
}

/** References below a folder, with the commits behind annotated tags. */
async function listRefs(api: HostApi, at: string, filter: string): Promise<readonly HostTag[]> {
  const json = await api.find(repo(at, '/refs', `filter=${part(filter)}&peelTags=true&$top=${pageSize}`));
  return listAt(json, 'value').map((one) => ({
    name: textAt(one, 'name'),
    sha: textAt(one, 'peeledObjectId') || textAt(one, 'objectId'),
  }));
}

/**
 * The commit of a reference. The filter of the API is the prefix of a reference, so the exact name is searched in the
 * result.
 */
async function findRef(api: HostApi, at: string, ref: string): Promise<HostCommit | undefined> {
  const found = (await listRefs(api, at, ref)).find(({ name }) => name === `refs/${ref}`);
  return found && findCommit(api, at, found.sha);
}

const branchOf = (ref: string): string => ref.replace(/^refs\/heads\//, '');

const pullRequestOf = (json: unknown): PullRequest => ({
  number: Number(textAt(json, 'pullRequestId')),
  title: textAt(json, 'title'),
  body: textAt(json, 'description'),
  url: `${textAt(json, 'repository', 'webUrl')}/pullrequest/${textAt(json, 'pullRequestId')}`,
  isOpen: textAt(json, 'status') === 'active',
  head: textAt(json, 'lastMergeSourceCommit', 'commitId'),
  headBranch: branchOf(textAt(json, 'sourceRefName')),
  baseBranch: branchOf(textAt(json, 'targetRefName')),
  fromFork: (valueAt(json, 'forkSource') ?? null) !== null,
});

/** File paths, without the leading slash that Azure DevOps adds. */
function pathsOf(files: readonly unknown[]): string[] {
  const blobs = files.filter((one) => valueAt(one, 'item', 'isFolder') !== true);
  const named = pathsIn(blobs, ['item', 'path'], ['originalPath'], ['sourceServerItem']);
  return named.map((file) => file.replace(/^\//, ''));
}

/** The kind of a status is separate from its name. */
const statusOf = ({ state, context, description, url }: CommitStatus) => ({
  state: states[state],
  description,
  targetUrl: url,
  context: { genre: context.split('/')[0], name: context.split('/').slice(1).join('/') },
});

/** Whether a token is a JWT, as OAuth tokens are. A personal access token is sent as a password without a user name. */
const isJwt = (token: string): boolean => /^eyJ[\w-]*\.[\w-]+\.[\w-]*$/.test(token);
const authorized = (token: string): string => (isJwt(token) ? `Authorization: Bearer ${token}` : basic('', token));

/**
 * The REST API of Azure DevOps Services (`https://dev.azure.com`), whose users consent at Microsoft Entra, and of Azure
 * DevOps Server (`https://ado.example.com`).
 */
export const azureDevops: GitHost = {
  oauth: {
    authorize: () => 'https://login.microsoftonline.com/organizations/oauth2/v2.0/authorize',
    exchange: () => 'https://login.microsoftonline.com/organizations/oauth2/v2.0/token',
    scope: '499b84ac-1321-427f-aa17-267ca6975798/.default offline_access',
    pkce: true,
    basic: false,
  },
  authorization: (token) => ({ authorization: authorized(token).replace(/^Authorization: /, '') }),

  async findRepository(api, at) {
    const json = await api.get(repo(at));
    return {
      id: textAt(json, 'id'),
      identifier: at,
      httpUrl: textAt(json, 'webUrl'),
      cloneUrl: cloneAddress(textAt(json, 'remoteUrl')),
      defaultBranch: branchOf(textAt(json, 'defaultBranch')),
    };
  },

  async listRepositories(api, page, owner) {
    if (owner === '') throw new HostRefused(400, 'Azure DevOps lists the repositories of one organization: name it');
    // The host returns all repositories in one response.
    const all = listAt(await api.get(`/${part(owner)}/_apis/git/repositories?${version}`), 'value');
    const end = page * repositoriesPerPage;
    return {
      repositories: all.slice(end - repositoriesPerPage, end).map((one) => ({
        identifier: `${owner}/${textAt(one, 'project', 'name')}/_git/${textAt(one, 'name')}`,
        name: textAt(one, 'name'),
        isPrivate: textAt(one, 'project', 'visibility') !== 'public',
      })),
      more: all.length > end,
      total: all.length,
    };
  },

  async listFolders(api, at, sha) {
    const ofCommit = `versionDescriptor.version=${sha}&versionDescriptor.versionType=commit`;
    const json = await api.find(repo(at, '/items', `scopePath=/&recursionLevel=OneLevel&${ofCommit}`));
    const folders = listAt(json, 'value').filter((one) => valueAt(one, 'isFolder') === true);
    return folders.map((one) => textAt(one, 'path').replace(/^\//, '')).filter(Boolean);
  },

  findHead: (api, at, branch) => findRef(api, at, `heads/${branch}`),

  findTag: (api, at, tag) => findRef(api, at, `tags/${tag}`),

  async listTags(api, at) {
    return (await listRefs(api, at, 'tags/')).map(({ name, sha }) => ({
      name: name.replace(/^refs\/tags\//, ''),
      sha,
    }));
  },

  findCommit,

  async findPullRequest(api, at, number) {
    const json = await api.find(repo(at, `/pullrequests/${number}`));
    return json === undefined ? undefined : pullRequestOf(json);
  },

  async listPullRequests(api, at) {
    const json = await api.find(repo(at, '/pullrequests', `searchCriteria.status=active&$top=${pageSize}`));
    return listAt(json, 'value').map(pullRequestOf);
  },

  async listChanges(api, at, base, head) {
    const between = `baseVersion=${base}&baseVersionType=commit&targetVersion=${head}&targetVersionType=commit`;
    const json = await api.find(repo(at, '/diffs/commits', `${between}&diffCommonCommit=false&$top=${pageSize}`));
    const changes = valueAt(json, 'changes');
    if (!Array.isArray(changes) || valueAt(json, 'allChangesIncluded') === false) return undefined;
    return changes.length < pageSize ? pathsOf(changes) : undefined;
  },

  async listProposed(api, at, number) {
    const iterations = listAt(await api.find(repo(at, `/pullRequests/${number}/iterations`)), 'value');
    const last = Math.max(0, ...iterations.map((one) => Number(textAt(one, 'id'))));
    if (last === 0) return undefined;
    const all: unknown[] = [];
    let skip = 0;
    for (let page = 0; page < mostPages; page++) {
      const from = `$compareTo=0&$top=${pageSize}&$skip=${skip}`;
      const json = await api.find(repo(at, `/pullRequests/${number}/iterations/${last}/changes`, from));
      const entries = valueAt(json, 'changeEntries');
      if (!Array.isArray(entries)) return undefined;
      all.push(...entries);
      skip = Number(textAt(json, 'nextSkip'));
      if (!(skip > 0)) return pathsOf(all);
    }
    return undefined;
  },

  async createHook(api, at, { url, secret }) {
    const json = await api.get(repo(at));
    const publisherInputs = { projectId: textAt(json, 'project', 'id'), repository: textAt(json, 'id') };
    const consumerInputs = {
      url,
      basicAuthUsername: person,
      basicAuthPassword: secret,
      resourceDetailsToSend: 'all',
      messagesToSend: 'none',
      detailedMessagesToSend: 'none',
    };
    // These remain from an earlier attempt whose response was lost. All are created again, because some may be missing.
    for (const one of listAt(await api.find(hooks(at)), 'value')) {
      if (textAt(one, 'consumerInputs', 'url') === url) await api.remove(hooks(at, `/${part(textAt(one, 'id'))}`));
    }
    const ids: string[] = [];
    try {
      for (const eventType of subscribed) {
        const subscription = {
          publisherId: 'tfs',
          eventType,
          resourceVersion: '1.0',
          consumerId: 'webHooks',
          consumerActionId: 'httpRequest',
          publisherInputs,
          consumerInputs,
        };
        ids.push(textAt(await api.call('POST', hooks(at), subscription), 'id'));
      }
    } catch (error) {
      // Keeps either all subscriptions or none, because otherwise the next attempt would create some of them twice.
      for (const id of ids) await api.remove(hooks(at, `/${part(id)}`)).catch(() => undefined);
      throw error;
    }
    return ids.join(' ');
  },

  async deleteHook(api, at, id) {
    for (const one of id.split(' ')) await api.remove(hooks(at, `/${part(one)}`));
  },

  // Azure DevOps signs nothing: it sends the secret as a password.
  isGenuine: (headers, _body, secret) =>
    secret !== '' && sameSecret(`Authorization: ${header(headers, 'authorization')}`, basic(person, secret)),

  deliveryId: (_headers, body) => textAt(body, 'id') || undefined,

  eventsOf(_headers, body) {
    const event = textAt(body, 'eventType');
    const who = valueAt(body, 'resource', 'pushedBy') ?? valueAt(body, 'resource', 'createdBy');
    const sender = {
      username: textAt(who, 'uniqueName') || textAt(who, 'displayName'),
      avatarUrl: textOrNull(who, 'imageUrl'),
      url: null,
    };
    const about = { repositoryId: textAt(body, 'resource', 'repository', 'id'), sender };
    if (event === 'git.push') {
      return listAt(body, 'resource', 'refUpdates').flatMap((one) =>
        moved(about, textAt(one, 'name'), textAt(one, 'oldObjectId'), textAt(one, 'newObjectId')),
      );
    }
    const number = Number(textAt(body, 'resource', 'pullRequestId'));
    return event.startsWith('git.pullrequest.') && number > 0 ? [{ ...about, kind: 'pull-request', number }] : [];
  },

  async setStatus(api, at, sha, status) {
    await api.call('POST', repo(at, `/commits/${sha}/statuses`), statusOf(status));
    // A pull request shows only its own statuses.
    if (status.number === undefined) return;
    await api.call('POST', repo(at, `/pullRequests/${status.number}/statuses`), statusOf(status));
  },

  async findComment(api, at, number, text) {
    const threads = listAt(await api.find(repo(at, `/pullRequests/${number}/threads`)), 'value');
    const living = threads.filter((one) => valueAt(one, 'comments', 0, 'isDeleted') !== true);
    const found = living.find((one) => textAt(one, 'comments', 0, 'content').includes(text));
    return found === undefined ? undefined : `${textAt(found, 'id')}/${textAt(found, 'comments', 0, 'id')}`;
  },

  async writeComment(api, at, number, content, id) {
    const threads = `/pullRequests/${number}/threads`;
    if (id !== null) {
      const [thread = '', comment = ''] = id.split('/');
      const existing = await api.find(repo(at, `${threads}/${part(thread)}/comments/${part(comment)}`));
      if (existing !== undefined && valueAt(existing, 'isDeleted') !== true) {
        await api.call('PATCH', repo(at, `${threads}/${part(thread)}/comments/${part(comment)}`), { content });
        return id;
      }
    }
    const comments = [{ parentCommentId: 0, content, commentType: 1 }];
    // The thread is closed, because the comment only informs and must not block a merge.
    const json = await api.call('POST', repo(at, threads), { comments, status: 4 });
    return `${textAt(json, 'id')}/${textAt(json, 'comments', 0, 'id')}`;
  },

  gitAuthorization: authorized,
};

/** Azure DevOps Server, where people create tokens by hand. */
export const azureDevopsServer: GitHost = { ...azureDevops, oauth: undefined };
