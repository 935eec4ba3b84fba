import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { findEmbedded, withClient } from '../../packages/postgres/src/index';

interface FirstRun {
  readonly secrets: { readonly address: string; readonly root_token: string };
  readonly workspaces: { readonly address: string; readonly token: string };
}

/** Lists of the secrets service whose keys a guide must leave as they were. */
const lists = [
  'sys/policies/acl',
  'sys/namespaces',
  'sys/quotas/rate-limit',
  'sys/quotas/lease-count',
  'sys/leases/lookup',
  'auth/token/accessors',
  'auth/token/roles',
  'identity/entity/id',
  'identity/group/id',
  'identity/group-alias/id',
  'identity/mfa/method',
  'identity/mfa/login-enforcement',
  'cubbyhole',
];
/** Paths that are compared as a whole; of a mount, only its declaration. */
const reads = [
  'sys/seal-status',
  'sys/config/auditing/request-headers',
  'sys/generate-root/attempt',
  'sys/rekey-recovery-key/init',
];
const mounts = ['sys/mounts', 'sys/auth'];
/** Mounts of the installation, which a guide must not touch. */
const standard = ['cloudtwo/config/root', 'scheduler/config/access', 'auth/cloudone/config'];

/**
 * Everything in an installation that a guide could change permanently: the tokens of root and of the administrator, the
 * lists of both services, the files of the folder and the databases. Compared before and after.
 */
export async function found(folder: string): Promise<Record<string, unknown>> {
  const firstRun: FirstRun = JSON.parse(readFileSync(join(folder, 'data/first-run.json'), 'utf8'));
  const secrets = async (path: string) => {
    const answer = await fetch(`${firstRun.secrets.address}/v1/${path}`, {
      headers: { 'X-Service-Token': firstRun.secrets.root_token },
    });
    return { status: answer.status, data: answer.ok ? ((await answer.json()) as Record<string, unknown>) : undefined };
  };
  const workspaces = async (path: string) => {
    const answer = await fetch(`${firstRun.workspaces.address}/api/v2/${path}`, {
      headers: { Authorization: `Bearer ${firstRun.workspaces.token}` },
    });
    const { data } = (await answer.json()) as { data?: { id: string } | { id: string }[] };
    return [answer.status, Array.isArray(data) ? data.map(({ id }) => id).sort() : data?.id];
  };
  const dataOf = async (path: string) => {
    const { status, data } = await secrets(path);
    return [status, data?.data ?? data];
  };
  const all: [string, unknown][] = await Promise.all([
    ...lists.map(async (path): Promise<[string, unknown]> => {
      const { status, data } = await secrets(`${path}?list=true`);
      return [path, (data?.data as { keys?: string[] } | undefined)?.keys?.sort() ?? status];
    }),
    ...reads.map(async (path): Promise<[string, unknown]> => [path, await dataOf(path)]),
    ...mounts.map(async (path): Promise<[string, unknown]> => {
      const { status, data } = await secrets(path);
      return [path, [status, Object.keys(data?.data ?? {}).sort()]];
    }),
    ...standard.map(async (path): Promise<[string, unknown]> => [path, await dataOf(path)]),
    (async (): Promise<[string, unknown]> => {
      const { data } = await secrets('auth/token/lookup-self');
      return ['root token', (data?.data as { policies?: string[] } | undefined)?.policies];
    })(),
    (async (): Promise<[string, unknown]> => ['administrator', await workspaces('account/details')])(),
    ...['organizations', 'admin/users'].map(
      async (path): Promise<[string, unknown]> => [path, await workspaces(`${path}?page[size]=100`)],
    ),
  ]);
  return { ...Object.fromEntries(all), files: filesBelow(folder, ''), databases: await databasesOf(folder) };
}

async function databasesOf(folder: string): Promise<string[]> {
  const server = await findEmbedded(join(folder, 'data/postgres'));
  if (!server) throw new Error(`no PostgreSQL runs in ${folder}`);
  return withClient(server.url('postgres'), async (client) => {
    const { rows } = await client.query<{ datname: string }>('SELECT datname FROM pg_database ORDER BY datname');
    return rows.map(({ datname }) => datname);
  });
}

/** Names of all files; a guide may leave none behind, not even an empty folder. */
function filesBelow(folder: string, at: string): string[] {
  return readdirSync(join(folder, at)).flatMap((name) => {
    const path = at === '' ? name : `${at}/${name}`;
    // Files of the worker, of the test's own commands and of the database come and go.
    if (['scratch', 'commands', 'data/postgres'].includes(path) || !existsSync(join(folder, path))) return [];
    return statSync(join(folder, path)).isDirectory() ? [`${path}/`, ...filesBelow(folder, path)] : [path];
  });
}
