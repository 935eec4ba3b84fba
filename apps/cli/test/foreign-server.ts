import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A state version of the other server; `gone` ones are listed, but their content is not kept. */
export interface ForeignState {
  id: string;
  serial: number;
  content: string;
  gone?: boolean;
}

/** A workspace of the other server. */
export interface ForeignWorkspace {
  id: string;
  attributes: Record<string, unknown>;
  tags?: string[];
  variables?: Record<string, unknown>[];
  /** In upload order. `current` names the current state, because the state may have been rolled back. */
  states?: ForeignState[];
  current?: string;
}

/** The content of the other server. */
export interface ForeignData {
  organization: Record<string, unknown>;
  teams: Record<string, unknown>[];
  sets: {
    id: string;
    attributes: Record<string, unknown>;
    workspaces: string[];
    variables: Record<string, unknown>[];
  }[];
  workspaces: ForeignWorkspace[];
}

/** The other server and its behaviour. */
export interface ForeignServer {
  address: string;
  token: string;
  /** Requested paths, in order. */
  asked: string[];
  /** The answers to the first requests, in this order. */
  moods: Mood[];
  /** Whether states are stored at another address, which refuses requests with a token. */
  storesElsewhere: boolean;
  close(): void;
}

type Mood = (response: ServerResponse) => void;
type Answer = [status: number, body: unknown] | undefined;

const TAGS_A_PAGE = 20;

/** A rate limit: the server says how many seconds to wait, as a decimal fraction, like other servers of this API. */
export const limited: Mood = (response) => {
  response.writeHead(429, { 'x-ratelimit-limit': '30', 'x-ratelimit-reset': '0.031' });
  response.end('{"errors":[{"detail":"You have exceeded the API\'s rate limit.","status":429}]}');
};

/** A proxy in front of the server reports that it is unavailable. */
export const away: Mood = (response) => {
  response.writeHead(502, { 'content-type': 'text/html', 'retry-after': '0.02' }).end('<html>Bad Gateway</html>');
};

/** The line breaks in the middle of an answer. */
export const broken: Mood = (response) => {
  response.writeHead(200, { 'content-length': '1000' });
  response.write('{"data":', () => response.destroy());
};

/**
 * A server of the same API with fewer features and some differences: unknown paths answer with an HTML page, lists are
 * not paged or ignore the requested page, unset settings and sensitive values are empty strings, and states have
 * neither lineage nor size and are downloaded from a path of the server.
 */
export async function startForeignServer(data: ForeignData): Promise<ForeignServer> {
  const token = 'token-of-the-other-server';
  const asked: string[] = [];
  const moods: Mood[] = [];
  const store = http.createServer((request, response) => {
    const state = stateOf(data, request.url?.slice(1));
    if (request.headers.authorization) response.writeHead(400).end('only one way of authentication is allowed');
    else response.end(state?.content);
  });
  await listen(store);
  const server = http.createServer((request, response) => {
    asked.push(String(request.url));
    const mood = moods.shift();
    if (mood) return mood(response);
    if (request.headers.authorization !== `Bearer ${token}`) return response.writeHead(401).end('unauthorized');
    answer(data, request, response, foreign.storesElsewhere ? addressOf(store) : '');
  });
  await listen(server);
  const foreign: ForeignServer = {
    address: addressOf(server),
    token,
    asked,
    moods,
    storesElsewhere: false,
    close: () => {
      for (const one of [server, store]) {
        one.closeAllConnections();
        one.close();
      }
    },
  };
  return foreign;
}

const listen = (server: http.Server) => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const addressOf = (server: http.Server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const stateOf = ({ workspaces }: ForeignData, id: string | undefined) =>
  workspaces.flatMap(({ states }) => states ?? []).find((state) => state.id === id);
const absent: Answer = [404, { errors: [{ status: '404', title: 'Not Found', detail: 'resource not found' }] }];

function answer(data: ForeignData, request: IncomingMessage, response: ServerResponse, store: string): void {
  const url = new URL(String(request.url), 'http://other');
  const path = url.pathname.replace('/api/v2/', '');
  const download = /^state-versions\/([^/]+)\/download$/.exec(path)?.[1];
  const state = stateOf(data, download);
  if (state && !state.gone) return void response.end(state.content);
  const found = state ? absent : route(data, path, url.searchParams, store);
  if (!found) return void response.writeHead(404, { 'content-type': 'text/plain' }).end('404 page not found\n');
  const [status, body] = found;
  response.writeHead(status, { 'content-type': 'application/vnd.api+json' }).end(JSON.stringify(body));
}

function route(data: ForeignData, path: string, query: URLSearchParams, store: string): Answer {
  const name = String(data.organization.name);
  const base = `organizations/${name}`;
  const named = (type: string) => (attributes: Record<string, unknown>) => ({
    id: `${type}-${attributes.name ?? attributes.key}`,
    type,
    attributes,
  });
  if (path === base) return [200, { data: { id: name, type: 'organizations', attributes: data.organization } }];
  if (path === `${base}/teams`) return [200, { data: data.teams.map(named('teams')) }];
  if (path === `${base}/ssh-keys` || path === `${base}/oauth-clients`) return [200, { data: [] }];
  if (path === `${base}/varsets`) return [200, { data: data.sets.map(setOf) }];
  if (path === `${base}/workspaces`) return paged(data.workspaces.map(workspaceOf), query);
  if (path === 'state-versions') {
    const workspace = data.workspaces.find((one) => one.attributes.name === query.get('filter[workspace][name]'));
    // Newest first, by creation time.
    return workspace
      ? paged(
          [...(workspace.states ?? [])].reverse().map((state) => stateVersion(state, store)),
          query,
        )
      : absent;
  }
  const [kind, id, ...rest] = path.split('/');
  const set = kind === 'varsets' ? data.sets.find((one) => one.id === id) : undefined;
  if (set && rest.join('/') === 'relationships/vars') return [200, { data: set.variables.map(named('vars')) }];
  if (set && rest.length === 0) return [200, { data: setOf(set) }];
  const workspace = kind === 'workspaces' ? data.workspaces.find((one) => one.id === id) : undefined;
  return workspace && partOf(workspace, rest.join('/'), store, named('vars'));
}

function partOf(
  workspace: ForeignWorkspace,
  part: string,
  store: string,
  variable: (attributes: Record<string, unknown>) => unknown,
): Answer {
  if (part === 'vars') return [200, { data: (workspace.variables ?? []).map(variable) }];
  if (part === 'current-state-version') {
    const state = workspace.states?.find(({ id }) => id === workspace.current);
    return state ? [200, { data: stateVersion(state, store) }] : absent;
  }
  if (part !== 'relationships/tags') return undefined;
  // This list always returns its first page, although the response says that there are more pages.
  const tags = (workspace.tags ?? []).map((name) => ({ id: `tag-${name}`, type: 'tags', attributes: { name } }));
  const pagination = { 'total-count': tags.length, 'total-pages': Math.ceil(tags.length / TAGS_A_PAGE) };
  return [200, { data: tags.slice(0, TAGS_A_PAGE), meta: { pagination } }];
}

function paged(items: unknown[], query: URLSearchParams): Answer {
  const size = Number(query.get('page[size]') ?? 20);
  const page = Number(query.get('page[number]') ?? 1);
  const pages = Math.max(1, Math.ceil(items.length / size));
  const pagination = {
    'current-page': page,
    'prev-page': page > 1 ? page - 1 : null,
    'next-page': page < pages ? page + 1 : null,
    'total-pages': pages,
    'total-count': items.length,
  };
  return [200, { data: items.slice((page - 1) * size, page * size), meta: { pagination } }];
}

const workspaceOf = ({ id, attributes, tags }: ForeignWorkspace) => ({
  id,
  type: 'workspaces',
  attributes: { ...attributes, 'tag-names': tags ?? [] },
  relationships: { 'ssh-key': { data: null } },
});

const setOf = ({ id, attributes, workspaces }: ForeignData['sets'][number]) => ({
  id,
  type: 'varsets',
  attributes,
  relationships: { workspaces: { data: workspaces.map((one) => ({ id: one, type: 'workspaces' })) } },
});

const stateVersion = ({ id, serial }: ForeignState, store: string) => ({
  id,
  type: 'state-versions',
  attributes: {
    serial,
    status: 'finalized',
    'resources-processed': true,
    'hosted-state-download-url': store ? `${store}/${id}` : `/api/v2/state-versions/${id}/download`,
  },
});
