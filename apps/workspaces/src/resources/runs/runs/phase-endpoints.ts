import { randomUUID } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { badParameter, type Query } from '@keystead/jsonapi';
import { notFound } from '@keystead/refusal';
import type { Policy, Rule } from '../../../kernel/access/policy';
import { actorOf } from '../../../kernel/audit/audit';
import { readBlob } from '../../../kernel/blobs/blobs';
import { signedUrl } from '../../../kernel/blobs/signed-urls';
import {
  type Answers,
  type Call,
  type Endpoint,
  endpoints,
  type LookupBy,
  type Raw,
} from '../../../kernel/endpoints/endpoint';
import type { Environment } from '../../../kernel/endpoints/environment';
import { type Logged, read } from './jobs/logs';
import { changePhaseData, dataActions, dataPolicy, summaryOfData } from './phase-data';
import { contentPath, findMany, type Phase, type PhasePath } from './phases';
import { organizationsOf, readsRun } from './policy';
import { type LogHead, watchedLogs } from './streams/watched-run';

const ofPhase = endpoints(dataPolicy, undefined, { visible: readsRun, organizationsOf });
const { raw } = endpoints({} as Policy<Phase>, undefined, { visible: readsRun, organizationsOf });

/** The plan or apply with an id. */
export const loadPhase = (path: PhasePath) => async (lookup: LookupBy<'id'>) =>
  (await findMany(lookup.db, lookup.env, path, { id: { in: [lookup.params.id] } }))[0];

/** The endpoints that hide, restore and remove the data of a plan or an apply. */
export const dataOf = (path: PhasePath): Endpoint[] =>
  dataActions.map(({ action, name }) =>
    ofPhase.command('POST')(`/${path}/:id/actions/${name}`, {
      edition: 'self-hosted',
      summary: summaryOfData(action, `one of the ${path}`),
      requires: 'can-manage-backing-data',
      load: loadPhase(path),
      run: ({ db, target, ...call }) =>
        changePhaseData(db, actorOf(call), { ...(target as Phase), type: path, phaseId: (target as Phase).id }, action),
    }),
  );

/** The plan or apply of a run. */
export const loadPhaseOfRun = (path: PhasePath) => async (lookup: LookupBy<'run_id'>) =>
  (await findMany(lookup.db, lookup.env, path, { runId: lookup.params.run_id }))[0];

function wholeNumber(query: Query, name: string, fallback: number): number {
  const text = query.get(name);
  if (text === undefined) return fallback;
  if (!/^\d{1,15}$/.test(text)) throw badParameter(name, `${name} must be a whole number`);
  return Number(text);
}

const DEFAULT_WINDOW = 65_536;

const patienceMs = 5000;

/**
 * Waits briefly for more of a log, because the client would otherwise repeat its request half a second later. Undefined
 * if nothing was added.
 */
function moreOf(
  env: Pick<Environment, 'watches' | 'waiting'>,
  { id, status, logSize }: Logged,
  isGone: () => boolean,
): Promise<LogHead | undefined> {
  return env.waiting.run(`${id} ${randomUUID()}`, (mustStop) => {
    const untilMs = performance.now() + patienceMs;
    return new Promise((resolve) => {
      const leave = env.watches.watch(watchedLogs, id, (head) => {
        const isNews = head !== undefined && (head.status !== status || head.logSize > Number(logSize));
        if (!isNews && head !== undefined && !mustStop() && !isGone() && performance.now() < untilMs) return;
        leave();
        resolve(isNews ? head : undefined);
      });
    });
  });
}

/** The log of an object whose phase has the same id, read in windows: with a token, or with a signed URL. */
export function logsAt<T extends Logged>(
  path: string,
  what: string,
  of: { load(lookup: LookupBy<'id'>): Promise<T | undefined>; visible: Rule<T> },
): Endpoint[] {
  const common = {
    ...of,
    answers: { 200: { description: 'The requested part.', type: 'text/plain', schema: { type: 'string' } } },
    query: { limit: `The maximum number of bytes; default ${DEFAULT_WINDOW}.`, offset: 'The number of bytes to skip.' },
    run: async ({ db, env, target, query, request }: Call<string, undefined, T>): Promise<Raw> => {
      const window = { offset: wholeNumber(query, 'offset', 0), limit: wholeNumber(query, 'limit', DEFAULT_WINDOW) };
      let body = await read(db, env.keyring, target, window);
      if (body.length === 0 && window.limit > 0 && ['queued', 'running'].includes(target.status)) {
        const head = await moreOf(env, target, request.isGone);
        if (head) body = await read(db, env.keyring, { ...target, ...head, logSize: BigInt(head.logSize) }, window);
      }
      return { status: 200, headers: { 'Content-Type': 'text/plain; charset=utf-8' }, body, headersFirst: true };
    },
  };
  return [
    raw('GET')(`/${path}/:id/logs`, {
      ...common,
      summary: `Read a part of the log of ${what}. It begins with STX, and ends with ETX when it is complete.`,
    }),
    raw('GET')(`/${path}/:id/logs/:expires/:signature`, {
      ...common,
      summary: `Read a part of the log of ${what} with a signed URL.`,
      auth: 'none',
      link: 'only',
    }),
  ];
}

/** The logs of plans or applies. */
export const logsOf = (path: PhasePath): Endpoint[] =>
  logsAt<Phase>(path, `one of the ${path}`, { load: loadPhase(path), visible: readsRun });

/** A result of a plan or an apply: its path, its format, and who may read it. */
export interface ResultForm {
  readonly path: PhasePath;
  /** Its path below a plan or an apply, and below a run. */
  readonly name: string;
  readonly summary: string;
  readonly mayRead: Rule<Phase>;
  readonly blobOf: (phase: Phase) => string | null;
  /** The status while there is no result: 204 or 404. */
  readonly absent: 204 | 404;
  /** Extracts the result from the stored text. Default: the whole text. */
  readonly partOf?: (stored: string) => string;
}

/** The endpoints of a result: a redirect from the plan or apply and from its run, and the bytes behind a link. */
export function resultOf({ path, name, summary, mayRead, blobOf, absent, partOf }: ResultForm): Endpoint[] {
  const at = (id: string) => contentPath(path, id, name);
  const followed: Answers = { 307: { description: 'Redirect to the result.' } };
  const kind = path === 'plans' ? 'plan' : 'apply';
  // Other people may use the link, so the trail records who received it and when it is used.
  const discloses = {
    action: `${kind}.read-${name}`,
    when: ({ status }: Raw) => status !== 204 && mayRead !== readsRun,
  };
  const redirect = {
    summary,
    answers: absent === 204 ? { ...followed, 204: { description: 'There is no result yet.' } } : followed,
    requires: mayRead,
    discloses,
    run: async ({ env, target }: { env: Parameters<typeof signedUrl>[0]; target: Phase }): Promise<Raw> => {
      if (blobOf(target) !== null)
        return { status: 307, headers: { Location: signedUrl(env, 'GET', at(target.id)) }, body: '' };
      if (absent === 404) throw notFound();
      return { status: 204, headers: {} };
    },
  };
  const ofRun = `/runs/:run_id/${kind}/${name}` as const;
  return [
    raw('GET')(`/${path}/:id/${name}`, { ...redirect, load: loadPhase(path) }),
    raw('GET')(ofRun, { ...redirect, load: loadPhaseOfRun(path) }),
    raw('GET')(`/${path}/:id/content/${name}`, {
      summary: `${summary} With a signed URL.`,
      answers: { 200: { description: 'The result.', type: 'application/json', schema: { type: 'object' } } },
      link: 'or-token',
      requires: mayRead,
      discloses,
      load: loadPhase(path),
      run: async ({ db, env, target }) => {
        const id = blobOf(target as Phase);
        const body = id === null ? undefined : await readBlob(db, env.keyring, id);
        if (!body) throw notFound();
        const shown = partOf === undefined ? body : partOf(await text(body));
        return { status: 200, headers: { 'Content-Type': 'application/json' }, body: shown };
      },
    }),
  ];
}
