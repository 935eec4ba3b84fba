import { type Answer, type Asked, ask } from './ask';
import type { Credentials, Installation } from './installation';
import { below, kept } from './make-secrets';

/** A read, with its answer. */
export interface Question {
  readonly service: 'secrets' | 'workspaces';
  /** With the query; if a link led here, the path of the answer that had the link. */
  readonly path: string;
  readonly namespace?: string;
  /** The position of the link in that answer; it is followed without a token. */
  readonly link?: string;
  /** The answer to its owner. Parts that differed between two requests are replaced by `varies`. */
  readonly body: unknown;
  /** The status for each caller. */
  readonly statuses: Readonly<Record<string, number>>;
}

/** Replaces a value that differs each time with its type. */
const varies = (value: unknown): string => `~varies: ${value === null ? 'null' : typeof value}`;

/** The callers. The first may read everything. */
export function askers(service: Question['service'], { secrets, workspaces }: Credentials): Record<string, string> {
  if (service === 'secrets') return { root: secrets.root, ...secrets.tokens };
  return { admin: workspaces.admin.token, ...workspaces.tokens };
}

/** Asks one question as a caller; without a token if there is none. */
export function askAs(
  installation: Pick<Installation, 'secrets' | 'workspaces'>,
  { service, path, namespace }: Pick<Question, 'service' | 'path' | 'namespace'>,
  token: string | undefined,
): Promise<Answer> {
  const secret: Record<string, string> = token === undefined ? {} : { 'X-Service-Token': token };
  const headers: Asked['headers'] =
    service === 'secrets'
      ? { ...secret, ...(namespace ? { 'X-Service-Namespace': namespace } : {}) }
      : token === undefined
        ? {}
        : { Authorization: `Bearer ${token}` };
  return ask(installation[service].address, { method: 'GET', path, headers });
}

/** Endpoints that are not called, with the effect they would have. */
const unasked: readonly (readonly [RegExp, string])[] = [
  [/\/(creds|sts)\/\{/, 'makes credentials'],
  [/\/config\/root\/check$/, 'asks the cloud provider'],
  [/\/content|\/logs$|\/json-output|\/errored-state$|\/download$/, 'is reached by the links of answers'],
  [/\/logs\/\{/, 'is reached by the links of answers'],
  [/^\/app\/|openapi/, 'is the same for all callers and all data'],
  [/\/(metrics|host-info|in-flight-req)$/, 'says how the process is'],
  [/^\/sys\/monitor$/, 'goes on for ever'],
  [/^\/scim\/v2\//, 'is asked only by a directory'],
  [/^\/api\/agent\//, 'is asked only by agents'],
  [/\/oidc\/(token\/\{|provider\/\{\w+\}\/(authorize|userinfo)$)/, 'signs or answers what was signed'],
];

const ofWorkspace = `filter[organization][name]=${kept}&filter[workspace][name]=${kept}`;
/** The default request. */
const queries: Readonly<Record<string, readonly string[]>> = {
  '/sys/leases': ['type=irrevocable'],
  '/sys/leases/count': ['type=irrevocable'],
  '/api/v2/team-workspaces': ['filter[workspace][id]={workspace_id}'],
  '/api/v2/team-projects': ['filter[project][id]={project_id}'],
  '/api/v2/vars': [ofWorkspace],
  '/api/v2/state-versions': [`filter[organization][name]=${kept}&filter[workspace][name]=${kept}-local`, ofWorkspace],
  '/api/v2/workspaces/{workspace_id}/run-triggers': ['inbound', 'outbound'].map(
    (way) => `filter[run-trigger][type]=${way}`,
  ),
};

interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly required?: boolean }[];
}
interface Document {
  readonly paths: Readonly<Record<string, { readonly get?: Operation } & Operation>>;
}

/**
 * The answers of an installation with one object of every kind to all reads, and the declared operations that were not
 * requested.
 */
export async function findQuestions(
  installation: Installation,
  credentials: Credentials,
): Promise<{ questions: Question[]; unheard: string[] }> {
  const questions: Question[] = [];
  const unheard: string[] = [];
  for (const namespace of ['', below]) {
    const found = await crawl(installation, credentials, 'secrets', namespace);
    questions.push(...found.questions);
    if (namespace === '') unheard.push(...found.unheard);
  }
  const found = await crawl(installation, credentials, 'workspaces');
  return { questions: [...questions, ...found.questions], unheard: [...unheard, ...found.unheard] };
}

/** Requests all declared reads, with all names from earlier answers, until no answer contains a new name. */
async function crawl(
  installation: Installation,
  credentials: Credentials,
  service: Question['service'],
  namespace?: string,
): Promise<{ questions: Question[]; unheard: string[] }> {
  const callers = askers(service, credentials);
  const [owner] = Object.values(callers);
  const prefix = service === 'secrets' ? '/v1' : '';
  const at = service === 'secrets' ? '/v1/sys/internal/specs/openapi' : '/api/v2/openapi.json';
  const document = (await askAs(installation, { service, path: at, namespace }, owner)).body;
  const { paths }: Document = document.data?.paths ? document.data : document;
  const patterns = Object.entries(paths).flatMap(([pattern, { get, parameters = [] }]) => {
    const query = get?.parameters?.concat(parameters).filter((one) => one.in === 'query') ?? [];
    const list = query.find(({ name }) => name === 'list');
    if (!get || unasked.some(([which]) => which.test(pattern))) return [];
    const declared = queries[pattern];
    if (declared) return declared.map((text) => `${pattern}?${text}`);
    if (!list) return [pattern];
    return list.required ? [`${pattern}?list=true`] : [pattern, `${pattern}?list=true`];
  });
  const names = new Names(credentials);
  const questions = new Map<string, Question>();
  const visited = new Set<string>();
  for (let more = true; more; ) {
    more = false;
    for (const pattern of patterns) {
      for (const path of names.fill(`${prefix}${pattern}`)) {
        if (visited.has(path)) continue;
        visited.add(path);
        const one = { service, path, ...(namespace ? { namespace } : {}) };
        const { status, body } = await askAs(installation, one, owner);
        if (status !== 200) continue;
        more = true;
        names.learn(path, body);
        const statuses: Record<string, number> = {};
        for (const [who, token] of Object.entries(callers))
          statuses[who] = (await askAs(installation, one, token)).status;
        questions.set(path, { ...one, body, statuses });
        for (const [link, address] of linksIn(body)) {
          const led = await askAs(installation, { service, path: address }, undefined);
          if (led.status === 200)
            questions.set(`${path} ${link}`, { ...one, link, body: led.body, statuses: { nobody: 200 } });
        }
      }
    }
  }
  const hasAnswer = (pattern: string) => {
    const [path = '', query = ''] = `${prefix}${pattern}`.split('?');
    const shape = new RegExp(`^${path.replace(/[.$]/g, '\\$&').replace(/\{\w+\}/g, '.*')}$`);
    return [...questions.values()].some((one) => {
      const [real = '', how = ''] = one.path.split('?');
      return shape.test(real) && how.includes(query.split('{')[0]!);
    });
  };
  return { questions: [...questions.values()], unheard: patterns.filter((pattern) => !hasAnswer(pattern)) };
}

/** Values for paths: the names in lists and documents. */
class Names {
  /** By the preceding segment, or the whole path of the list. */
  private readonly known = new Map<string, Set<string>>();

  constructor(credentials: Credentials) {
    this.add('one-time-links', credentials.workspaces.invitation.split('/').at(-1)!);
    this.add('*', kept);
    for (const word of [
      'totp',
      'secret',
      'auth',
      'entities',
      'tokens',
      'requests',
      `auth/${kept}`,
      'auth/token/create',
    ])
      this.add('*', word);
  }

  /** Every way to fill a pattern. */
  fill(pattern: string): string[] {
    const [first, ...rest] = pattern.split(/\{\w+\}/);
    let made = [first!];
    for (const piece of rest)
      made = made.flatMap((start) => [...this.after(start, piece)].map((value) => start + value + piece));
    return made;
  }

  /** Records the keys of a list, the objects of a map of mounts, and ids with their types. */
  learn(path: string, body: unknown): void {
    const list = path.split('?')[0]!;
    const { data } = (body ?? {}) as { data?: { keys?: unknown } };
    if (Array.isArray(data?.keys)) for (const key of data.keys) this.add(`${list}/`, String(key).replace(/\/$/, ''));
    else if (/\/sys\/(auth|mounts)$/.test(list))
      for (const key of Object.keys(data ?? {})) this.add(`${list}/`, key.slice(0, -1));
    // Tokens have one type, in every list.
    else if (/\/scim-tokens$/.test(list) && Array.isArray(data))
      for (const { id } of data as { id: string }[]) this.add('scim-tokens', id);
    this.learnIds(body);
  }

  private learnIds(value: unknown): void {
    if (value === null || typeof value !== 'object') return;
    const { type, id, attributes } = value as { type?: unknown; id?: unknown; attributes?: { name?: unknown } };
    if (typeof type === 'string' && typeof id === 'string') this.add(type, id);
    if (type === 'workspaces' && typeof attributes?.name === 'string') this.add(type, attributes.name);
    for (const inner of Object.values(value)) this.learnIds(inner);
  }

  private after(start: string, next: string): Set<string> {
    // The top level of a list below any path.
    if (next === '?list=true') return new Set(['', ...(this.known.get(start) ?? []), ...(this.known.get('*') ?? [])]);
    const filtered = /filter\[(\w+)\]\[id\]=$/.exec(start);
    if (filtered) return this.known.get(`${filtered[1]}s`) ?? new Set();
    const segment = start.split('/').at(-2)!;
    const ids = start.startsWith('/api/') ? this.known.get(segment) : undefined;
    const general = start.startsWith('/api/') ? undefined : this.known.get('*');
    return new Set([...(ids ?? []), ...(this.known.get(start) ?? []), ...(general ?? [])]);
  }

  private add(where: string, value: string): void {
    const there = this.known.get(where) ?? new Set();
    this.known.set(where, there.add(value));
  }
}

/** The signed links of an answer, each with its place. */
export function linksIn(value: unknown, way = ''): [string, string][] {
  if (typeof value === 'string') {
    if (!/^https:\/\/workspaces\.kept\.test\/.*(signature=|\/logs\/)/.test(value) || /upload/.test(way)) return [];
    const { pathname, search } = new URL(value);
    return [[way, pathname + search]];
  }
  if (value === null || typeof value !== 'object') return [];
  return Object.entries(value).flatMap(([key, inner]) => linksIn(inner, `${way}/${key}`));
}

/** The first answer, with `varies` in place of everything that differs in the second. */
export function withoutVarying(first: unknown, second: unknown): unknown {
  if (Object.is(first, second)) return first;
  const objects = [first, second].every((one) => one !== null && typeof one === 'object');
  if (!objects || Array.isArray(first) !== Array.isArray(second)) return varies(first);
  if (Array.isArray(first)) {
    const other = second as unknown[];
    return first.length === other.length ? first.map((one, n) => withoutVarying(one, other[n])) : varies(first);
  }
  const other = second as Record<string, unknown>;
  return Object.fromEntries(
    Object.entries(first as object).flatMap(([key, value]) =>
      key in other ? [[key, withoutVarying(value, other[key])]] : [],
    ),
  );
}

/** The paths of recorded values that a later answer lacks or changes. Additional values are allowed. */
export function lacking(recorded: unknown, answered: unknown, way = ''): string[] {
  if (recorded === varies(answered)) return [];
  if (recorded === null || typeof recorded !== 'object') {
    return Object.is(unsigned(recorded), unsigned(answered)) ? [] : [`${way}: ${text(recorded)} is ${text(answered)}`];
  }
  if (answered === null || typeof answered !== 'object') return [`${way}: ${text(recorded)} is ${text(answered)}`];
  const lengths = Array.isArray(recorded) && Array.isArray(answered) && recorded.length !== answered.length;
  if (lengths) return [`${way}: ${recorded.length} became ${(answered as unknown[]).length}`];
  return Object.entries(recorded).flatMap(([key, value]) =>
    lacking(value, (answered as Record<string, unknown>)[key], `${way}/${key}`),
  );
}

/** A link without the parts that change every hour. */
const unsigned = (value: unknown) =>
  typeof value === 'string'
    ? value.replace(/\?expires=\d+&signature=[\w-]+$/, '?signed').replace(/(\/logs\/)\d+\/[\w-]+$/, '$1signed')
    : value;

const text = (value: unknown) => (JSON.stringify(value) ?? 'absent').slice(0, 200);
