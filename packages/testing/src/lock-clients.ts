import { createHash } from 'node:crypto';
import type { Model, Recorded } from './linearizable';

/** A call of a lock client. */
export interface LockCall {
  readonly who: string;
  readonly what: 'lock' | 'unlock' | 'force' | 'upload';
}
export type LockAnswer = 'yes' | 'no';

/** The model of the lock: the state is its holder, or empty if it is free. */
export const lockModel: Model<LockCall, LockAnswer> = (holder, { who, what }, answer) => {
  const may = what === 'lock' ? holder === '' : what === 'force' ? holder !== '' : holder === who;
  const after = !may || what === 'upload' ? holder : what === 'lock' ? who : '';
  return answer === undefined || (answer === 'yes') === may ? after : undefined;
};

/** A client of the service over HTTP. */
export interface LockClient {
  readonly who: string;
  readonly token: string;
}

const mediaType = 'application/vnd.api+json';
const patienceMs = 15_000;

/** The status and body of an answer; status 0 if the node was not reached, undefined if the outcome is unknown. */
export async function call(
  url: string,
  token: string | undefined,
  method: string,
  body?: unknown,
): Promise<{ status: number; body: never } | undefined> {
  try {
    const headers: Record<string, string> = { 'Content-Type': mediaType };
    if (token !== undefined) headers.Authorization = `Bearer ${token}`;
    const sent = Buffer.isBuffer(body) ? new Uint8Array(body) : body === undefined ? undefined : JSON.stringify(body);
    const answer = await fetch(url, { method, headers, body: sent, signal: AbortSignal.timeout(patienceMs) });
    const text = await answer.text();
    return { status: answer.status, body: (text === '' ? undefined : JSON.parse(text)) as never };
  } catch (error) {
    const { code } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException;
    return code === 'ECONNREFUSED' ? { status: 0, body: undefined as never } : undefined;
  }
}

/** The document of a request. */
export const document = (type: string, attributes: object, relationships?: object): object => ({
  data: { type, attributes, ...(relationships ? { relationships } : {}) },
});

/** Creates teams that may write to a workspace, and returns a client for each, with its own token. */
export async function lockClients(
  origin: string,
  admin: string,
  organization: string,
  workspace: string,
  count: number,
): Promise<LockClient[]> {
  const api = `${origin}/api/v2`;
  const create = async (path: string, body: object) => {
    const answer = await call(`${api}/${path}`, admin, 'POST', body);
    if (answer?.status !== 201)
      throw new Error(`${path} was answered ${answer?.status}: ${JSON.stringify(answer?.body)}`);
    return (answer.body as { data: { id: string; attributes: { token: string } } }).data;
  };
  const clients: LockClient[] = [];
  for (let i = 0; i < count; i++) {
    const team = await create(`organizations/${organization}/teams`, document('teams', { name: `${workspace}-${i}` }));
    await create(
      'team-workspaces',
      document(
        'team-workspaces',
        { access: 'admin' },
        {
          team: { data: { type: 'teams', id: team.id } },
          workspace: { data: { type: 'workspaces', id: workspace } },
        },
      ),
    );
    const token = await create(`teams/${team.id}/authentication-token`, document('authentication-tokens', {}));
    clients.push({ who: team.id, token: token.attributes.token });
  }
  return clients;
}

/** A state with a serial, and its MD5. */
export function smallState(serial: number, note = ''): { bytes: Buffer; md5: string } {
  const state = {
    version: 4,
    serial,
    lineage: 'one',
    outputs: { note: { value: note, type: 'string' } },
    resources: [],
  };
  const bytes = Buffer.from(JSON.stringify(state));
  return { bytes, md5: createHash('md5').update(bytes).digest('hex') };
}

/**
 * Clients that compete for one lock through several nodes with random calls; returns all calls and answers. A 5xx
 * means that there was no answer; a call that reached no node is sent again.
 */
export async function fightForLock(
  nodes: () => readonly string[],
  clients: readonly LockClient[],
  workspace: string,
  { calls, pauseMs = 0 }: { calls: number; pauseMs?: number },
): Promise<Recorded<LockCall, LockAnswer>[]> {
  const history: Recorded<LockCall, LockAnswer>[] = [];
  let serial = 0;
  let remaining = calls;
  const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
  const pick = <T>(items: readonly T[]): T => items[Math.floor(Math.random() * items.length)]!;
  const sent = (node: string, { token }: LockClient, what: LockCall['what']) => {
    const at = `${node}/api/v2/workspaces/${workspace}`;
    if (what !== 'upload') return call(`${at}/actions/${what === 'force' ? 'force-unlock' : what}`, token, 'POST', {});
    const { bytes, md5 } = smallState(++serial, token);
    const attributes = { serial, md5, force: true, state: bytes.toString('base64') };
    return call(`${at}/state-versions`, token, 'POST', document('state-versions', attributes));
  };
  await Promise.all(
    clients.map(async (client) => {
      while (remaining > 0) {
        remaining--;
        if (pauseMs > 0) await pause(Math.random() * pauseMs);
        const what = pick(['lock', 'lock', 'upload', 'upload', 'unlock', 'force'] as const);
        const began = performance.now();
        const answer = await sent(pick(nodes()), client, what);
        if (answer?.status === 0) {
          remaining++;
          await pause(50);
          continue;
        }
        const status = answer?.status ?? 0;
        const outcome = status === 200 || status === 201 ? 'yes' : status === 409 ? 'no' : undefined;
        if (outcome === undefined && status >= 400 && status < 500) throw new Error(`${what} was answered ${status}`);
        const ended = outcome === undefined ? Number.POSITIVE_INFINITY : performance.now();
        history.push({ operation: { who: client.who, what }, answer: outcome, began, ended });
      }
    }),
  );
  return history;
}
